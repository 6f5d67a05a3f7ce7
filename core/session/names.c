#include "session/names.h"

#include <string.h>
#include "lane/name.h"
#include "nettrace/types.h"
#include "os/os.h"
#include "session/report.h"
#include "session/session.h"

#define ASK_NS UINT64_C(1000000000)
/* The most questions in one look; the next look goes on from there. Each opens a file, which takes
 * 10 us, and the drain reads no lane meanwhile. */
#define ASKS_MAX 64u

static const struct weir_field name_fields[] = {
    {"CaptureThread", WEIR_TYPE_u64}, {"ThreadId", WEIR_TYPE_u64}, {"Name", WEIR_TYPE_str}};
static const struct weir_schema name_schema = {.name = "ThreadName",
                                               .event_id = 4,
                                               .level = WEIR_LEVEL_INFO,
                                               .fields = name_fields,
                                               .field_count = 3};

/* FNV-1a. Two names that share it would be taken for one. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

static void name_write(struct weir_session *session, const struct wr_track *track, uint64_t *told,
                       const char *name)
{
    struct wr_drain *drain = &session->drain;
    unsigned char payload[8 + 8 + 2 * WR_THREAD_NAME_BYTES];
    uint64_t hash = hash_of(name);
    if (!*name || *told == hash)
        return;
    *told = hash;
    if (wr_report_is_first_use(drain, WR_THREAD_NAME_METADATA_ID)) {
        wr_nettrace_metadata(&drain->nettrace, WR_THREAD_NAME_METADATA_ID, "Weir", &name_schema,
                             false, drain->point_ticks);
        uint64_t none = 0;
        name_write(session, &drain->self, &none, "Weir");
    }
    memcpy(payload, &track->capture_id, 8);
    memcpy(payload + 8, &track->thread_id, 8);
    unsigned char *end = wr_report_put_string(payload + 16, name);
    wr_nettrace_block_begin(&drain->nettrace, drain->self.capture_id, drain->self.thread_id);
    wr_report_own_event(session, WR_THREAD_NAME_METADATA_ID, drain->point_ticks, payload,
                        (uint32_t)(end - payload));
}

/* Asks for the system's name of a thread that has not exited. A thread takes another turn at its
 * exit, before another one may get its id. */
static bool ask_system(const struct wr_lane *lane, uint32_t turn, union wr_name_text *text)
{
    return wr_name_origin_of(text) != WR_NAME_SYSTEM ||
           (wr_os_thread_name_of(lane->track.thread_id, text->bytes) &&
            wr_name_turn(&lane->thread->name) == turn);
}

static void lane_name(struct weir_session *session, struct wr_lane *lane, bool asks)
{
    const struct wr_name *name = &lane->thread->name;
    union wr_name_text text;
    uint32_t turn;
    if (!asks && wr_name_turn(name) == lane->name_turn)
        return;
    while (!wr_name_read(name, &turn, &text)) {
    }
    if (asks && !ask_system(lane, turn, &text))
        return; /* the next point has it */
    lane->name_turn = turn;
    text.bytes[WR_THREAD_NAME_BYTES - 1] = 0;
    name_write(session, &lane->track, &lane->name_told, text.bytes);
}

/* If the name is known, it is in the thread's row, and no event follows for it. */
WR_COLD void wr_names_introduce(struct weir_session *session, const struct wr_track *track,
                                struct wr_lane *lane)
{
    struct wr_nettrace *nettrace = &session->drain.nettrace;
    union wr_name_text text = {.bytes = "Weir"};
    uint32_t turn;
    if (!nettrace->is_v6)
        return;
    while (lane && !wr_name_read(&lane->thread->name, &turn, &text)) {
    }
    text.bytes[WR_THREAD_NAME_BYTES - 1] = 0;
    wr_nettrace_thread(nettrace, track->capture_id, wr_os_process_id(), track->thread_id,
                       text.bytes);
}

/* Does the drain ask for the name of this lane's thread now? `active`: how many came before. */
static bool is_asked(const struct wr_drain *drain, const struct wr_lane *lane,
                     enum wr_names_ask ask, uint32_t *active)
{
    if (ask != WR_NAMES_ASK_ACTIVE)
        return ask == WR_NAMES_ASK_ALL;
    if (lane->track.number == lane->track.listed)
        return false;
    uint32_t place = (*active)++;
    return place >= drain->names_passed && place - drain->names_passed < ASKS_MAX;
}

WR_COLD void wr_names_write(struct weir_session *session, enum wr_names_ask ask)
{
    struct wr_drain *drain = &session->drain;
    uint64_t attached;
    uint32_t active = 0;
    for (struct wr_lane *lane = wr_session_lanes(session, &attached); lane; lane = lane->next) {
        bool asks = is_asked(drain, lane, ask, &active);
        if (lane->track.listed)
            lane_name(session, lane, asks);
    }
    if (ask == WR_NAMES_ASK_ACTIVE) {
        drain->names_passed += ASKS_MAX;
        if (drain->names_passed >= active)
            drain->names_passed = 0;
    }
}

WR_COLD void wr_names_look(struct weir_session *session)
{
    struct wr_drain *drain = &session->drain;
    uint64_t now = wr_os_monotonic_ns();
    if (drain->names_passed == 0 && now - drain->names_ns < ASK_NS)
        return;
    drain->names_ns = now;
    wr_names_write(session, WR_NAMES_ASK_ACTIVE);
}
