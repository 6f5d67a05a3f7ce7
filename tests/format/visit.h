/* Writes the values of a payload as text: "a=1 v[2 -=1 -=-1 ] s=ok o{1 x=5 } ", UTF-8 in quotes. */
#ifndef FORMAT_TEST_VISIT_H
#define FORMAT_TEST_VISIT_H

#include "fields.h"

extern char visit_text[400];
extern const struct wt_visitor visit;

/* Empties the text; returns the context for the visitor. */
void *visit_start(void);

#endif
