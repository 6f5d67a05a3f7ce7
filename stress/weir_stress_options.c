#include "weir_stress.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brim_kernel.h"
#include "buffers/modes.h"
#include "wait/ablation.h"
#include "wait/strategies.h"

#define EVENTS_DEFAULT 1000000
#define THREADS_MAX    10000
#define SECONDS_MAX    1e6
#define MS_MAX         UINT64_C(3600000)

enum key {
    KEY_SECONDS = 256,
    KEY_EVENTS,
    KEY_THREADS,
    KEY_SEED,
    KEY_REPEAT,
    KEY_MODE,
    KEY_WAKE,
    KEY_GRANT,
    KEY_NO_HAND_ON,
    KEY_NO_SPIN,
    KEY_NO_CAP,
    KEY_NO_YIELD,
    KEY_MAX_BLOCK,
    KEY_BUDGET,
    KEY_SEGMENT,
    KEY_PAYLOAD,
    KEY_SINK,
    KEY_RATE,
    KEY_PATTERN,
    KEY_WORK,
    KEY_PIN,
    KEY_VERIFY,
    KEY_TRACE_DIR,
    KEY_JSON,
    KEY_BINS,
    KEY_LIST,
    KEY_END,
};

#define MODE_WORD(name, table, word)             " " word
#define WAKE_WORD(name, table, word, is_ordered) " " word

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Length (give one):", 1},
    {"events", KEY_EVENTS, "N", 0, "events per thread; default 1000000 without --seconds", 0},
    {"seconds", KEY_SECONDS, "S", 0, "such as 2 or 0.5", 0},
    {"repeat", KEY_REPEAT, "N", 0, "number of runs, with one report each and the seed rising by one; default 1", 0},
    {0, 0, 0, 0, "Producers:", 2},
    {"threads", KEY_THREADS, "N", 0, "emitting threads; default 4", 0},
    {"payload", KEY_PAYLOAD, "BYTES", 0,
     "payload of each event, a multiple of 8 up to 65528; default 32. Up to 512 it is 64-bit fields; above, four of "
     "them and an array of bytes, which makes the record 8 bytes larger", 0},
    {"rate", KEY_RATE, "N", 0, "events per second and thread; default: as fast as possible", 0},
    {"pattern", KEY_PATTERN, "P", 0,
     "none (flat out, the default), drip (evenly; the default with --rate), bolus (a second's worth at once)", 0},
    {"work", KEY_WORK, "NS", 0, "processor time that each thread uses for other work after each event; default: none", 0},
    {"seed", KEY_SEED, "N", 0, "seed of all random numbers; default 1", 0},
    {0, 0, 0, 0, "The session:", 3},
    {"mode", KEY_MODE, "M", 0, "one of" WR_MODES(MODE_WORD) "; default drop", 0},
    {"no-yield", KEY_NO_YIELD, 0, 0, "with drop: threads that find no room do not yield their processors, nor does the drain", 0},
    {"wake", KEY_WAKE, "W", 0, "with block: one of" WR_WAKE_STRATEGIES(WAKE_WORD) "; default relay", 0},
    {"max-block", KEY_MAX_BLOCK, "MS", 0, "with block: longest wait of an event in milliseconds; default: no limit", 0},
    {"grant", KEY_GRANT, "BYTES", 0, "with relay: size limit of one grant; default: found at run time", 0},
    {"no-hand-on", KEY_NO_HAND_ON, 0, 0, "with relay: only the drain wakes threads", 0},
    {"no-spin", KEY_NO_SPIN, 0, 0, "with relay: the head of the queue does not spin", 0},
    {"no-cap", KEY_NO_CAP, 0, 0, "with relay: any number of granted threads may run", 0},
    {"budget", KEY_BUDGET, "BYTES", 0, "memory for records; default 1M", 0},
    {"segment", KEY_SEGMENT, "BYTES", 0, "default 32K", 0},
    {0, 0, 0, 0, "Where the stream goes:", 4},
    {"sink", KEY_SINK, "SINK", 0,
     "fast (default): discards; cost:NS: discards, and uses NS of processor time per event; slow:RATE: bytes per "
     "second; stall:MS: stands still for MS milliseconds, a tenth of the time, first after 100 ms; "
     "random-close: fails after up to 16 budgets; pipe: into the reader, which checks the stream as it arrives", 0},
    {"verify", KEY_VERIFY, 0, 0, "keep the stream, up to 4G, and check it with the reader after the clock has stopped", 0},
    {"trace-dir", KEY_TRACE_DIR, "DIR", 0, "where --verify keeps the stream; default /dev/shm, or /tmp without it", 0},
    {0, 0, 0, 0, "Other options:", 5},
    {"pin", KEY_PIN, 0, 0, "bind the drain to the first allowed processor and all other threads to the rest", 0},
    {"json", KEY_JSON, 0, 0, "print one object per run, on one line", 0},
    {"list", KEY_LIST, 0, 0, "print the modes, the wake strategies and the causes of loss, one per line, and exit", 0},
    {"bins", KEY_BINS, 0, 0, "with --json: print the waits as [longest in ns, count] of each bin, to be added up", 0},
    {0, 0, 0, 0, 0, 0},
};

static const char purpose[] =
    "Floods a session through a budget that is too small, checks that every event is accounted for, and measures."
    "\v"
    "BYTES and RATE take K, M and G for powers of 1024.\n\n"
    "cost:NS: a sink sees bytes, not events. The size of an event is measured before the run, and the sink carries its "
    "debt of processor time from call to call. sink_cost_ns_per_event is what it actually paid.\n\n"
    "Ceilings are measured before each run in a separate session in mode drop, with the same budget, segments, events "
    "and sink: d is what an event costs the drain alone, on segments that another processor has filled; p is what it "
    "costs one producer alone, in segments that have been used before, plus --work. "
    "The bound is min(1/d, min(N, P)/p, cores/(p+d)): P is the number of cores, with --pin without the drain's.\n\n"
    "park_law_ns is N x G / X - G / p, where G is the mean grant and X the sum of all grants per second. It is the mean "
    "wait for a grant of N producers that never rest, whatever the strategy. Compare it with wait_per_grant_ns; the mean "
    "of park_ns is higher where some grants need no wait. If the two differ by a tenth, it is a measuring error, or "
    "producers rest, for example because other programs use their processors.\n\n"
    "Starvation is the longest time in which a producer with events to emit wrote nothing: a wait, a run of lost events, "
    "or a standstill seen by sampling every 10 ms.\n\n"
    "Exit status: 0 all checks held, 1 a check failed, 2 wrong usage.";
/* clang-format on */

struct parsing {
    struct brim_options *options;
    bool given[KEY_END - KEY_SECONDS];
};

static bool is_given(const struct parsing *parsing, enum key key)
{
    return parsing->given[key - KEY_SECONDS];
}

/* --- Words and numbers. ---------------------------------------------------------------------- */

struct word {
    const char *text;
    int value;
};

#define MODE(name, table, word) {word, WEIR_MODE_##name},
static const struct word modes[] = {WR_MODES(MODE){NULL, 0}};
#undef MODE
#define WAKE(name, table, word, is_ordered) {word, WEIR_WAKE_##name},
static const struct word wakes[] = {WR_WAKE_STRATEGIES(WAKE){NULL, 0}};
#undef WAKE
static const struct word patterns[] = {
    {"none", BRIM_FLAT_OUT}, {"drip", BRIM_DRIP}, {"bolus", BRIM_BOLUS}, {NULL, 0}};
static const struct word sinks[] = {{"fast", BRIM_SINK_FAST},
                                    {"cost:", BRIM_SINK_COST},
                                    {"slow:", BRIM_SINK_SLOW},
                                    {"stall:", BRIM_SINK_STALL},
                                    {"pipe", BRIM_SINK_PIPE},
                                    {"random-close", BRIM_SINK_RANDOM_CLOSE},
                                    {NULL, 0}};

static const char *word_of(const struct word *words, int value)
{
    while (words->value != value)
        words++;
    return words->text;
}

static void words_print(const char *option, const struct word *words)
{
    for (; words->text; words++)
        printf("%s %s\n", option, words->text);
}

const char *brim_mode_word(enum weir_mode mode)
{
    return word_of(modes, (int)mode);
}

const char *brim_wake_word(enum weir_wake wake)
{
    return word_of(wakes, (int)wake);
}

static int take_word(struct argp_state *state, const char *option, const struct word *words,
                     const char *text)
{
    char all[256] = "";
    for (const struct word *word = words; word->text; word++) {
        if (strcmp(word->text, text) == 0)
            return word->value;
        strcat(strcat(all, word == words ? "" : ", "), word->text);
    }
    argp_error(state, "--%s: '%s' is none of %s", option, text, all);
    return 0;
}

/* Digits, and K, M or G if it is a size. */
static uint64_t take_number(struct argp_state *state, const char *option, const char *text,
                            bool is_size, uint64_t least, uint64_t most)
{
    static const char units[] = "KMG";
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    bool is_number = errno == 0 && end != text && text[0] >= '0' && text[0] <= '9';
    const char *unit = is_size && *end ? strchr(units, *end & ~0x20) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (!is_number || (unit ? end[1] : *end) || value > UINT64_MAX >> shift)
        argp_error(state, "--%s: '%s' is not a number%s", option, text,
                   is_size ? " of bytes, such as 4096, 32K or 1M" : "");
    if (value << shift < least || value << shift > most)
        argp_error(state, "--%s: '%s' is not from %" PRIu64 " to %" PRIu64, option, text, least,
                   most);
    return value << shift;
}

static double take_seconds(struct argp_state *state, const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0 || value > SECONDS_MAX)
        argp_error(state, "--seconds: '%s' is not a time, such as 2 or 0.5", text);
    return value;
}

static void take_sink(struct argp_state *state, struct brim_options *options, const char *text)
{
    for (const struct word *word = sinks; word->text; word++) {
        size_t length = strlen(word->text);
        bool has_amount = word->text[length - 1] == ':';
        char name[32];
        snprintf(name, sizeof name, "sink %s", word->text);
        if (has_amount ? strncmp(word->text, text, length) : strcmp(word->text, text))
            continue;
        options->sink = (enum brim_sink_kind)word->value;
        options->sink_text = text;
        if (has_amount)
            options->sink_amount =
                take_number(state, name, text + length, options->sink == BRIM_SINK_SLOW, 1,
                            options->sink == BRIM_SINK_STALL ? MS_MAX : UINT64_C(1) << 40);
        return;
    }
    argp_error(state,
               "--sink: '%s' is none of fast, cost:NS, slow:RATE, stall:MS, random-close, pipe",
               text);
}

/* --- Options. -------------------------------------------------------------------------------- */

/* Options that are a number. */
static bool take_figure(struct argp_state *state, struct brim_options *options, int key,
                        const char *text)
{
    const struct figure {
        int key;
        uint64_t *to;
        bool is_size;
        uint64_t least, most;
    } figures[] = {
        {KEY_EVENTS, &options->events, false, 1, BRIM_EVENTS_MAX},
        {KEY_THREADS, &options->threads, false, 1, THREADS_MAX},
        {KEY_SEED, &options->seed, false, 0, UINT64_MAX},
        {KEY_REPEAT, &options->repeat, false, 1, 1000000},
        {KEY_GRANT, &options->grant_bytes, true, 1, UINT64_MAX},
        {KEY_MAX_BLOCK, &options->max_block_ms, false, 1, MS_MAX},
        {KEY_BUDGET, &options->budget_bytes, true, 1, UINT64_MAX},
        {KEY_SEGMENT, &options->segment_bytes, true, 1, UINT32_MAX},
        {KEY_PAYLOAD, &options->payload_bytes, true, 0, BRIM_PAYLOAD_BYTES_MAX},
        {KEY_RATE, &options->rate, false, 1, UINT64_C(1000000000)},
        {KEY_WORK, &options->work_ns, false, 1, BRIM_WORK_NS_MAX},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        const struct figure *figure = &figures[i];
        if (figure->key != key)
            continue;
        const struct argp_option *row = table;
        while (row->key != key)
            row++;
        *figure->to =
            take_number(state, row->name, text, figure->is_size, figure->least, figure->most);
        return true;
    }
    return false;
}

static error_t take_other(struct argp_state *state, struct brim_options *options, int key,
                          char *text)
{
    switch (key) {
    case KEY_SECONDS:
        options->seconds = take_seconds(state, text);
        return 0;
    case KEY_MODE:
        options->mode = (enum weir_mode)take_word(state, "mode", modes, text);
        return 0;
    case KEY_WAKE:
        options->wake = (enum weir_wake)take_word(state, "wake", wakes, text);
        return 0;
    case KEY_PATTERN:
        options->pattern = (enum brim_pattern)take_word(state, "pattern", patterns, text);
        return 0;
    case KEY_SINK:
        take_sink(state, options, text);
        return 0;
    case KEY_TRACE_DIR:
        options->trace_folder = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t take_flag(struct brim_options *options, int key)
{
    switch (key) {
    case KEY_NO_HAND_ON:
        options->wake_flags |= WR_WAKE_NO_HAND_ON;
        return 0;
    case KEY_NO_SPIN:
        options->wake_flags |= WR_WAKE_NO_SPIN;
        return 0;
    case KEY_NO_CAP:
        options->wake_flags |= WR_WAKE_NO_CAP;
        return 0;
    case KEY_NO_YIELD:
        return options->no_yield = true, 0;
    case KEY_PIN:
        return options->pins = true, 0;
    case KEY_VERIFY:
        return options->verifies = true, 0;
    case KEY_JSON:
        return options->json = true, 0;
    case KEY_BINS:
        return options->bins = true, 0;
    case KEY_LIST:
        words_print("mode", modes);
        words_print("wake", wakes);
        for (unsigned cause = 0; cause < WEIR_LOSS_COUNT; cause++)
            printf("cause %s\n", weir_loss_name((enum weir_loss)cause));
        exit(0);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- What makes no sense together. ----------------------------------------------------------- */

static void refuse(struct argp_state *state, bool is_wrong, const char *text)
{
    if (is_wrong)
        argp_error(state, "%s", text);
}

static void check_session(struct argp_state *state, const struct parsing *parsing)
{
    const struct brim_options *options = parsing->options;
    bool is_block = options->mode == WEIR_MODE_BLOCK;
    bool has_knobs = is_given(parsing, KEY_GRANT) || options->wake_flags;
    refuse(state, !is_block && (is_given(parsing, KEY_WAKE) || has_knobs),
           "--wake, --grant, --no-hand-on, --no-spin and --no-cap set how waiting threads get "
           "room, and only in --mode block do threads wait; add it, or leave them out");
    refuse(state, !is_block && is_given(parsing, KEY_MAX_BLOCK),
           "--max-block limits a wait, and only --mode block has waits; add it, or leave "
           "--max-block out");
    refuse(state, options->mode != WEIR_MODE_DROP && options->no_yield,
           "only in --mode drop do threads that find no room and the drain yield; leave --no-yield "
           "out");
    refuse(state, options->wake != WEIR_WAKE_RELAY && has_knobs,
           "--grant, --no-hand-on, --no-spin and --no-cap are for --wake relay; leave them out, or "
           "change --wake");
    refuse(state,
           options->mode == WEIR_MODE_OVERWRITE && options->sink != BRIM_SINK_FAST &&
               options->sink != BRIM_SINK_PIPE,
           "in --mode overwrite nothing reaches the sink before the end, so --sink has no effect; "
           "leave --sink out");
}

static void check_load(struct argp_state *state, const struct parsing *parsing)
{
    const struct brim_options *options = parsing->options;
    refuse(state, is_given(parsing, KEY_EVENTS) && is_given(parsing, KEY_SECONDS),
           "--events and --seconds both end the run; give one of them");
    refuse(state, options->rate == 0 && options->pattern != BRIM_FLAT_OUT,
           "--pattern drip and bolus need a --rate; add it");
    refuse(state,
           options->rate && is_given(parsing, KEY_PATTERN) && options->pattern == BRIM_FLAT_OUT,
           "--pattern none is flat out, and --rate is not; leave one of them out");
    refuse(state, options->payload_bytes % 8 != 0,
           "--payload must be a multiple of 8, because records are padded to that");
    refuse(state, is_given(parsing, KEY_BINS) && !options->json,
           "--bins only affects --json; add it");
}

static void check_stream(struct argp_state *state, const struct parsing *parsing)
{
    const struct brim_options *options = parsing->options;
    uint64_t event_bytes = options->payload_bytes + BRIM_STREAM_BYTES_BESIDE;
    refuse(state, options->verifies && options->sink == BRIM_SINK_PIPE,
           "--sink pipe verifies the stream as it arrives; leave --verify out");
    refuse(state, is_given(parsing, KEY_TRACE_DIR) && !options->verifies,
           "--trace-dir is where --verify keeps the stream; add --verify");
    refuse(state,
           options->verifies && options->mode != WEIR_MODE_OVERWRITE &&
               options->events > BRIM_FILE_BYTES_MAX / event_bytes / options->threads,
           "--verify keeps the stream, and this many events may exceed 4 GiB; lower --events "
           "or --threads, or use --sink pipe, which stores nothing");
}

static void settle(struct argp_state *state, struct parsing *parsing)
{
    struct brim_options *options = parsing->options;
    if (options->seconds == 0 && options->events == 0)
        options->events = EVENTS_DEFAULT;
    if (options->rate && !is_given(parsing, KEY_PATTERN))
        options->pattern = BRIM_DRIP;
    check_session(state, parsing);
    check_load(state, parsing);
    check_stream(state, parsing);
    if (!options->trace_folder)
        options->trace_folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static error_t take(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    if (key == ARGP_KEY_ARG)
        argp_error(state, "unexpected: '%s'", text);
    if (key == ARGP_KEY_END)
        settle(state, parsing);
    if (key < KEY_SECONDS || key >= KEY_END)
        return key == ARGP_KEY_ARG || key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
    parsing->given[key - KEY_SECONDS] = true;
    if (take_figure(state, parsing->options, key, text))
        return 0;
    return text ? take_other(state, parsing->options, key, text) : take_flag(parsing->options, key);
}

void brim_options_parse(int argc, char **argv, struct brim_options *options)
{
    static const struct argp argp = {table, take, NULL, purpose, NULL, NULL, NULL};
    *options = (struct brim_options)BRIM_OPTIONS_DEFAULT;
    struct parsing parsing = {.options = options};
    argp_err_exit_status = 2;
    error_t error = argp_parse(&argp, argc, argv, 0, NULL, &parsing);
    if (error)
        exit(2);
}
