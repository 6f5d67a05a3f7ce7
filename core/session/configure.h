/*
 * Sessions that a text describes, in the environment or in a call. The library owns them: it starts
 * them, and stops them when the process exits. weir/session.h has the language, at weir_configure().
 */
#ifndef WR_SESSION_CONFIGURE_H
#define WR_SESSION_CONFIGURE_H

#include "session/session.h"
#include "session/text.h"

/* A session that is being described. Its texts are the copy's that is being taken apart. */
struct wr_described {
    struct weir_session_config config;
    struct weir_enable entries[WR_ENABLES_MAX];
    char file[4096];
    uint32_t options; /* those that it has, by their rows in configure.c */
};

/* Sessions that were created together. */
struct wr_described_list {
    struct weir_session *first, **last;
};

/* --- configure.c: the language. -------------------------------------------------------------- */

/* Begins a description: unknown providers are waited for. */
void wr_described_begin(struct wr_described *described);
/* Sets the file: a path, in which `mark` stands for the process's id. False: it is too long. */
bool wr_described_file(struct wr_described *described, const char *path, const char *mark);
/* Starts the sessions of a text; `what`: its name in messages. */
enum weir_result wr_configure_text(const char *what, const char *text, struct weir_error *error);

/* --- configured.c: the sessions. ------------------------------------------------------------- */

/* Creates a session as described, inert, and adds it to the list. */
enum weir_result wr_described_create(struct wr_described *described, struct wr_described_list *list,
                                     struct weir_error *error);
/* Starts them, if they are all there, and otherwise destroys them. Returns the first failure. */
enum weir_result wr_described_start(struct wr_described_list *list, enum weir_result created,
                                    struct weir_error *error);
#ifdef WEIR_SINGLE_THREADED
/* weir_session_poll() for all of them. Returns the first failure. */
enum weir_result wr_configured_poll(struct weir_error *error);
#endif

#endif
