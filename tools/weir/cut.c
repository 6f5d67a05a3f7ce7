/* weir cut: a part of a trace as a trace. */
#include "cut.h"
#include "options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Three passes. --------------------------------------------------------------------------- */

static bool is_readable(const struct cut *cut, enum wt_status status)
{
    if (cut->wrong_clock)
        wt_complain("%s: the trace has no usable frequency, so --from and --to mean nothing",
                    cut->path);
    return !cut->wrong_clock && (status == WT_END || status == WT_TRUNCATED);
}

static bool has_newer_type(const struct wt_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((unsigned)fields[i].type > WT_TYPE_ARRAY ||
            has_newer_type(fields[i].fields, fields[i].field_count))
            return true;
    return false;
}

static bool can_be_written(const struct cut *cut)
{
    const struct wt_trace_info *info = wt_reader_trace(cut->run.reader);
    if (info && info->major > 4 && (info->process_id <= 0 || info->processors <= 0)) {
        wt_complain("%s: it does not name its process and number of processors, which versions 4 "
                    "and 5 of the format need",
                    cut->path);
        return false;
    }
    for (size_t i = 0; i < cut->metadata_count; i++) {
        const struct wt_metadata *metadata = cut->metadata[i];
        const struct cut_definition *definition = &cut->definitions[i];
        if ((!definition->is_used && definition->kind == CUT_ORDINARY) ||
            !has_newer_type(metadata->fields, metadata->field_count))
            continue;
        wt_complain("%s: %s/%s has fields that versions 4 and 5 of the format lack; leave it out "
                    "with --provider or --event",
                    cut->path, metadata->provider_name, metadata->event_name);
        return false;
    }
    if (cut->overridden)
        wt_complain("%s: labels give an event %s/%s another level, version, opcode or keywords, "
                    "which versions 4 and 5 of the format lack; leave it out with --provider or "
                    "--event",
                    cut->path, cut->overridden->provider_name, cut->overridden->event_name);
    return !cut->overridden;
}

/* A file that is still written to must not be read as three different ones. */
static bool is_unchanged(const struct cut *cut, const struct wt_totals *first,
                         enum wt_status status)
{
    const struct wt_totals *now = wt_reader_totals(cut->run.reader);
    if (now->bytes == first->bytes && now->events == first->events && now->lost == first->lost &&
        now->threads == first->threads && wt_reader_error(cut->run.reader)->status == status)
        return true;
    wt_complain("%s changed while it was read; cut it when its process has ended", cut->path);
    return false;
}

/* The new file is whole if all of it is known: the old one has its end, or a sequence point after
 * the window. */
static bool is_whole(const struct cut *cut, enum wt_status status)
{
    return status == WT_END || (cut->any_point && cut->last_point >= cut->to);
}

static bool write_file(struct cut *cut, const struct wt_totals *first, enum wt_status status)
{
    if (!wt_trace_writer_open(&cut->writer, cut->output, wt_reader_trace(cut->run.reader)))
        return false;
    wt_run_close(&cut->run);
    cut_reset(cut);
    cut_name_all(cut); /* the first point introduces all of them */
    cut_write_point(cut, cut->min_time);
    cut_write_names(cut, cut->min_time);
    cut_read(cut, CUT_WRITE);
    if (!cut->run.reader || !is_unchanged(cut, first, status))
        return false;
    if (is_whole(cut, status)) {
        cut_name_all(cut);
        cut_write_point(cut, cut->max_time);
    }
    return wt_trace_writer_finish(&cut->writer, is_whole(cut, status));
}

static bool cut_file(struct cut *cut, enum wt_status *status)
{
    *status = cut_read(cut, CUT_FIND);
    if (!cut->run.reader || !is_readable(cut, *status) || !can_be_written(cut))
        return false;
    if (!wt_reader_trace(cut->run.reader)) {
        wt_complain("%s: there is nothing to cut", cut->path);
        return false;
    }
    const struct wt_totals first = *wt_reader_totals(cut->run.reader);
    cut_choose(cut);
    if (cut->repeats_threads) {
        wt_complain("%s: it uses an index for two threads, which versions 4 and 5 of the format "
                    "cannot tell apart",
                    cut->path);
        return false;
    }
    wt_run_close(&cut->run);
    cut_read(cut, CUT_NUMBER);
    if (!cut->run.reader || !is_unchanged(cut, &first, *status))
        return false;
    if (!cut->any)
        cut->min_time = cut->max_time =
            cut->span.has_from ? cut->from : wt_reader_trace(cut->run.reader)->sync_ticks;
    return write_file(cut, &first, *status);
}

/* --- The result. ----------------------------------------------------------------------------- */

static void print_text(const struct cut *cut, uint64_t of, bool is_whole)
{
    printf("%s: %" PRIu64 " of %" PRIu64 " events", cut->output, cut->passed, of);
    if (cut->carried)
        printf(", and %" PRIu64 " of Weir about them", cut->carried);
    printf("; lost %s%" PRIu64 "%s\n", is_whole ? "" : "at least ", cut->lost,
           is_whole ? "" : ", and unknown at the end");
}

static void print_json(const struct cut *cut, uint64_t of, bool is_whole)
{
    struct wt_json json;
    wt_json_init(&json, stdout, true);
    wt_json_object(&json, NULL);
    wt_json_string(&json, "file", cut->output);
    wt_json_u64(&json, "events", cut->passed);
    wt_json_u64(&json, "of", of);
    wt_json_u64(&json, "carried", cut->carried);
    wt_json_u64(&json, "withoutDefinition", cut->without_definition);
    wt_json_u64(&json, "labelled", cut->labelled);
    wt_json_bool(&json, "complete", is_whole);
    if (is_whole)
        wt_json_u64(&json, "lost", cut->lost);
    else
        wt_json_null(&json, "lost");
    wt_json_u64(&json, "lost_at_least", cut->lost);
    wt_json_end(&json);
}

static int report(const struct cut *cut, enum wt_status status)
{
    const uint64_t of = wt_reader_totals(cut->run.reader)->events;
    const bool whole = is_whole(cut, status);
    if (cut->is_json)
        print_json(cut, of, whole);
    else
        print_text(cut, of, whole);
    if (cut->matched == 0)
        wt_complain("%s: nothing matches; %s has no events of the trace", cut->path, cut->output);
    if (cut->without_definition)
        wt_complain("%s: %" PRIu64 " events have no definition and are left out", cut->path,
                    cut->without_definition);
    if (cut->labelled)
        wt_complain("%s: %" PRIu64 " events have labels, which versions 4 and 5 of the format lack "
                    "and which are left out",
                    cut->path, cut->labelled);
    if (!whole)
        return WT_EXIT_TRUNCATED;
    return cut->lost + cut->tally.all.total > 0 ? WT_EXIT_LOST : WT_EXIT_OK;
}

static void free_cut(struct cut *cut)
{
    wt_trace_writer_fini(&cut->writer);
    wt_run_close(&cut->run);
    wt_filter_fini(&cut->filter);
    wt_tally_fini(&cut->tally);
    for (size_t i = 0; i < cut->thread_capacity; i++) {
        free(cut->threads[i].gaps);
        free(cut->threads[i].row_name);
    }
    free(cut->threads);
    free(cut->touched);
    free(cut->definitions);
    free(cut->metadata);
    free(cut->payload.at);
    free(cut->entries);
    wt_map_fini(&cut->thread_map);
    wt_map_fini(&cut->stacks);
}

/* --- The command. ---------------------------------------------------------------------------- */

static const char help[] =
    "usage: weir cut [OPTION]... IN -o OUT\n"
    "\n"
    "Writes the events that pass to a new trace that is whole by itself: with their definitions,\n"
    "stacks, names of threads and values, and losses. What is filtered out is not lost: events "
    "get\n"
    "new numbers, and a gap is as large as it was. Events of the provider Weir about losses and\n"
    "names are kept for what they are about, whatever the filters say of them. What a provider\n"
    "says in events of its own, such as the names of functions, is in OUT only if those are.\n"
    "\n"
    "OUT is of version 4, or 5 where a definition needs it. Of version 6, the indices of threads\n"
    "become capture threads, and the names of threads events. Other labels than activities, and\n"
    "what the trace, its threads and definitions say in texts, are left out. Fields that have no\n"
    "older type, and events whose level, version, opcode or keywords are others than those of the\n"
    "definition, must be left out by the filters.\n"
    "\n"
    "  -o OUT         the new file; it appears under that name when it is whole\n" WT_FILTER_HELP
        WT_SPAN_HELP
    "                 Of losses, those that show in that time: by the thread's next event, or a\n"
    "                 sequence point\n"
    "  --json         print one JSON object: file, events, of (events in IN), carried (those of\n"
    "                 Weir), withoutDefinition (left out), labelled (their labels are left out),\n"
    "                 complete, lost (null if unknown), lost_at_least\n"
    "  --help         print this help\n"
    "\n"
    "Reads IN three times, so it is a file, and nobody writes to it.\n"
    "\n"
    "Exit codes: 0 fine, 1 failed and there is no new OUT, 2 usage, 3 written, and events were\n"
    "lost, 4 IN is truncated or unfinished and so is OUT: later losses are unknown.\n";

/* False, after a message, if the option is wrong. */
static bool take_option(void *context, int option, const char *text)
{
    struct cut *cut = context;
    switch (option) {
    case 'o':
        cut->output = text;
        return true;
    case 'j':
        return cut->is_json = true;
    case WT_OPTION_FROM:
    case WT_OPTION_TO:
        return wt_span_take(&cut->span, option, text);
    default:
        return wt_filter_option(&cut->filter, option, text);
    }
}

static bool check_files(const struct cut *cut)
{
    struct stat in, out;
    if (!cut->output)
        wt_complain("cut: no file to write; give one with -o");
    else if (strcmp(cut->path, "-") == 0)
        wt_complain("cut: it reads the trace three times, and standard input only once; save it "
                    "in a file");
    else if (stat(cut->path, &in) == 0 && stat(cut->output, &out) == 0 && in.st_dev == out.st_dev &&
             in.st_ino == out.st_ino)
        wt_complain("cut: %s is the file that is read; give another one with -o", cut->output);
    else
        return true;
    return false;
}

static int run_cut(struct cut *cut)
{
    enum wt_status status;
    int code = WT_EXIT_FAILED;
    if (cut_file(cut, &status))
        code = report(cut, status);
    return wt_finish_output(code);
}

static int run_arguments(struct cut *cut, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          WT_FILTER_OPTIONS,
                                          WT_SPAN_OPTIONS,
                                          {NULL, 0, NULL, 0}};
    static const struct wt_options options = {help, "ho:", table, take_option};
    int code;
    if (!wt_options_take(&options, cut, argc, argv, &code))
        return code;
    cut->path = wt_one_file(argc, argv, optind);
    return cut->path && check_files(cut) ? run_cut(cut) : WT_EXIT_USAGE;
}

int wt_cut_main(int argc, char **argv)
{
    struct cut cut;
    memset(&cut, 0, sizeof(cut));
    int code = run_arguments(&cut, argc, argv);
    free_cut(&cut);
    return code;
}
