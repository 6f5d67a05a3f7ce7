/* core/buffers/buffers.c for the explorer. */
#include "product.h"

static void release_lane_locked(struct wr_buffers *buffers, struct wr_lane **link);

#define wr_buffers_release_lane_locked release_lane_locked
#include "buffers/buffers.c" /* NOLINT: with its static functions */
#undef wr_buffers_release_lane_locked

/* Leaves the lane as it is; the next owner clears it. */
void wr_buffers_release_lane_locked(struct wr_buffers *buffers, struct wr_lane **link)
{
    struct wr_place *place = wr_place_of(*link);
    release_lane_locked(buffers, link);
    wr_data_written(place, sizeof *place);
}

void product_reset(void)
{
    product_system_reset();
    product_threads_reset();
    product_hooks_reset();
    model_lend(wr_buffers_by_slot, sizeof wr_buffers_by_slot[0]);
    model_lend(&wr_buffers_blocking_slots, sizeof wr_buffers_blocking_slots);
    model_lend(wr_unattributed, sizeof wr_unattributed[0]);
    model_lend(&capture_ids, sizeof capture_ids);
    model_lend(&wr_place_none, sizeof wr_place_none);
    model_name(&wr_buffers_by_slot[0], "by_slot");
}

struct wr_lane *product_spare_lane(struct wr_buffers *buffers)
{
    struct wr_lane *lane = &((struct wr_place *)model_memory(sizeof(struct wr_place)))->lane;
    lane->next = wr_ptr_load_relaxed(&buffers->free_lanes);
    wr_ptr_store_relaxed(&buffers->free_lanes, lane);
    return lane;
}

struct wr_lane *product_attach(struct wr_buffers *buffers, struct wr_thread *thread)
{
    product_spare_lane(buffers);
    wr_ptr_store_relaxed(&wr_buffers_by_slot[0], buffers);
    struct wr_lane *lane = wr_buffers_lane(thread, 0);
    /* The drain has met the lane. */
    wr_buffers_accept_ready(wr_buffers_take_ready(buffers));
    return lane;
}

struct wr_lane *product_lane_take(struct wr_buffers *buffers, struct wr_thread *thread)
{
    return lane_take(buffers, thread);
}

void product_lane_release(struct wr_buffers *buffers, struct wr_lane **link)
{
    release_lane_locked(buffers, link);
}

void product_thread_exit(struct wr_thread *thread)
{
    on_thread_exit(thread);
}
