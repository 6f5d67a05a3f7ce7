/* core/event/emit.c, emit_pinned.c, emit_slow.c and emit_variable.c for the explorer. */
#include "product_session.h"

/* A host's test of an event's word is a hint and not a step: the mask is loaded again in the
 * pin. */
#define weir_event_is_enabled(event) true

#include "event/emit.c"          /* NOLINT */
#include "event/emit_pinned.c"   /* NOLINT */
#include "event/emit_slow.c"     /* NOLINT: with its static functions */
#include "event/emit_variable.c" /* NOLINT */
