/*
 * What a session does at the brim. Each mode is a table of operations: mode_drop.c, mode_block.c,
 * mode_overwrite.c. The session's table is `wr_buffers.mode`; no other file asks for the mode.
 *
 * An event that finds room in its lane's segment makes no call through the table. A lane does when
 * it changes segments, and the drain once for a segment, a lane of a sweep, or a look.
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

/* What a lane gets that asks for room; of an event on its way, what becomes of it. */
enum wr_room {
    WR_ROOM,      /* the segments; the event is written */
    WR_ROOM_LOST, /* none, and the loss is counted */
    WR_ROOM_WAIT, /* none yet, and nothing is counted: the thread leaves its pin and waits */
};

/* How the drain goes on after a look, for the threads that wait. */
enum wr_attention {
    WR_ATTENTION_NONE,  /* nobody waits, or whoever does rings */
    WR_ATTENTION_AGAIN, /* look again at once */
    WR_ATTENTION_SOON,  /* those that may take what is free are on their way: look again soon */
    WR_ATTENTION_STUCK, /* somebody waits and nothing is free: sweep */
};

struct wr_mode {
    bool parks; /* an emitting thread may wait: the other sessions get an event first */
    bool keeps; /* the drain reads only for a snapshot and the last stream: session/recorder.c */

    void (*init)(struct wr_buffers *buffers, const struct weir_session_config *config);
    void (*fini)(struct wr_buffers *buffers);

    /* --- The emitting thread, inside its pin; signals are blocked if the session says so. ----- */

    /* Leaves the current segment, which has no room, for another one. ROOM: `segment` and `commit`
     * receive where to write. */
    enum wr_room (*room)(struct wr_lane *lane, struct wr_segment **segment, uint64_t *commit);
    /* As wr_buffers_span_room() and wr_buffers_span_open(), for `count` segments, at most half of
     * the session's. */
    enum wr_room (*span_room)(struct wr_lane *lane, uint32_t count, struct wr_segment **first);
    bool (*span_open)(struct wr_lane *lane, const struct wr_span *span);
    /* DROP, BLOCK, for wr_chain_room(): `count` segments, all or none, linked by `newer`. */
    enum wr_room (*take)(struct wr_lane *lane, uint32_t count, struct wr_segment **first);
    /* Leaves the current segment, if there is one. */
    void (*retire)(struct wr_lane *lane);
    /* Would the lane get another segment at this moment? A hint. */
    bool (*has_room)(struct wr_lane *lane);
    /* As wr_buffers_reset(). */
    bool (*reset)(struct wr_lane *lane);
    /* The thread exits: its segment, and what it holds unused, go back. */
    void (*exit)(struct wr_lane *lane);

    /* --- The wait of an attempt that got WAIT. Only where `parks`. ---------------------------- */

    /* Outside the pin: sleeps until there is room or the attempt is lost. */
    enum wr_waited (*wait)(struct wr_lane *lane);
    /* Again inside a pin. Ends the wait: the lane has its grant, if the session still wants the
     * event, or the loss is counted. True if the attempt goes on. Only the pin, and in it the mask,
     * keep the lane after this. */
    bool (*resume)(struct wr_lane *lane, enum wr_waited waited, bool is_wanted);
    /* Between the host's hooks, instead of both: nothing keeps the session when it returns. Other
     * than GRANTED, the loss is counted. */
    enum wr_waited (*wait_outside)(struct wr_lane *lane);
    /* After the hook, GRANTED, inside a pin in which the thread has found its lane where it was: as
     * resume(). What was granted may have been taken back; then the attempt asks again. */
    bool (*step_in)(struct wr_lane *lane, bool is_wanted);

    /* --- The drain. --------------------------------------------------------------------------- */

    /* A segment that is read. It may be kept for a moment, until attend() or before_sink(). */
    void (*give)(struct wr_buffers *buffers, struct wr_segment *segment);
    /* After a look. */
    enum wr_attention (*attend)(struct wr_buffers *buffers);
    /* After what may block. */
    void (*after_sink)(struct wr_buffers *buffers);
    /* The thread of the lane has exited, and all of the lane is read: may it go to another one? */
    bool (*finish)(struct wr_lane *lane);
    /* The lane's losses so far. Returns its records so far where the mode keeps, otherwise 0. */
    uint64_t (*attempts)(struct wr_lane *lane, uint64_t lost[WR_LANE_CAUSES]);

    /* --- The drain that reads as events come. Only where the mode does not keep. -------------- */

    /* Before anything that may block. */
    void (*before_sink)(struct wr_buffers *buffers);
    /* Does a thread wait for a segment? A hint. Also for the emitting thread. */
    bool (*has_waiting)(const struct wr_buffers *buffers);
    /* Grants what is free to the lanes that wait. */
    void (*serve)(struct wr_buffers *buffers);
    /* Takes back grants that are not used; true if there were any. */
    bool (*take_back)(struct wr_buffers *buffers);
    /* Has a thread gone without a segment since the last timed look? */
    bool (*is_short)(struct wr_buffers *buffers);
    /* One lane of a sweep; then one whose segment is about to be revoked. */
    void (*sweep)(struct wr_lane *lane);
    void (*rest)(struct wr_lane *lane);
    /* A look has read so many bytes in so many nanoseconds. NULL: the mode does not ask. */
    void (*tune)(struct wr_buffers *buffers, uint64_t bytes, uint64_t ns);

    /* --- The end, and figures. Each waits at most `limit_ns` for locks; false: nothing is done. */

    /* Sends all parked threads away, and those that would park from here on. Their loss is counted
     * here. The masks are clear. */
    bool (*send_away)(struct wr_buffers *buffers, uint64_t limit_ns);
    /* Waits until the last of them has left, or the deadline (monotonic) has passed. */
    bool (*wait_away)(struct wr_buffers *buffers, uint64_t deadline_ns);
    /* Records of the lane that are kept or read, and those that are overwritten. The session's lock
     * is held. */
    bool (*counts)(struct wr_lane *lane, uint64_t *records, uint64_t *overwritten,
                   uint64_t limit_ns);
    /* How much of the budget is in use, and what the mode counts besides. */
    bool (*figures)(struct wr_buffers *buffers, struct weir_stats *stats, uint64_t limit_ns);
};

#define WR_MODE_EXTERN_(name, table, word) extern const struct wr_mode wr_mode_##table;
WR_MODES(WR_MODE_EXTERN_)

/* --- For the tables: nothing to do. ---------------------------------------------------------- */

void wr_mode_no_need(struct wr_buffers *buffers);
bool wr_mode_nobody_waits(struct wr_buffers *buffers, uint64_t ns);

#endif
