/* Shared by the unit tests: cmocka's headers in the order that it needs, and a provider. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <sched.h>
#include <string.h>
#include <weir/weir.h>

#define UNIT_EVENTS(EVENT, P)                                               \
    EVENT(P, Plain, 1, 0, WEIR_LEVEL_INFO, 0x1)                             \
    EVENT(P, Pair, 2, 0, WEIR_LEVEL_INFO, 0x1, (u64, First), (u64, Second)) \
    EVENT(P, Text, 3, 0, WEIR_LEVEL_VERBOSE, 0x2, (str, Value))             \
    EVENT(P, Bytes, 4, 0, WEIR_LEVEL_INFO, 0x4, (array_u8, Value))          \
    EVENT(P, Always, 5, 0, WEIR_LEVEL_ALWAYS, 0)
WEIR_PROVIDER(Unit, UNIT_EVENTS)

/* Registers the provider once per program. */
static inline int unit_setup(void **state)
{
    (void)state;
    return weir_provider_register(&weir_provider_Unit, NULL, NULL, NULL, NULL) == WEIR_OK ? 0 : -1;
}

/* A session with a memory sink that wants everything. */
static inline struct weir_session_config unit_config(void)
{
    struct weir_session_config config = WEIR_SESSION_CONFIG_INIT;
    config.providers = "Unit";
    config.memory_bytes_max = 64u << 20;
    config.budget_bytes = 1u << 20;
    return config;
}

/* Skips a test of something that qemu, in which a cross build's tests run, does differently from a
 * processor and a kernel. */
static inline void unit_skip_under_qemu(const char *why)
{
#ifdef UNDER_QEMU
    print_message("not under qemu: %s\n", why);
    skip();
#else
    (void)why;
#endif
}

/* In qemu, a child that was forked beside other threads cannot start one; and the library's threads end
 * some time after a stop has returned. Waits until this thread and qemu's own are alone. */
static inline void unit_await_end_of_threads(void)
{
#ifdef UNDER_QEMU
    for (int entries = 0; entries != 4; sched_yield()) { /* with "." and ".." */
        DIR *threads = opendir("/proc/self/task");
        assert_non_null(threads);
        for (entries = 0; readdir(threads); entries++) {
        }
        closedir(threads);
    }
#endif
}

/* A sink that takes everything. */
static inline bool unit_discard(void *context, const void *bytes, size_t count)
{
    (void)context;
    (void)bytes;
    (void)count;
    return true;
}

/* A sink that keeps a stream, and fails if there is no room for it. */
struct unit_bytes {
    unsigned char at[8u << 20];
    size_t count;
};

static inline bool unit_append(void *context, const void *bytes, size_t count)
{
    struct unit_bytes *to = context;
    if (count > sizeof to->at - to->count)
        return false;
    memcpy(to->at + to->count, bytes, count);
    to->count += count;
    return true;
}

static inline struct weir_session *unit_start(const struct weir_session_config *config)
{
    struct weir_session *session = NULL;
    struct weir_error error = {""};
    if (weir_session_create(config, &session, &error) != WEIR_OK ||
        weir_session_start(session, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return session;
}

static inline struct weir_stats unit_stats(struct weir_session *session)
{
    struct weir_stats stats = WEIR_STATS_INIT;
    assert_int_equal(weir_session_stats(session, &stats), WEIR_OK);
    return stats;
}

static inline struct weir_counts unit_counts(struct weir_session *session)
{
    return unit_stats(session).counts;
}

#endif
