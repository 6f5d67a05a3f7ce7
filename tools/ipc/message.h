/* The bytes of the Diagnostics IPC protocol: requests, replies, and what a process says when it
 * connects by itself. All integers are little-endian. Nothing here does input or output. */
#ifndef WT_IPC_MESSAGE_H
#define WT_IPC_MESSAGE_H

#include "error.h"

#include <stddef.h>

#define WT_IPC_HEADER_SIZE    20u
#define WT_IPC_MESSAGE_MAX    65535u
#define WT_IPC_ADVERTISE_SIZE 34u
#define WT_IPC_PROVIDERS_MAX  1000u

/* The rundown that a tool asks for with a plain "yes". */
#define WT_IPC_RUNDOWN_DEFAULT 0x80020139u

/* Errors that servers answer with. */
enum wt_ipc_code {
    WT_IPC_CODE_FAIL = 0x80004005u,
    WT_IPC_CODE_INVALID_ARGUMENT = 0x80070057u,
    WT_IPC_CODE_BAD_ENCODING = 0x80131384u,
    WT_IPC_CODE_UNKNOWN_COMMAND = 0x80131385u,
    WT_IPC_CODE_UNKNOWN_MAGIC = 0x80131386u,
    WT_IPC_CODE_UNKNOWN_ERROR = 0x80131387u,
    WT_IPC_CODE_NOT_YET_AVAILABLE = 0x8013135bu,
    WT_IPC_CODE_NOT_SUPPORTED = 0x80131515u,
};

struct wt_ipc_provider {
    const char *name; /* UTF-8, not empty */
    uint64_t keywords;
    uint32_t level;
    const char *arguments; /* UTF-8; "" for none */
};

/* What to collect. */
struct wt_ipc_collect {
    const struct wt_ipc_provider *providers; /* 1 to WT_IPC_PROVIDERS_MAX */
    size_t provider_count;
    uint32_t budget_mb; /* not 0 */
    uint64_t rundown;   /* keywords; 0: no rundown */
    bool block;         /* threads wait for room instead of dropping events */
};

struct wt_ipc_request {
    uint8_t bytes[WT_IPC_MESSAGE_MAX];
    size_t size;
};

/* The name of the oldest command that can express it, which is the one that is sent:
 * "CollectTracing2", "CollectTracing4" or "CollectTracing6". */
const char *wt_ipc_collect_name(const struct wt_ipc_collect *collect);

/* WT_IPC_ARGUMENT: a text is not UTF-8, or all of it does not fit in one message. */
bool wt_ipc_encode_collect(struct wt_ipc_request *request, const struct wt_ipc_collect *collect,
                           struct wt_ipc_error *error);
void wt_ipc_encode_stop(struct wt_ipc_request *request, uint64_t session_id);
void wt_ipc_encode_resume(struct wt_ipc_request *request);

/* The size of the whole reply, from its header. WT_IPC_PROTOCOL. */
bool wt_ipc_reply_size(const uint8_t header[WT_IPC_HEADER_SIZE], size_t *size,
                       struct wt_ipc_error *error);

/* Whether a whole reply, whose header wt_ipc_reply_size() has accepted, is an OK. WT_IPC_REFUSED
 * with the code, WT_IPC_PROTOCOL. */
bool wt_ipc_reply_is_ok(const uint8_t *reply, size_t size, struct wt_ipc_error *error);

/* The session's id in an OK to a Collect command. WT_IPC_PROTOCOL. */
bool wt_ipc_reply_session(const uint8_t *reply, size_t size, uint64_t *session_id,
                          struct wt_ipc_error *error);

/* The process that says so when it connects; false if the bytes say something else. */
bool wt_ipc_advertise_pid(const uint8_t advertise[WT_IPC_ADVERTISE_SIZE], uint64_t *pid);

#endif
