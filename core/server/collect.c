#include "server/collect.h"

#include "event/event.h"
#include "os/os.h"
#include "session/text.h"

#define FORMAT_NETPERF      0u
#define FORMAT_NETTRACE     1u
#define SESSION_USER_EVENTS 1u

bool wr_collect_is(uint32_t request)
{
    return request >= WR_REQUEST_COLLECT_TRACING && request <= WR_REQUEST_COLLECT_TRACING_6;
}

/* What precedes the providers. Each version has what the one before has, and more. */
struct head {
    uint32_t request;
    uint32_t session_type;
    uint32_t budget_mb;
    uint32_t format;
    bool no_stacks;
    uint64_t rundown_keywords;
    uint32_t provider_count;
};

static void head_read(struct head *head, struct wr_payload_reader *reader)
{
    if (head->request >= WR_REQUEST_COLLECT_TRACING_5)
        head->session_type = wr_read_u32(reader);
    if (head->session_type == SESSION_USER_EVENTS)
        return;
    head->budget_mb = wr_read_u32(reader);
    head->format = wr_read_u32(reader);
    head->rundown_keywords = WEIR_RUNDOWN_KEYWORDS;
    if (head->request >= WR_REQUEST_COLLECT_TRACING_4)
        head->rundown_keywords = wr_read_u64(reader);
    else if (head->request >= WR_REQUEST_COLLECT_TRACING_2 && wr_read_u8(reader) == 0)
        head->rundown_keywords = 0;
    if (head->request >= WR_REQUEST_COLLECT_TRACING_3)
        head->no_stacks = wr_read_u8(reader) == 0;
    head->provider_count = wr_read_u32(reader);
}

/* Sessions that write to the kernel's user_events, and the format before nettrace, exist; they are
 * not possible here. */
static uint32_t head_check(const struct head *head, const struct wr_payload_reader *reader)
{
    if (reader->is_bad || head->session_type > SESSION_USER_EVENTS)
        return WR_REPLY_BAD_ENCODING;
    if (head->session_type == SESSION_USER_EVENTS)
        return WR_REPLY_FAIL;
    if (head->budget_mb == 0 || head->format > FORMAT_NETTRACE || head->provider_count == 0 ||
        head->provider_count > WR_ENABLES_MAX)
        return WR_REPLY_BAD_ENCODING;
    return head->format == FORMAT_NETPERF ? WR_REPLY_FAIL : WR_REPLY_OK;
}

/* Ids that no event can have are left out. */
static void filter_read(struct weir_enable *enable, uint16_t **ids,
                        struct wr_payload_reader *reader)
{
    bool is_allowed = wr_read_u8(reader) != 0;
    uint32_t count = wr_read_u32(reader);
    reader->is_bad |= count > (size_t)(reader->end - reader->at) / 4;
    enable->event_ids = *ids;
    enable->event_ids_allowed = is_allowed;
    for (uint32_t i = 0; i < count && !reader->is_bad; i++) {
        uint32_t id = wr_read_u32(reader);
        if (id <= UINT16_MAX)
            (*ids)[enable->event_id_count++] = (uint16_t)id;
    }
    *ids += enable->event_id_count;
}

static bool enable_read(struct weir_enable *enable, char **texts, struct wr_payload_reader *reader)
{
    *enable = (struct weir_enable)WEIR_ENABLE_INIT;
    enable->keywords = wr_read_u64(reader);
    uint32_t level = wr_read_u32(reader);
    enable->level = (uint8_t)level;
    enable->provider = wr_read_text(reader, texts);
    char *arguments = wr_read_text(reader, texts);
    enable->arguments = *arguments ? arguments : NULL;
    return !reader->is_bad && level <= WEIR_LEVEL_VERBOSE && wr_name_is_valid(enable->provider) &&
           *texts - arguments <= (ptrdiff_t)WR_ARGUMENTS_BYTES_MAX + 1;
}

static uint32_t providers_read(struct wr_collect *collect, const struct head *head,
                               struct wr_payload_reader *reader)
{
    size_t bytes = (size_t)(reader->end - reader->at);
    uint16_t *ids = (uint16_t *)&collect->enables[head->provider_count];
    char *texts = (char *)(ids + bytes / 4);
    while (collect->enable_count < head->provider_count) {
        struct weir_enable *enable = &collect->enables[collect->enable_count++];
        if (!enable_read(enable, &texts, reader))
            return WR_REPLY_BAD_ENCODING;
        if (head->request >= WR_REQUEST_COLLECT_TRACING_5)
            filter_read(enable, &ids, reader);
    }
    uint32_t mode = head->request >= WR_REQUEST_COLLECT_TRACING_6 ? wr_read_u32(reader) : 0;
    collect->is_block = mode == 1;
    return reader->is_bad || mode > 1 ? WR_REPLY_BAD_ENCODING : WR_REPLY_OK;
}

/* Room for what the rest of a payload can hold: an id takes 4 bytes there, a unit of a text 2, and
 * each text has an end, also one without units. */
static struct wr_collect *collect_allocate(const struct head *head, size_t rest)
{
    uint64_t bytes = sizeof(struct wr_collect) + rest / 4 * 2 + rest / 2 * 3 +
                     head->provider_count * (sizeof(struct weir_enable) + 2);
    struct wr_collect *collect = wr_os_pages_map(bytes);
    if (!collect)
        return NULL;
    collect->pages_bytes = bytes;
    collect->budget_bytes = (uint64_t)head->budget_mb << 20;
    collect->rundown_keywords = head->rundown_keywords;
    collect->no_stacks = head->no_stacks;
    return collect;
}

uint32_t wr_collect_read(uint32_t request, const unsigned char *payload, uint32_t bytes,
                         struct wr_collect **out)
{
    struct wr_payload_reader reader = wr_payload_begin(payload, bytes);
    struct head head = {.request = request};
    head_read(&head, &reader);
    uint32_t code = head_check(&head, &reader);
    if (code != WR_REPLY_OK)
        return code;
    struct wr_collect *collect = collect_allocate(&head, (size_t)(reader.end - reader.at));
    if (!collect)
        return WR_REPLY_FAIL;
    code = providers_read(collect, &head, &reader);
    if (code == WR_REPLY_OK)
        *out = collect;
    else
        wr_collect_free(collect);
    return code;
}

void wr_collect_free(struct wr_collect *collect)
{
    if (collect)
        wr_os_pages_unmap(collect, collect->pages_bytes);
}
