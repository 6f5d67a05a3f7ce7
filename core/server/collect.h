/* The payload of a request for a session: CollectTracing, in six versions. */
#ifndef WR_SERVER_COLLECT_H
#define WR_SERVER_COLLECT_H

#include <weir/session.h>
#include "server/message.h"

/* In pages, with all texts and ids. */
struct wr_collect {
    uint64_t pages_bytes;
    uint64_t budget_bytes;
    uint64_t rundown_keywords;
    bool is_block;
    bool no_stacks;
    uint32_t enable_count;
    struct weir_enable enables[];
};

bool wr_collect_is(uint32_t request);

/* WR_REPLY_OK, and `*collect`, which the caller frees; or what is wrong. */
uint32_t wr_collect_read(uint32_t request, const unsigned char *payload, uint32_t bytes,
                         struct wr_collect **collect);
void wr_collect_free(struct wr_collect *collect);

#endif
