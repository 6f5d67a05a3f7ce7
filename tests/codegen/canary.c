/*
 * Code that the checks must reject. Each function is a copy of the pattern with one error; its name
 * says what check.py must find (CANARIES there). clean_emit and clean_site are correct and must
 * pass.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir/plugin.h>
#include <weir/trace.h>

#define CANARY_EVENTS(EVENT, P) EVENT(P, Plain, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, A))
WEIR_PROVIDER(Canary, CANARY_EVENTS)

struct lane {
    _Atomic uint64_t commit;
    uint64_t *to;
};

extern __thread struct lane *near_lane __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Default model and visibility: accessed through __tls_get_addr. */
extern __thread struct lane *far_lane __attribute__((tls_model("global-dynamic")));

__attribute__((visibility("hidden"))) bool wr_emit_slow(const struct weir_event *event, const void *payload);
void other(void);

#define EMIT(name)                                                                                 \
    bool name(const struct weir_event *event, const uint64_t *payload);                                  \
    bool name(const struct weir_event *event, const uint64_t *payload)

#define BEGIN(thread_lane)                                                                         \
    struct lane *lane = thread_lane;                                                               \
    if (__builtin_expect(!lane, 0))                                                                \
        return wr_emit_slow(event, payload);                                                       \
    uint64_t commit = atomic_load_explicit(&lane->commit, memory_order_relaxed);                   \
    *lane->to = *payload

#define END(order)                                                                                 \
    atomic_store_explicit(&lane->commit, commit + 8, order);                                       \
    return true

EMIT(clean_emit)
{
    BEGIN(near_lane);
    END(memory_order_release);
}

EMIT(canary_lock)
{
    BEGIN(near_lane);
    (void)commit;
    atomic_fetch_add_explicit(&lane->commit, 8, memory_order_relaxed);
    return true;
}

#if defined(__aarch64__)
__attribute__((target("+lse"))) /* a single instruction; canary_lock is a loop with two */
#endif
EMIT(canary_xchg)
{
    BEGIN(near_lane);
    commit = atomic_exchange_explicit(&lane->commit, commit + 8, memory_order_relaxed);
    return commit != 0;
}

EMIT(canary_mfence)
{
    BEGIN(near_lane);
#if defined(__x86_64__)
    __asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dmb ish" : : : "memory");
#endif
    END(memory_order_release);
}

EMIT(canary_lfence)
{
    BEGIN(near_lane);
#if defined(__x86_64__)
    __asm__ volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
    END(memory_order_release);
}

EMIT(canary_call)
{
    BEGIN(near_lane);
    other();
    END(memory_order_release);
}

EMIT(canary_indirect_call)
{
    BEGIN(near_lane);
    ((void (*)(void))(uintptr_t)event->header)();
    END(memory_order_release);
}

EMIT(canary_tls)
{
    BEGIN(far_lane);
    END(memory_order_release);
}

/* Leaves by a jump, but to a function that is not a slow path. */
EMIT(canary_leaves_elsewhere)
{
    BEGIN(near_lane);
    atomic_store_explicit(&lane->commit, commit + 8, memory_order_release);
    return weir_emit(event, payload);
}

/* Has a stack frame, for an array whose address escapes. */
EMIT(canary_frame)
{
    BEGIN(near_lane);
    uint64_t copy[64];
    for (unsigned i = 0; i < 64; i++)
        copy[i] = payload[i];
    __asm__ volatile("" : : "r"(copy) : "memory");
    END(memory_order_release);
}

#if defined(__x86_64__)
EMIT(canary_store_before_clock)
{
    BEGIN(near_lane);
    lane->to[1] = __builtin_ia32_rdtsc();
    END(memory_order_release);
}
#endif

/* --- Sites. ---------------------------------------------------------------------------------- */

uint64_t host_value(void);

void clean_site(uint64_t a);
void clean_site(uint64_t a)
{
    WEIR_EMIT(Canary, Plain, a);
}

/* Evaluates the argument before the test. */
void canary_site_eager(void);
void canary_site_eager(void)
{
    uint64_t a = host_value();
    WEIR_EMIT(Canary, Plain, a);
}

/* An event with default visibility: its address comes from the GOT, which is a second load. */
extern __attribute__((visibility("default"))) struct weir_event far_event;
void canary_site_got(uint64_t a);
void canary_site_got(uint64_t a)
{
    if (weir_event_is_enabled(&far_event))
        weir_emit(&far_event, &a);
}

void canary_site_two_tests(uint64_t a);
void canary_site_two_tests(uint64_t a)
{
    if (weir_event_is_enabled(&weir_events_Canary.Plain) && __atomic_load_n(&weir_events_Canary.Plain.route, __ATOMIC_RELAXED))
        Canary_Plain(a);
}

void canary_site_two_calls(uint64_t a);
void canary_site_two_calls(uint64_t a)
{
    if (weir_event_is_enabled(&weir_events_Canary.Plain)) {
        other();
        Canary_Plain(a);
    }
}

void canary_site_no_test(uint64_t a);
void canary_site_no_test(uint64_t a)
{
    Canary_Plain(a);
}

/* A plug-in that calls the library, and one whose table is behind a pointer, which is one more load. */
extern __attribute__((visibility("hidden"))) const struct weir_functions *weir_plugin;

void canary_plugin_site_direct(uint64_t a);
void canary_plugin_site_direct(uint64_t a)
{
    WEIR_EMIT(Canary, Plain, a);
}

void canary_plugin_site_pointer(uint64_t a);
void canary_plugin_site_pointer(uint64_t a)
{
    if (weir_event_is_enabled(&weir_events_Canary.Plain))
        weir_plugin->emit_words1(&weir_events_Canary.Plain, a);
}
