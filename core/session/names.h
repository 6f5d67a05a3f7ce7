/*
 * The names of threads, which a stream has as Weir/ThreadName events of the drain's own capture
 * thread.
 */
#ifndef WR_SESSION_NAMES_H
#define WR_SESSION_NAMES_H

struct weir_session;
struct wr_lane;
struct wr_track;

/* Which threads the system is asked about: it knows when another thread has renamed one. A question
 * takes microseconds. */
enum wr_names_ask {
    WR_NAMES_ASK_NONE,
    WR_NAMES_ASK_ACTIVE, /* those with news since the last point */
    WR_NAMES_ASK_ALL
};

/* Writes the names that the stream does not have yet, of threads that a point has introduced, with
 * the time of the last point. */
void wr_names_write(struct weir_session *session, enum wr_names_ask ask);
/* For timed looks: asks about the active threads, each at most once a second. */
void wr_names_look(struct weir_session *session);

/* V6: the row of a thread that the next point names for the first time; `lane`: NULL for the drain's
 * own. */
void wr_names_introduce(struct weir_session *session, const struct wr_track *track,
                        struct wr_lane *lane);

#endif
