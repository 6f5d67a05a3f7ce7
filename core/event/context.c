/* The contexts of threads, and activities. */
#include <string.h>
#include "event/event.h"
#include "event/registry.h"
#include "event/with.h"
#include "os/os.h"

/* --- Chains. --------------------------------------------------------------------------------- */

WR_COLD struct wr_thread *wr_context_attach(void)
{
    if (wr_self.thread)
        return wr_self.thread;
    wr_init();
    wr_self_enter();
    wr_self.patience_ns = WR_PATIENCE_NS;
    wr_os_module_keep(); /* the thread's exit calls into it */
    struct wr_thread *thread = wr_thread_attach();
    wr_self_leave();
    return thread;
}

/* While a thread has a context, its events take the slow path. */
static void chain_set(struct wr_thread *thread, struct weir_context *newest)
{
    wr_self_enter();
    thread->context = newest;
    wr_self_leave();
}

WR_COLD WEIR_API void weir_context_push(struct weir_context *context)
{
    struct wr_thread *thread = wr_context_attach();
    if (!thread)
        return;
    context->next = thread->context;
    chain_set(thread, context);
}

WR_COLD WEIR_API void weir_context_pop(void)
{
    struct wr_thread *thread = wr_self.thread;
    if (thread && thread->context)
        chain_set(thread, thread->context->next);
}

WR_COLD WEIR_API struct weir_context *weir_context_swap(struct weir_context *newest)
{
    struct wr_thread *thread = newest ? wr_context_attach() : wr_self.thread;
    if (!thread)
        return NULL;
    struct weir_context *before = thread->context;
    chain_set(thread, newest);
    return before;
}

/* --- Activities. ----------------------------------------------------------------------------- */

/*
 * An activity's id is a path of numbers, as .NET's ActivityTracker makes them, so that .NET's viewers
 * show the tree. The first 12 bytes are a string of nibbles, the high one of each byte first:
 *
 *     0        end
 *     1..0xA   that number
 *     0xB      the number that follows is unique below the activity in front of it: an overflow
 *     0xC..0xF a number of 1 to 4 bytes, little-endian, from the next byte on; if the code is a high
 *              nibble, the low one holds the top bits of a number up to 0xFFF, and one byte follows
 *
 * The last 4 bytes are a checksum: the sum of the first three words and a constant, XOR the process's
 * id. Up to .NET 9 a number from 256 to 0xFFF has a zero byte more, which stops readers.
 */
enum { PATH_BYTES = 12, NUMBER_MAX = 0xA, OVERFLOWS = 0xB, BYTES_1 = 0xC };
#define PATH_CHECKSUM 0x599D99ADu

/* Where the next nibble of a path goes; of a byte the high one if the byte is 0. */
struct path {
    unsigned char *at, *end;
};

static void nibble_put(struct path *path, uint32_t nibble)
{
    if (path->at < path->end && *path->at == 0)
        *path->at = (unsigned char)(nibble << 4);
    else if (path->at < path->end)
        *path->at++ |= (unsigned char)nibble;
    else
        path->at = path->end + 1; /* no room */
}

static void byte_put(struct path *path, uint32_t byte)
{
    if (path->at < path->end)
        *path->at++ = (unsigned char)byte;
    else
        path->at = path->end + 1;
}

static void number_put(struct path *path, uint32_t number, bool overflows)
{
    if (number <= NUMBER_MAX && !overflows) {
        nibble_put(path, number);
        return;
    }
    if (overflows)
        nibble_put(path, OVERFLOWS);
    uint32_t bytes = number <= 0xFF ? 1 : number <= 0xFFFF ? 2 : number <= 0xFFFFFF ? 3 : 4;
    bool is_high = path->at < path->end && *path->at == 0;
    if (is_high && number <= 0xFFF) {
        byte_put(path, BYTES_1 << 4 | number >> 8);
        byte_put(path, number & 0xFF);
        return;
    }
    nibble_put(path, BYTES_1 + bytes - 1);
    if (is_high && path->at < path->end)
        path->at++; /* the low nibble stays 0 */
    for (uint32_t i = 0; i < bytes; i++)
        byte_put(path, number >> (8 * i) & 0xFF);
}

/* Appends a number to the path that is in the id, of `bytes` bytes, the last of which may be half
 * full. Returns the path's bytes; more than PATH_BYTES: there was no room. */
static uint32_t path_append(struct weir_guid *id, uint32_t bytes, uint32_t number, bool overflows)
{
    struct path path = {id->bytes + bytes, id->bytes + PATH_BYTES};
    number_put(&path, number, overflows);
    uint32_t words[3], sum = PATH_CHECKSUM;
    memcpy(words, id->bytes, sizeof words);
    for (unsigned i = 0; i < 3; i++)
        sum += words[i];
    sum ^= wr_os_process_id();
    memcpy(id->bytes + PATH_BYTES, &sum, sizeof sum);
    return (uint32_t)(path.at - id->bytes);
}

static uint32_t child_number(struct weir_activity *parent)
{
    static struct wr_u64 roots;
    if (parent)
        return ++parent->children;
    return (uint32_t)wr_u64_add_relaxed(&roots, 1) + 1; /* relaxed: they must only differ */
}

/* The id of a child; if its path is too long, that of a descendant of an ancestor with room. */
static void id_make(struct weir_activity *activity, struct weir_activity *parent)
{
    bool overflows = false;
    for (; parent; parent = parent->parent, overflows = true) {
        activity->guid = parent->guid;
        activity->path_bytes =
            path_append(&activity->guid, parent->path_bytes, child_number(parent), overflows);
        if (activity->path_bytes <= PATH_BYTES)
            return;
    }
    memset(&activity->guid, 0, sizeof activity->guid);
    uint32_t domain = path_append(&activity->guid, 0, 1, false);
    activity->path_bytes = path_append(&activity->guid, domain, child_number(NULL), overflows);
}

WR_COLD WEIR_API void weir_activity_start(struct weir_activity *activity)
{
    struct wr_thread *thread = wr_context_attach();
    struct weir_context *newest = thread ? thread->context : NULL;
    while (newest && !newest->activity)
        newest = newest->next;
    struct weir_activity *parent = newest ? newest->activity : NULL;
    activity->children = 0;
    activity->parent = parent;
    id_make(activity, parent);
    activity->context.activity_id = &activity->guid;
    activity->context.related_activity_id = parent ? &parent->guid : NULL;
    activity->context.activity = activity;
    weir_context_push(&activity->context);
}

WR_COLD WEIR_API void weir_activity_stop(struct weir_activity *activity)
{
    struct wr_thread *thread = wr_self.thread;
    struct weir_context *found = thread ? thread->context : NULL;
    while (found && found != &activity->context)
        found = found->next;
    if (found)
        chain_set(thread, found->next);
}
