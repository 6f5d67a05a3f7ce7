#include "stopper.h"

#include <weir/trace.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = {SIGTERM, SIGHUP, SIGPIPE, SIGINT};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static sem_t request;
static volatile sig_atomic_t pending; /* the signal; 0 when the thread is asked to end */
static volatile sig_atomic_t active;
static struct sigaction before[SIGNALS];
static bool handled[SIGNALS];
static pthread_t thread;
static void (*action_before_death)(void);

static void on_signal(int signal)
{
    int saved = errno;
    pending = signal;
    sem_post(&request);
    errno = saved;
}

/* Blocks every signal except the one that is to end the process. */
static void die(int signal)
{
    struct sigaction deadly;
    sigset_t set;
    memset(&deadly, 0, sizeof deadly);
    deadly.sa_handler = SIG_DFL;
    sigaction(signal, &deadly, NULL);
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(signal);
}

static void *wait_for_request(void *unused)
{
    weir_thread_name_set("stopper"); /* it emits the rundown if a signal ends the process */
    while (sem_wait(&request) != 0) {
        /* interrupted: again */
    }
    int signal = pending;
    if (signal != 0) {
        action_before_death();
        die(signal);
    }
    return unused;
}

/* Signals are blocked in the thread, so that a handler always runs on another one. They are not
 * blocked in other threads: they would stay blocked in the programs that the script starts. */
static bool start_thread(void)
{
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int result = pthread_create(&thread, NULL, wait_for_request, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return result == 0;
}

static void handle(size_t i)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_RESTART; /* the script's system calls continue */
    sigemptyset(&ours.sa_mask);
    sigaction(signals[i], NULL, &before[i]);
    handled[i] = before[i].sa_handler != SIG_IGN;
    if (handled[i])
        sigaction(signals[i], &ours, NULL);
}

bool stopper_begin(void (*action)(void))
{
    action_before_death = action;
    if (sem_init(&request, 0, 0) != 0 || !start_thread())
        return false;
    active = 1;
    for (size_t i = 0; i < SIGNALS; i++)
        handle(i);
    return true;
}

void (*stopper_handler(void))(int)
{
    return active != 0 ? on_signal : SIG_DFL;
}

void stopper_give_way(void)
{
    while (pending != 0)
        pause();
}

void stopper_end(void)
{
    if (active == 0)
        return;
    active = 0;
    for (size_t i = 0; i < SIGNALS; i++)
        if (handled[i])
            sigaction(signals[i], &before[i], NULL);
    sem_post(&request);
    pthread_join(thread, NULL);
}
