/*
 * What a session does when its budget is full. Each mode is a table of operations: mode_drop.c,
 * mode_block.c, mode_overwrite.c. The session's table is `wr_buffers.mode`; no other file branches
 * on the mode.
 *
 * An event that finds room in its lane's segment makes no call through the table. A lane calls
 * through it when it changes segments; the drain does so once per segment, per lane of a sweep, and
 * per look.
 */
#ifndef WR_BUFFERS_MODE_H
#define WR_BUFFERS_MODE_H

#include <stdbool.h>
#include <stdint.h>
#include <weir/session.h>
#include "buffers/modes.h"
#include "lane/segment.h"
#include "wait/gate.h"

struct wr_buffers;
struct wr_lane;
struct wr_span;

/* The result of a request for room, and so the fate of the event that needs it. */
enum wr_room {
    WR_ROOM,      /* the lane has its segments; the event is written */
    WR_ROOM_LOST, /* no room, and the loss is counted */
    WR_ROOM_WAIT, /* no room yet, and nothing is counted: the thread leaves its pin and waits */
};

/* What the drain does after a look, for the threads that wait. */
enum wr_attention {
    WR_ATTENTION_NONE,  /* no thread waits, or one that does will ring */
    WR_ATTENTION_AGAIN, /* look again at once */
    WR_ATTENTION_SOON,  /* the threads that may take free segments are running: look again soon */
    WR_ATTENTION_STUCK, /* a thread waits and nothing is free: sweep */
};

struct wr_mode {
    bool parks; /* an emitting thread may wait: where it has no room, other sessions come first */
    bool keeps; /* the drain reads only for a snapshot and the last stream: session/recorder.c */

    void (*init)(struct wr_buffers *buffers, const struct weir_session_config *config);
    void (*fini)(struct wr_buffers *buffers);

    /* --- The emitting thread, inside its pin; signals are blocked if the session says so. ----- */

    /* Leaves the current segment, which has no room, and opens another. On ROOM, `segment` and
     * `commit` say where to write. */
    enum wr_room (*room)(struct wr_lane *lane, struct wr_segment **segment, uint64_t *commit);
    /* As wr_buffers_span_room() and wr_buffers_span_open(), for `count` segments, at most half of
     * the session's. */
    enum wr_room (*span_room)(struct wr_lane *lane, uint32_t count, struct wr_segment **first);
    bool (*span_open)(struct wr_lane *lane, const struct wr_span *span);
    /* For wr_chain_room(), DROP and BLOCK only: `count` segments, all or none, linked by `newer`.
     */
    enum wr_room (*take)(struct wr_lane *lane, uint32_t count, struct wr_segment **first);
    /* Leaves the current segment, if there is one. */
    void (*retire)(struct wr_lane *lane);
    /* Would the lane get another segment now? A hint. */
    bool (*has_room)(struct wr_lane *lane);
    /* As wr_buffers_reset(). */
    bool (*reset)(struct wr_lane *lane);
    /* The thread exits: retires its segment and returns its unused grant. */
    void (*exit)(struct wr_lane *lane);

    /* --- The wait of an attempt that got WAIT. Only where `parks`. ---------------------------- */

    /* Outside the pin: sleeps until there is room or the attempt is lost. */
    enum wr_waited (*wait)(struct wr_lane *lane);
    /* Inside a new pin. Ends the wait: if it was granted and the session still wants the event, the
     * lane keeps its grant; otherwise the loss is counted. True if the attempt goes on. From here
     * on only the pin, and what was loaded in it to find that the event is wanted, keep the lane
     * alive. */
    bool (*resume)(struct wr_lane *lane, enum wr_waited waited, bool is_wanted);
    /* Replaces wait() between the host's hooks. Nothing keeps the session alive once it returns.
     * Unless it returns GRANTED, the loss is counted. */
    enum wr_waited (*wait_outside)(struct wr_lane *lane);
    /* Replaces resume() after the hook, if the wait was GRANTED: inside a pin in which the thread
     * has found its lane still in place. The grant may have been taken back; then the attempt asks
     * again. */
    bool (*step_in)(struct wr_lane *lane, bool is_wanted);

    /* --- The drain. --------------------------------------------------------------------------- */

    /* Returns a segment that has been read. DROP and BLOCK free it by the next attend() or
     * before_sink(); OVERWRITE keeps it until the snapshot is released. */
    void (*give)(struct wr_buffers *buffers, struct wr_segment *segment);
    /* After a look. */
    enum wr_attention (*attend)(struct wr_buffers *buffers);
    /* After what may block. */
    void (*after_sink)(struct wr_buffers *buffers);
    /* The lane's thread has exited and the lane is read to its end. May another thread get it? */
    bool (*finish)(struct wr_lane *lane);
    /* The lane's losses so far. Returns its records so far if the mode `keeps`, otherwise 0. */
    uint64_t (*attempts)(struct wr_lane *lane, uint64_t lost[WR_LANE_CAUSES]);

    /* --- A drain that reads continuously. Only where the mode does not keep. ------------------ */

    /* Before anything that may block. */
    void (*before_sink)(struct wr_buffers *buffers);
    /* Does a thread wait for the next segment that becomes full? A hint for emitting threads. */
    bool (*is_needed)(const struct wr_buffers *buffers);
    /* Grants what is free to the lanes that wait. */
    void (*serve)(struct wr_buffers *buffers);
    /* Takes back unused grants; true if there were any. */
    bool (*take_back)(struct wr_buffers *buffers);
    /* Has a thread gone without a segment since the last timed look? */
    bool (*is_short)(struct wr_buffers *buffers);
    /* sweep: for each lane of a sweep. rest: for a lane whose segment is about to be revoked. */
    void (*sweep)(struct wr_lane *lane);
    void (*rest)(struct wr_lane *lane);
    /* A look has read `bytes` in `ns`. NULL if the mode has nothing to tune. */
    void (*tune)(struct wr_buffers *buffers, uint64_t bytes, uint64_t ns);

    /* --- The end, and figures. Each waits at most `limit_ns` for locks; false: nothing is done. */

    /* Ends the wait of all parked threads and counts their losses; from here on no thread parks.
     * The masks are clear. */
    bool (*send_away)(struct wr_buffers *buffers, uint64_t limit_ns);
    /* Waits until the last parked thread has left, or until the deadline (monotonic). */
    bool (*wait_away)(struct wr_buffers *buffers, uint64_t deadline_ns);
    /* Only where `parks`: waits until no thread is parked or in the host's after hook, or until the
     * deadline (monotonic). */
    bool (*wait_served)(struct wr_buffers *buffers, uint64_t deadline_ns);
    /* The lane's records that are kept or read, and those that were overwritten. The caller holds
     * the session's lock. */
    bool (*counts)(struct wr_lane *lane, uint64_t *records, uint64_t *overwritten,
                   uint64_t limit_ns);
    /* How much of the budget is in use, and the mode's own figures. */
    bool (*figures)(struct wr_buffers *buffers, struct weir_stats *stats, uint64_t limit_ns);
};

#define WR_MODE_EXTERN_(name, table, word) extern const struct wr_mode wr_mode_##table;
WR_MODES(WR_MODE_EXTERN_)

/* --- Operations that do nothing. ------------------------------------------------------------- */

void wr_mode_no_need(struct wr_buffers *buffers);
bool wr_mode_nobody_waits(struct wr_buffers *buffers, uint64_t ns);

#endif
