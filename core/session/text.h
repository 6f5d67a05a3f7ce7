/*
 * Texts that say what a session wants: Name[:keywords[:level[:arguments]]], separated by commas.
 * The text is a copy, which is taken apart in place.
 */
#ifndef WR_SESSION_TEXT_H
#define WR_SESSION_TEXT_H

#include <weir/session.h>

/* Of what a session wants: entries, and bytes of the arguments of each. */
#define WR_ENABLES_MAX         1000u
#define WR_ARGUMENTS_BYTES_MAX 65535u

struct wr_text {
    const char *what; /* its name in messages */
    char *start;      /* of the copy */
    char *at;         /* what is left of it */
    const char *ends; /* what else may end a field, beside those of the field itself */
    bool is_hex;      /* keywords are hexadecimal, with 0x or without, and those left out are all */
};

/* Fails with the position of `field`, from 1, what is there, and what was expected. */
enum weir_result wr_text_fail(const struct wr_text *text, const char *field, const char *expected,
                              struct weir_error *error);

/* Takes a field up to one of `ends`, which becomes a 0, or up to one of the text's. Returns what
 * ended it; 0: the end of the text. */
char wr_text_take(struct wr_text *text, const char *ends);

/* The same for a field in double quotes, each double quote in it doubled; `*field` receives what was
 * in them. False if nothing closes it, or if something else than an end follows. */
bool wr_text_take_quoted(struct wr_text *text, const char *ends, char **field, char *end);

/* Parses "0xff" or "255"; with `is_hex` also "ff". All of the text must be the number. */
bool wr_text_number(const char *text, bool is_hex, uint64_t *value);

/* Takes a list of providers, up to WR_ENABLES_MAX, whose texts stay in the copy. `*end` receives
 * what ended it. WEIR_BAD_ARGUMENT. */
enum weir_result wr_text_take_enables(struct wr_text *text, struct weir_enable *entries,
                                      uint32_t *count, char *end, struct weir_error *error);

#endif
