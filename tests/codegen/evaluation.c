/* A disabled event evaluates none of its arguments; an enabled one evaluates each once. As C and,
 * from evaluation.cc, as C++. */
#include <stdio.h>
#include <weir/session.h>
#include <weir/trace.h>

#define COUNTED_EVENTS(EVENT, P)                                                                   \
    EVENT(P, Pair, 1, 0, WEIR_LEVEL_INFO, 0x1, (u64, A), (str, B))                                 \
    EVENT(P, Detail, 2, 0, WEIR_LEVEL_VERBOSE, 0x1, (u64, A))
WEIR_PROVIDER(Counted, COUNTED_EVENTS)
WEIR_PROVIDER_DEFINE(Counted, COUNTED_EVENTS)

static unsigned numbers, texts;

static uint64_t number(void)
{
    return ++numbers;
}

static const char *text(void)
{
    texts++;
    return "text";
}

static int expect(const char *when, unsigned numbers_expected, unsigned texts_expected)
{
    if (numbers == numbers_expected && texts == texts_expected)
        return 0;
    fprintf(stderr, "%s: %u and %u arguments were evaluated, expected %u and %u\n", when, numbers, texts,
            numbers_expected, texts_expected);
    return 1;
}

static int check(struct weir_session *session)
{
    int failures = 0;
    bool is_written = WEIR_EMIT(Counted, Pair, number(), text());
    failures += is_written;
    failures += expect("before start", 0, 0);
    failures += weir_session_start(session, NULL) != WEIR_OK;
    is_written = WEIR_EMIT(Counted, Pair, number(), text());
    failures += !is_written;
    failures += expect("enabled", 1, 1);
    WEIR_EMIT(Counted, Detail, number());
    failures += expect("above the session's level", 1, 1);
    failures += weir_session_stop(session, NULL) != WEIR_OK;
    WEIR_EMIT(Counted, Pair, number(), text());
    failures += expect("after stop", 1, 1);
    return failures;
}

int main(void)
{
    struct weir_session_config config = weir_session_config_init();
    struct weir_session *session;
    config.providers = "Counted:0xff:4";
    config.memory_bytes_max = 1u << 20;
    if (weir_provider_register(&weir_provider_Counted, NULL, NULL, NULL, NULL) != WEIR_OK ||
        weir_session_create(&config, &session, NULL) != WEIR_OK)
        return 1;
    int failures = check(session);
    weir_session_destroy(session);
    return failures != 0;
}
