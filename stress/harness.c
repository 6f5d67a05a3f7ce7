#include "harness.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS_MAX   16
#define FIGURES_MAX   64
#define FAILURES_TOLD 20
#define WATCHDOG_S    30
#define NS_PER_S      UINT64_C(1000000000)

struct hs_common hs_common = {.seconds = 0, .seed = 1, .json = false};

static uint64_t start_ns;
static uint64_t progress; /* ANY */
static uint64_t failures; /* ANY */

struct figure {
    const char *name;
    double value;
};
static struct figure figures[FIGURES_MAX];
static size_t figure_count;
static pthread_mutex_t figures_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- Time. ----------------------------------------------------------------------------------- */

static uint64_t ns_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t hs_now_ns(void)
{
    return ns_of(CLOCK_MONOTONIC);
}

uint64_t hs_thread_cpu_ns(void)
{
    return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

void hs_sleep_us(uint64_t us)
{
    struct timespec left = {.tv_sec = (time_t)(us / 1000000),
                            .tv_nsec = (long)(us % 1000000) * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

bool hs_time_is_left(void)
{
    return hs_now_ns() - start_ns < hs_common.seconds * NS_PER_S;
}

/* --- Watchdog. ------------------------------------------------------------------------------- */

void hs_progress(void)
{
    __atomic_fetch_add(&progress, 1, __ATOMIC_RELAXED);
}

/* If gdb is installed, its stacks are worth more than a core file. */
void hs_stacks_print(pid_t process)
{
    char pid[24];
    snprintf(pid, sizeof pid, "%d", (int)process);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp("gdb", "gdb", "-batch", "-nx", "-p", pid, "-ex", "thread apply all bt",
               (char *)NULL);
        fprintf(stderr, "%s: gdb is not installed, so no stacks\n", program_invocation_short_name);
        _exit(1);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void *watchdog(void *argument)
{
    (void)argument;
    uint64_t seen = 0;
    for (unsigned idle_s = 0; idle_s < WATCHDOG_S; idle_s++) {
        hs_sleep_us(1000000);
        uint64_t now = __atomic_load_n(&progress, __ATOMIC_RELAXED);
        if (now != seen)
            idle_s = 0;
        seen = now;
    }
    fprintf(stderr, "%s: no progress for %d s; seed %llu\n", program_invocation_short_name,
            WATCHDOG_S, (unsigned long long)hs_common.seed);
    hs_stacks_print(getpid());
    abort();
}

/* Signals are blocked: handlers of the program under test must not run on the watchdog. */
static void watchdog_start(void)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    hs_thread_start(&thread, watchdog, NULL);
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- Options. -------------------------------------------------------------------------------- */

static void print_help(const char *purpose, const struct hs_option *options)
{
    printf("usage: %s [OPTION]...\n\n%s\n\n", program_invocation_short_name, purpose);
    for (; options && options->name; options++)
        printf("  --%-18s %s (%s%llu)\n", options->name, options->help,
               options->text ? "text; default none, " : "default ",
               options->text ? 0ull : (unsigned long long)*options->number);
    puts("  --seconds N          repeat rounds for N seconds (default 0: one round)\n"
         "  --seed N             seed of the random numbers (default 1)\n"
         "  --json               print one JSON object\n"
         "  --help               print this help\n\n"
         "Exit status: 0 all checks held, 1 a check failed, 2 wrong usage.");
}

static void usage(const char *what, const char *text)
{
    fprintf(stderr, "%s: %s '%s'; try --help\n", program_invocation_short_name, what, text);
    exit(2);
}

static uint64_t parse_number(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 0);
    if (errno || *end || end == text || text[0] == '-')
        usage("not a number:", text);
    return value;
}

static void take_option(const struct hs_option *option, const char *text)
{
    if (option->text)
        *option->text = text;
    else
        *option->number = parse_number(text);
}

static void parse(int argc, char **argv, const char *purpose, const struct hs_option *options)
{
    const struct hs_option common[] = {{"seconds", "", &hs_common.seconds, NULL},
                                       {"seed", "", &hs_common.seed, NULL}};
    const struct hs_option *rows[OPTIONS_MAX] = {&common[0], &common[1]};
    struct option table[OPTIONS_MAX + 3] = {0};
    int count = 2;
    for (; options && options[count - 2].name && count < OPTIONS_MAX; count++)
        rows[count] = &options[count - 2];
    for (int i = 0; i < count; i++)
        table[i] = (struct option){rows[i]->name, required_argument, NULL, 1000 + i};
    table[count] = (struct option){"json", no_argument, NULL, 'j'};
    table[count + 1] = (struct option){"help", no_argument, NULL, 'h'};
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        if (c == 'h') {
            print_help(purpose, options);
            exit(0);
        }
        if (c == '?')
            exit(2);
        if (c == 'j')
            hs_common.json = true;
        else
            take_option(rows[c - 1000], optarg);
    }
    if (optind < argc)
        usage("unexpected:", argv[optind]);
}

void hs_init(int argc, char **argv, const char *purpose, const struct hs_option *options)
{
    parse(argc, argv, purpose, options);
    start_ns = hs_now_ns();
    watchdog_start();
}

/* --- Verdicts and figures. ------------------------------------------------------------------- */

bool hs_check(bool holds, const char *format, ...)
{
    if (holds)
        return true;
    if (__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED) < FAILURES_TOLD) {
        char text[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        fprintf(stderr, "%s: FAILED: %s\n", program_invocation_short_name, text);
    }
    return false;
}

uint64_t hs_failures(void)
{
    return __atomic_load_n(&failures, __ATOMIC_RELAXED);
}

static void figure(const char *name, double value, bool adds)
{
    pthread_mutex_lock(&figures_lock);
    size_t i = 0;
    while (i < figure_count && strcmp(figures[i].name, name) != 0)
        i++;
    if (i < FIGURES_MAX) {
        figures[i].name = name;
        figures[i].value = adds && i < figure_count ? figures[i].value + value : value;
        figure_count = i == figure_count ? i + 1 : figure_count;
    }
    pthread_mutex_unlock(&figures_lock);
}

void hs_figure(const char *name, double value)
{
    figure(name, value, false);
}

void hs_figure_add(const char *name, double value)
{
    figure(name, value, true);
}

int hs_finish(void)
{
    uint64_t failed = hs_failures();
    double seconds = (double)(hs_now_ns() - start_ns) / 1e9;
    if (hs_common.json) {
        printf("{\"program\": \"%s\", \"seed\": %llu, \"seconds\": %.3f, \"failed_checks\": %llu",
               program_invocation_short_name, (unsigned long long)hs_common.seed, seconds,
               (unsigned long long)failed);
        for (size_t i = 0; i < figure_count; i++)
            printf(", \"%s\": %.15g", figures[i].name, figures[i].value);
        puts("}");
    } else {
        for (size_t i = 0; i < figure_count; i++)
            printf("%-28s %18.15g\n", figures[i].name, figures[i].value);
        printf("%-28s %18.3f\n%-28s %18llu\n", "seconds", seconds, "failed_checks",
               (unsigned long long)failed);
    }
    return fflush(stdout) == 0 && failed == 0 ? 0 : 1;
}

/* --- Numbers, memory, threads. --------------------------------------------------------------- */

/* splitmix64's finisher: each bit of the result depends on each bit of the arguments. */
uint64_t hs_random(uint64_t a, uint64_t b)
{
    uint64_t x =
        hs_common.seed * UINT64_C(0x9E3779B97F4A7C15) + a * UINT64_C(0xD1B54A32D192ED03) + b;
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

uint64_t hs_next(uint64_t *state)
{
    uint64_t x = *state ? *state : UINT64_C(0x9E3779B97F4A7C15);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* FNV-1a. */
uint64_t hs_checksum(uint64_t sum, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ at[i]) * UINT64_C(1099511628211);
    return sum;
}

static void out_of(const char *what, int error)
{
    fprintf(stderr, "%s: no %s: %s\n", program_invocation_short_name, what, strerror(error));
    exit(1);
}

void *hs_try_allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        return NULL;
    memset(memory, 0xFF, bytes); /* a page that was only read is not resident yet */
    return memset(memory, 0, bytes);
}

void *hs_allocate(size_t bytes)
{
    void *memory = hs_try_allocate(bytes);
    if (!memory)
        out_of("memory", errno);
    return memory;
}

void hs_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    int error = pthread_create(thread, NULL, run, argument);
    if (error)
        out_of("thread", error);
}

void hs_thread_join(pthread_t thread)
{
    pthread_join(thread, NULL);
}

uint64_t hs_resident_bytes(void)
{
    unsigned long long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%llu %llu", &total, &resident) != 2)
        hs_check(false, "/proc/self/statm cannot be read");
    if (file)
        fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
