/*
 * A file that is written beside the one whose name it will get, so that a command that fails leaves
 * that one as it was. Only its owner can read it, as those that the library writes.
 */
#ifndef WT_WEIR_NEW_FILE_H
#define WT_WEIR_NEW_FILE_H

#include <stdbool.h>
#include <stdio.h>

struct wt_new_file {
    const char *name;
    char *temporary; /* its name until it is published, then NULL */
    int fd;          /* -1: there is none. The caller closes it, or its stream */
};

/* `name` must last as long as the file. False after a message, also if `name` is a directory, a pipe or
 * a device. */
bool wt_new_file_open(struct wt_new_file *file, const char *name);

/* A stream that writes into it; NULL after a message, and then it is closed. */
FILE *wt_new_file_stream(const struct wt_new_file *file);

/* Gives it its name; false after a message. */
bool wt_new_file_publish(struct wt_new_file *file);

/* Removes it, unless it has been published. */
void wt_new_file_drop(struct wt_new_file *file);

#endif
