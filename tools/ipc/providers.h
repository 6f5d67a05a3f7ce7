/* A list of providers as users write it. */
#ifndef WT_IPC_PROVIDERS_H
#define WT_IPC_PROVIDERS_H

#include "message.h"

/* All zeros is an empty list. */
struct wt_ipc_providers {
    struct wt_ipc_provider *items;
    size_t count;
    char *text; /* which the items point into */
};

/*
 * "Name[:keywords[:level[:arguments]]]", separated by commas. Keywords are hexadecimal, with or
 * without 0x; a level is a number from 0 to 5 or its name in .NET. What is empty or left out means
 * all keywords and the highest level. Arguments go to the end of the entry; a comma within double
 * quotes does not end it. Arguments that are in double quotes as a whole lose them, and double
 * quotes in those are written twice.
 *
 * WT_IPC_ARGUMENT; then the list is empty.
 */
bool wt_ipc_providers_parse(struct wt_ipc_providers *list, const char *text,
                            struct wt_ipc_error *error);

/* Any number, hexadecimal with or without 0x, and nothing after it. */
bool wt_ipc_keywords_parse(const char *text, uint64_t *keywords);

void wt_ipc_providers_fini(struct wt_ipc_providers *list);

#endif
