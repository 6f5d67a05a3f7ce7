/*
 * The product's session, drain and emitters, as far as the explorer runs them. What stands in: the
 * registry (one event, one slot), the sink, and the configuration.
 */
#ifndef MODEL_PRODUCT_SESSION_H
#define MODEL_PRODUCT_SESSION_H

#include "session/session.h"

/* In setup(): the event that every emitter emits. */
void product_event(struct weir_event *event);
/* In setup(): the sink fails from the next write on. */
void product_sink_fails(void);

/* In setup(): membarrier has failed before the event is on, and this is the bit that masks have
 * since. */
void product_marker(uint64_t bit);

/* In setup(): the drain thread's beginning. */
void product_begin(struct weir_session *session);
/* The rest of it. */
void product_drain(struct weir_session *session);
/* The steps of a stop. Where there is no drain thread, the stopper reads the lanes, once. */
bool product_stop(struct weir_session *session, bool alone, uint64_t deadline_ns);

#endif
