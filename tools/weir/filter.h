/* Which events a command takes: --provider, --event, --thread. Repeated options mean "any of"; of
 * the three kinds, all that are given must hold.
 *
 * Losses are not events: a command still sees all Loss events, and reports the losses of the
 * file, or with --thread those of the threads that pass. */
#ifndef WT_WEIR_FILTER_H
#define WT_WEIR_FILTER_H

#include "lost.h"
#include "tool.h"

/* An event or a thread: its name, and its number if the text is one. */
struct wt_pattern {
    const char *name;
    uint64_t number; /* of an event, the bits of its id as a signed number */
    bool is_number;
};

struct wt_patterns {
    struct wt_pattern *rows;
    size_t count, capacity;
};

/* All zeros takes every event. */
struct wt_filter {
    struct wt_patterns providers, events, threads;
    unsigned char *verdicts; /* by metadata index: provider and event pass */
    size_t verdict_capacity;
    bool *threads_passed; /* by thread index: it has passed once, by its name of that time */
    size_t thread_capacity;
    uint64_t passed; /* events */
};

/* For a command's table of getopt_long() options, and the values it returns for them. */
enum { WT_OPTION_PROVIDER = 0x100, WT_OPTION_EVENT, WT_OPTION_THREAD };
#define WT_FILTER_OPTIONS                                      \
    {"provider", required_argument, NULL, WT_OPTION_PROVIDER}, \
        {"event", required_argument, NULL, WT_OPTION_EVENT},   \
    {                                                          \
        "thread", required_argument, NULL, WT_OPTION_THREAD    \
    }
#define WT_FILTER_HELP                                                                            \
    "  --provider P   only events of provider P, in upper or lower case\n"                        \
    "  --event E      only events with that name or id\n"                                         \
    "  --thread T     only events with that capture thread, thread id or name of a thread\n"      \
    "                 Each of the three may be repeated: any of its values will do. Losses are\n" \
    "                 those of the file; with --thread, those of the threads that pass\n"

/* Takes the option if it is one of the three; the text must last as long as the filter. */
bool wt_filter_option(struct wt_filter *filter, int option, const char *text);

/* For each definition, before its events. */
void wt_filter_define(struct wt_filter *filter, const struct wt_metadata *metadata);

/* Whether the event passes; counts it if it does. */
bool wt_filter_event(struct wt_filter *filter, const struct wt_event *event);

/* Whether the definition passes --provider and --event. */
bool wt_filter_takes(const struct wt_filter *filter, const struct wt_metadata *metadata);

/* Whether the thread passes --thread: by its number, its name, or because an event of it did. */
bool wt_filter_thread(const struct wt_filter *filter, const struct wt_thread *thread);

bool wt_filter_is_set(const struct wt_filter *filter);

/* The losses of the threads that pass. */
struct wt_lost wt_filter_lost(const struct wt_filter *filter, const struct wt_tally *tally,
                              const struct wt_reader *reader);

/* The causes of these losses. */
struct wt_told wt_filter_told(const struct wt_filter *filter, const struct wt_tally *tally,
                              const struct wt_reader *reader);

/* Says on stderr that nothing has passed, if the filter is set and nothing has. */
void wt_filter_complain(const struct wt_filter *filter, const struct wt_run *run);

/* Member "filter" if it is set: provider, event, thread (arrays of texts), passed, of. */
void wt_filter_json(const struct wt_filter *filter, const struct wt_reader *reader,
                    struct wt_json *json);

void wt_filter_fini(struct wt_filter *filter);

#endif
