#include "wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define DIRECT 0x80u /* beside the signal's number, which is below */

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

static int ends[2] = {-1, -1};
static struct sigaction before[NUMBER_COUNT];

static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    /* The kernel's own codes, for the terminal's keys too, are positive. */
    unsigned char byte = (unsigned char)((unsigned)number | (info->si_code <= 0 ? DIRECT : 0));
    ssize_t written = write(ends[1], &byte, 1); /* a full pipe wakes as well */
    (void)written;
    (void)context;
    errno = saved;
}

static bool take_over(size_t i)
{
    struct sigaction action;
    if (sigaction(numbers[i], NULL, &before[i]) != 0)
        return false;
    bool is_ignored = !(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_IGN;
    if (numbers[i] != SIGCHLD && is_ignored)
        return true;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
    return sigaction(numbers[i], &action, NULL) == 0;
}

bool wt_wake_init(void)
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) != 0 || fcntl(ends[i], F_SETFL, O_NONBLOCK) != 0)
            return false;
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        if (!take_over(i))
            return false;
    return true;
}

void wt_wake_fini(void)
{
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        sigaction(numbers[i], &before[i], NULL);
    close(ends[0]);
    close(ends[1]);
}

int wt_wake_fd(void)
{
    return ends[0];
}

struct wt_wake_signal wt_wake_take(void)
{
    struct wt_wake_signal signal = {0, false};
    unsigned char byte;
    if (read(ends[0], &byte, 1) == 1) {
        signal.number = (int)(byte & ~DIRECT);
        signal.is_direct = (byte & DIRECT) != 0;
    }
    return signal;
}

struct wt_wake_signal wt_wake_wait(int timeout_ms)
{
    struct pollfd polled = {ends[0], POLLIN, 0};
    poll(&polled, 1, timeout_ms);
    return wt_wake_take();
}
