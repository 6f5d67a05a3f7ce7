/* Shared by the subcommands of `weir`. */
#ifndef WT_WEIR_TOOL_H
#define WT_WEIR_TOOL_H

#include "fields.h"
#include "reader.h"

#include <stdio.h>

/* Exit codes of every subcommand. */
enum wt_exit {
    WT_EXIT_OK = 0,
    WT_EXIT_FAILED = 1,
    WT_EXIT_USAGE = 2,
    WT_EXIT_LOST = 3,
    WT_EXIT_TRUNCATED = 4, /* no end tag: losses after the last sequence point are unknown */
    WT_EXIT_DIFFERENT = 5, /* weir diff: the two traces are different */
};

/* Subcommands: argv[0] is the subcommand's name. They return an exit code. */
int wt_stat_main(int argc, char **argv);
int wt_dump_main(int argc, char **argv);
int wt_check_main(int argc, char **argv);
int wt_report_main(int argc, char **argv);
int wt_diff_main(int argc, char **argv);
int wt_schema_main(int argc, char **argv);
int wt_cut_main(int argc, char **argv);
int wt_heap_main(int argc, char **argv);
int wt_ps_main(int argc, char **argv);
int wt_collect_main(int argc, char **argv);

/* A file (or "-" for standard input) under a reader, with progress on a terminal's stderr. */
struct wt_run {
    const char *path; /* for messages */
    int fd;
    off_t start; /* of the stream in the file */
    struct wt_reader *reader;
    bool is_file;  /* it can be opened again and read from its start */
    bool progress; /* stderr is a terminal */
    bool shown;    /* a progress line is visible */
    int64_t start_ms, shown_ms;
    uint64_t bytes;
    uint8_t head[32]; /* bytes that were looked at, to be read yet */
    size_t head_size, head_next;
};

/* Opens the file and creates the reader; false after a message if that fails. */
bool wt_run_open(struct wt_run *run, const char *path, const struct wt_reader_options *options,
                 const struct wt_handlers *handlers, void *context);

/* The first bytes of the file, without reading them away: up to `size`, fewer if the file ends, or
 * cannot be read. Once, and before wt_run_read(). */
size_t wt_run_peek(struct wt_run *run, size_t size);
/* All bytes of a file that is not to be run through the reader. NULL after a message; to be freed. */
void *wt_run_take(struct wt_run *run, size_t *size);

/* Reads to the end and prints an error, if any, to stderr. */
enum wt_status wt_run_read(struct wt_run *run);

void wt_run_close(struct wt_run *run);

/* The exit code for how the reading ended; `lost` adds losses the reader cannot see. */
int wt_run_exit(const struct wt_run *run, uint64_t lost);

/* Flushes stdout; turns a failed write into WT_EXIT_FAILED with a message. */
int wt_finish_output(int code);

/* "weir NAME: text" on stderr. */
void wt_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The one FILE argument after the options; NULL after a message if there is not exactly one. */
const char *wt_one_file(int argc, char **argv, int first);

/* A whole number above or equal to 0; false after a message. */
bool wt_parse_count(const char *option, const char *text, uint64_t *out);

/* Memory for `count` elements, at least doubling; the program ends with a message if there is
 * none. Elements beyond the old capacity are zero. */
void *wt_grow(void *old, size_t *capacity, size_t count, size_t element_size);

/* Text of a status for JSON: "complete", "truncated", "stopped" or "error". */
const char *wt_status_word(enum wt_status status);

#endif
