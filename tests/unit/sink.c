/*
 * Sinks that fail, and files that must not be lost.
 *
 * With a directory as argument, writes a trace there until the disk is full (disk_full.sh).
 */
#define _GNU_SOURCE
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

WEIR_PROVIDER_DEFINE(Unit, UNIT_EVENTS)

struct failures {
    int calls;
    enum weir_result result;
    char text[300];
};

static void on_error(void *context, enum weir_result result, const char *text)
{
    struct failures *failures = context;
    failures->result = result;
    snprintf(failures->text, sizeof failures->text, "%s", text);
    __atomic_fetch_add(&failures->calls, 1, __ATOMIC_RELEASE);
}

/* What was read from a pipe. */
struct received {
    unsigned char begin[8], last;
    size_t count;
};

static struct weir_session *start_with(struct weir_session_config *config,
                                       struct failures *failures)
{
    config->on_error = on_error;
    config->on_error_context = failures;
    config->flush_ms = 5;
    return unit_start(config);
}

/* Emits until the failure has reached the host: from then on no session wants the event. */
static uint64_t emit_until_failure(const struct failures *failures)
{
    uint64_t emitted = 0;
    for (int i = 0; i < 4000 && !__atomic_load_n(&failures->calls, __ATOMIC_ACQUIRE); i++) {
        for (int j = 0; j < 500; j++, emitted++)
            WEIR_EMIT(Unit, Pair, emitted, emitted);
        usleep(1000);
    }
    assert_false(weir_event_is_enabled(&weir_events_Unit.Pair));
    assert_false(WEIR_EMIT(Unit, Pair, 0, 0));
    return emitted;
}

static void expect_failure(struct weir_session *session, const struct failures *failures,
                           uint64_t emitted, const char *text)
{
    struct weir_error error = {""};
    assert_int_equal(weir_session_stop(session, &error), WEIR_IO);
    assert_string_equal(error.text, failures->text); /* a stop says what on_error was given */
    assert_int_equal(failures->calls, 1);
    assert_int_equal(failures->result, WEIR_IO);
    if (!strstr(failures->text, text))
        fail_msg("'%s' does not say '%s'", failures->text, text);
    struct weir_counts counts = unit_counts(session);
    assert_in_range(counts.attempted, 1, emitted);
    assert_true(counts.lost[WEIR_LOSS_SINK_FAILED] > 0);
    weir_session_destroy(session);
}

static bool take_some(void *context, const void *bytes, size_t count)
{
    size_t *left = context;
    (void)bytes;
    bool fits = count <= *left;
    *left -= fits ? count : *left;
    return fits;
}

static void test_function_that_refuses(void **state)
{
    (void)state;
    size_t left = 100000;
    struct failures failures = {0};
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.write = take_some;
    config.sink.context = &left;
    struct weir_session *session = start_with(&config, &failures);
    uint64_t emitted = emit_until_failure(&failures);
    expect_failure(session, &failures, emitted, "returned false");
}

static void test_memory_that_is_full(void **state)
{
    (void)state;
    struct failures failures = {0};
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 65536;
    struct weir_session *session = start_with(&config, &failures);
    uint64_t emitted = emit_until_failure(&failures);
    expect_failure(session, &failures, emitted, "memory_bytes_max");
}

/* A pipe without a reader: an error of this session, not a signal that ends the host. */
static void test_pipe_without_reader(void **state)
{
    (void)state;
    int ends[2];
    struct failures failures = {0};
    struct weir_session_config config = unit_config();
    assert_int_equal(pipe(ends), 0);
    config.memory_bytes_max = 0;
    config.sink.descriptor = ends[1];
    struct weir_session *session = start_with(&config, &failures);
    close(ends[0]);
    uint64_t emitted = emit_until_failure(&failures);
    expect_failure(session, &failures, emitted, "Broken pipe");
    assert_int_equal(fcntl(ends[1], F_GETFD) >= 0, 1); /* still open, and the caller's */
    close(ends[1]);
}

/* Reads what the pipe holds; false at its end. */
static bool pipe_take(int fd, struct received *received)
{
    unsigned char bytes[4096];
    ssize_t count = read(fd, bytes, sizeof bytes);
    if (count < 0)
        usleep(1000);
    for (ssize_t i = 0; i < count; i++, received->count++) {
        if (received->count < sizeof received->begin)
            received->begin[received->count] = bytes[i];
        received->last = bytes[i];
    }
    return count != 0;
}

/* The stop gives up while the drain is in the middle of the stream. The drain continues to write to
 * the file that the number meant at create, not to the one that the host opens under it later. */
static void test_descriptor_that_is_used_again(void **state)
{
    (void)state;
    int ends[2];
    char path[] = "/tmp/weir-unit-XXXXXX";
    struct stat status;
    struct received received = {.count = 0};
    struct weir_session_config config = unit_config();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    config.memory_bytes_max = 0;
    config.sink.descriptor = ends[1];
    config.flush_ms = 5;
    config.stop_ms_max = 50;
    struct weir_session *session = unit_start(&config);
    for (uint64_t i = 0; i < 20000; i++)
        WEIR_EMIT(Unit, Pair, i, i);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_TIMEOUT);
    close(ends[1]);
    int other = mkstemp(path);
    assert_true(other >= 0 && dup2(other, ends[1]) == ends[1]);
    while (weir_session_stop(session, NULL) == WEIR_TIMEOUT)
        while (pipe_take(ends[0], &received) && received.count % 4096 == 0) {
        }
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    while (pipe_take(ends[0], &received)) { /* to its end: no copy of the descriptor is left */
    }
    assert_memory_equal(received.begin, "Nettrace", sizeof received.begin);
    assert_int_equal(received.last, 1); /* the end tag */
    assert_int_equal(fstat(ends[1], &status), 0);
    assert_int_equal(status.st_size, 0);
    weir_session_destroy(session);
    close(other);
    close(ends[0]);
    close(ends[1]);
    unlink(path);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_begins(const char *path, const char *text)
{
    char begin[16] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(begin, 1, strlen(text), file) == strlen(text));
    fclose(file);
    assert_string_equal(begin, text);
}

/* An existing file stays until a start succeeds; a session that is created but never starts leaves
 * no file. */
static void test_file_is_replaced_by_start(void **state)
{
    (void)state;
    char directory[] = "/tmp/weir-unit-XXXXXX", path[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/t.nettrace", directory);
    write_text(path, "precious");
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.file = path;
    struct weir_session *session;
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    expect_begins(path, "precious");
    weir_session_destroy(session);
    expect_begins(path, "precious");
    session = unit_start(&config);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    expect_begins(path, "Nettrace");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    weir_session_destroy(session);
    unlink(path);
    assert_int_equal(rmdir(directory), 0); /* nothing else is left there */
}

/* A relative path refers to the directory at create, whatever the process's directory is at
 * start. */
static void test_relative_file(void **state)
{
    (void)state;
    char directory[] = "/tmp/weir-unit-XXXXXX", path[64];
    int before = open(".", O_PATH | O_CLOEXEC);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/rel.nettrace", directory);
    struct weir_session_config config = unit_config();
    config.memory_bytes_max = 0;
    config.sink.file = "rel.nettrace";
    struct weir_session *session, *unused;
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(weir_session_create(&config, &session, NULL), WEIR_OK);
    assert_int_equal(weir_session_create(&config, &unused, NULL), WEIR_OK);
    assert_int_equal(fchdir(before), 0);
    assert_int_equal(weir_session_start(session, NULL), WEIR_OK);
    assert_int_equal(weir_session_stop(session, NULL), WEIR_OK);
    weir_session_destroy(session);
    expect_begins(path, "Nettrace");
    weir_session_destroy(unused);
    close(before);
    unlink(path);
    assert_int_equal(rmdir(directory), 0); /* nothing else is left there */
}

static int fill_disk(const char *directory)
{
    char path[4096];
    struct failures failures = {0};
    struct weir_session_config config = unit_config();
    snprintf(path, sizeof path, "%s/full.nettrace", directory);
    unit_setup(NULL);
    config.memory_bytes_max = 0;
    config.sink.file = path;
    struct weir_session *session = start_with(&config, &failures);
    uint64_t emitted = emit_until_failure(&failures);
    enum weir_result result = weir_session_stop(session, NULL);
    struct weir_counts counts = unit_counts(session);
    printf("stop: %s; %d call of on_error: %s\n", weir_result_text(result), failures.calls,
           failures.text);
    weir_session_destroy(session);
    return result == WEIR_IO && failures.calls == 1 && strstr(failures.text, "No space left") &&
                   counts.attempted > 0 && counts.attempted <= emitted &&
                   counts.lost[WEIR_LOSS_SINK_FAILED] > 0
               ? 0
               : 1;
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return fill_disk(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_function_that_refuses),
        cmocka_unit_test(test_memory_that_is_full),
        cmocka_unit_test(test_pipe_without_reader),
        cmocka_unit_test(test_descriptor_that_is_used_again),
        cmocka_unit_test(test_file_is_replaced_by_start),
        cmocka_unit_test(test_relative_file),
    };
    return cmocka_run_group_tests(tests, unit_setup, NULL);
}
