/*
 * The product's callbacks, slots and providers under the explorer: event/callbacks.c, slots.c,
 * interest.c and providers.c, with two slots. In the other models product_registry.c stands in for
 * them, so what it defines has other names here.
 */
#ifndef MODEL_PRODUCT_CALLBACKS_H
#define MODEL_PRODUCT_CALLBACKS_H

#include "lane/thread.h"

#undef WR_SESSIONS_MAX
#define WR_SESSIONS_MAX           2
#define wr_mask_marker            product_mask_marker
#define wr_slot_ids               product_slot_ids
#define wr_slots_lingering        product_slots_lingering
#define wr_registry_take_slot     product_take_slot
#define wr_registry_enable        product_enable
#define wr_registry_update        product_update
#define wr_registry_disable       product_disable
#define wr_registry_linger        product_linger
#define wr_registry_give_slot     product_give_slot
#define wr_registry_run_callbacks product_run_callbacks
#define wr_interest_wants         product_interest_wants
#define wr_interest_release       product_interest_release

#include "event/registry.h"
#include "product.h"

/* Call first in setup(), in place of product_reset(). */
void product_registry_reset(void);
/* Call in setup(). Memory that a thread may allocate. */
void product_registry_spare(uint32_t bytes);
/* Call in setup(). What a session wants of the provider, with arguments of one byte. */
struct wr_interest *product_interest(const char *provider, uint64_t keywords);
/* Call in setup(). Gives the provider an event. */
void product_provider_event(struct weir_provider *provider, struct weir_event *event);

/* In finish(). */
bool product_is_freed(const void *memory);
bool product_has_pending(void);

#endif
