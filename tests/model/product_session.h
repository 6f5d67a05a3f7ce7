/*
 * The product's session, drain and emitters under the explorer. Replaced are the registry (one
 * event, one slot), the sink, and the configuration.
 */
#ifndef MODEL_PRODUCT_SESSION_H
#define MODEL_PRODUCT_SESSION_H

#include "session/session.h"

/* Call in setup(). Sets the event that all emitters emit. */
void product_event(struct weir_event *event, const struct wr_event_definition *definition);
/* Call in setup(). Makes the sink fail from its next write on. */
void product_sink_fails(void);

/* Call in setup(). Shows what the sink gets. */
void product_sink_shows(void (*to)(const void *bytes, uint64_t count));

/* Call in setup(). Membarrier has failed before the event is enabled; masks contain this bit. */
void product_marker(uint64_t bit);

/* Call in setup(). Runs the beginning of the drain thread. */
void product_begin(struct weir_session *session);
/* Runs the rest of it. */
void product_drain(struct weir_session *session);
/* Runs the steps of a stop. Without a drain thread (`alone`), the stopper reads the lanes once. */
bool product_stop(struct weir_session *session, bool alone, uint64_t deadline_ns);
/* Runs as many of them as need not wait, without a drain thread. */
bool product_stop_try(struct weir_session *session);

#endif
