/* Processes of their own, for what holds once in a process: their end and their messages are looked
 * at. */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes a directory and goes there: for the setup and the teardown of a group. */
static char unit_directory[] = "/tmp/weir-unit-XXXXXX";

static inline int unit_enter_directory(void **state)
{
    (void)state;
    bool is_there = mkdtemp(unit_directory) && chdir(unit_directory) == 0;
    return is_there && setenv("TMPDIR", unit_directory, 1) == 0 ? 0 : -1;
}

static inline int unit_leave_directory(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", unit_directory);
    return chdir("/") == 0 ? system(command) : -1;
}

struct unit_ended {
    pid_t process;
    int status;
    char messages[1024]; /* its stderr */
};

/* Runs `body` in a child, which then exits with 7. */
static inline struct unit_ended unit_run(void (*body)(void))
{
    int ends[2];
    struct unit_ended ended = {.status = -1};
    assert_int_equal(pipe(ends), 0);
    ended.process = fork();
    if (ended.process == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        alarm(60);
        body();
        exit(7);
    }
    close(ends[1]);
    size_t used = 0;
    for (ssize_t got;
         (got = read(ends[0], ended.messages + used, sizeof ended.messages - 1 - used)) > 0;)
        used += (size_t)got;
    close(ends[0]);
    assert_int_equal(waitpid(ended.process, &ended.status, 0), ended.process);
    return ended;
}

static inline void unit_succeeds(const struct unit_ended *ended)
{
    if (ended->messages[0])
        fail_msg("%s", ended->messages);
    assert_true(WIFEXITED(ended->status));
    assert_int_equal(WEXITSTATUS(ended->status), 7);
}

/* The process ends as ever, and says one line. */
static inline void unit_complains(const struct unit_ended *ended, const char *line)
{
    assert_string_equal(ended->messages, line);
    assert_true(WIFEXITED(ended->status));
    assert_int_equal(WEXITSTATUS(ended->status), 7);
}

/* For children: a failed assertion of cmocka's would run the other tests there. */
static inline void unit_must(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "child: %s\n", what);
    _exit(1);
}
#define MUST(condition) unit_must(condition, #condition)

#endif
