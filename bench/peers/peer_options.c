#include "peer_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX     UINT64_C(1000000000)
#define BUDGET_MAX     (UINT64_C(1) << 36)
#define BUDGET_DEFAULT 4194304u

static const char *const case_words[] = {"burst", "sustained", "flood"};

const char *peer_case_word(enum peer_case kind)
{
    return case_words[kind];
}

static void usage(FILE *to)
{
    fprintf(
        to,
        "usage: peer-%s [options]\n"
        "Emits events of four 64-bit numbers and reports what one costs and how many arrive.\n\n"
        "  --case burst|sustained|flood  (default burst) bursts of 10,000 events 20 ms apart;\n"
        "                   or all events without a pause; flood is for a small budget\n"
        "  --events N       events per thread (default 310,000)\n"
        "  --threads N      emitting threads (default 1)\n"
        "  --pin            bind the emitting threads to processors, and the draining thread to "
        "the "
        "last\n"
        "  --json           print one JSON object\n",
        peer.name);
    if (!(peer.refuses & PEER_NO_BUDGET))
        fprintf(to, "  --budget BYTES   buffers for all threads together (default %u)\n",
                BUDGET_DEFAULT);
    if (!(peer.refuses & PEER_NO_OUTPUT))
        fprintf(to,
                "  --output FOLDER  where to put the delivered events (default: discard them)\n");
    fprintf(to, "  --variant WORD   one of:");
    for (const char *const *variant = peer.variants; *variant; variant++)
        fprintf(to, " %s%s", *variant, variant == peer.variants ? " (default)" : "");
    fprintf(to, "\n");
}

__attribute__((noreturn)) static void wrong(const char *option, const char *value,
                                            const char *wanted)
{
    fprintf(stderr, "peer-%s: %s '%s' is not %s; try --help\n", peer.name, option, value, wanted);
    exit(2);
}

static void refuse(const char *option, unsigned if_any)
{
    if (!(peer.refuses & if_any))
        return;
    fprintf(stderr, "peer-%s: %s has no meaning for this peer; try --help\n", peer.name, option);
    exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t least, uint64_t most)
{
    char wanted[64], *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || value < least || value > most) {
        snprintf(wanted, sizeof wanted, "a number from %llu to %llu", (unsigned long long)least,
                 (unsigned long long)most);
        wrong(option, text, wanted);
    }
    return value;
}

static enum peer_case case_of(const char *text)
{
    for (int i = PEER_BURST; i <= PEER_FLOOD; i++)
        if (strcmp(text, case_words[i]) == 0)
            return (enum peer_case)i;
    wrong("--case", text, "burst, sustained or flood");
}

static const char *variant_of(const char *text)
{
    for (const char *const *variant = peer.variants; *variant; variant++)
        if (strcmp(text, *variant) == 0)
            return *variant;
    wrong("--variant", text, "a variant of this peer");
}

static void option_take(int letter, const char *value, struct peer_options *options)
{
    switch (letter) {
    case 'c':
        options->kind = case_of(value);
        break;
    case 'n':
        options->events = number("--events", value, 1, EVENTS_MAX);
        break;
    case 't':
        options->threads = (uint32_t)number("--threads", value, 1, PEER_THREADS_MAX);
        break;
    case 'b':
        refuse("--budget", PEER_NO_BUDGET);
        options->budget_bytes = number("--budget", value, 4096, BUDGET_MAX);
        break;
    case 'v':
        options->variant = variant_of(value);
        break;
    case 'o':
        refuse("--output", PEER_NO_OUTPUT);
        options->output = value;
        break;
    case 'p':
        options->pins = true;
        break;
    case 'j':
        options->json = true;
        break;
    case 'h':
        usage(stdout);
        exit(0);
    default: /* getopt has printed what is wrong */
        exit(2);
    }
}

void peer_options_parse(int argc, char **argv, struct peer_options *options)
{
    static const struct option known[] = {
        {"case", required_argument, NULL, 'c'},    {"events", required_argument, NULL, 'n'},
        {"threads", required_argument, NULL, 't'}, {"budget", required_argument, NULL, 'b'},
        {"variant", required_argument, NULL, 'v'}, {"output", required_argument, NULL, 'o'},
        {"pin", no_argument, NULL, 'p'},           {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    *options = (struct peer_options){.events = 31 * PEER_BURST_EVENTS,
                                     .threads = 1,
                                     .budget_bytes = peer.refuses & PEER_NO_BUDGET ? PEER_UNKNOWN
                                                                                   : BUDGET_DEFAULT,
                                     .variant = peer.variants[0]};
    int letter;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1)
        option_take(letter, optarg, options);
    if (optind < argc)
        wrong("argument", argv[optind], "an option");
}
