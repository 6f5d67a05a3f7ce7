#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of the header: magic, size, set, id, reserved. */
#define MAGIC_SIZE 14u
#define SIZE_AT    14u
#define SET_AT     16u
#define ID_AT      17u

#define SET_EVENT_PIPE 0x02u
#define SET_PROCESS    0x04u
#define SET_SERVER     0xffu
#define ID_STOP        0x01u
#define ID_COLLECT_2   0x03u
#define ID_COLLECT_4   0x05u
#define ID_COLLECT_6   0x07u
#define ID_RESUME      0x01u
#define ID_OK          0x00u
#define ID_ERROR       0xffu

#define FORMAT_NETTRACE 1u
#define SESSION_STREAM  0u
#define MODE_BLOCK      1u

static const char magic[MAGIC_SIZE] = "DOTNET_IPC_V1";

bool wt_ipc_fail(struct wt_ipc_error *error, enum wt_ipc_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error->result = result;
    error->code = 0;
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    return false;
}

/* --- Requests. ------------------------------------------------------------------------------ */

/* A request under construction. `fits` turns false once, and then nothing more is written. */
struct writer {
    struct wt_ipc_request *request;
    bool fits;
};

static void put(struct writer *writer, uint64_t value, size_t size)
{
    struct wt_ipc_request *request = writer->request;
    if (!writer->fits || sizeof(request->bytes) - request->size < size) {
        writer->fits = false;
        return;
    }
    for (size_t i = 0; i < size; i++)
        request->bytes[request->size++] = (uint8_t)(value >> (8 * i));
}

static struct writer begin(struct wt_ipc_request *request, uint8_t set, uint8_t id)
{
    struct writer writer = {request, true};
    memcpy(request->bytes, magic, MAGIC_SIZE);
    request->size = MAGIC_SIZE;
    put(&writer, 0, 2); /* the size, which end() knows */
    put(&writer, set, 1);
    put(&writer, id, 1);
    put(&writer, 0, 2);
    return writer;
}

static void end(struct wt_ipc_request *request)
{
    request->bytes[SIZE_AT] = (uint8_t)request->size;
    request->bytes[SIZE_AT + 1] = (uint8_t)(request->size >> 8);
}

/* One character of UTF-8; advances. False if the bytes are not UTF-8. */
static bool next_character(const uint8_t **text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const uint8_t *at = *text;
    size_t more = at[0] < 0x80 ? 0 : at[0] < 0xc0 ? 9 : at[0] < 0xe0 ? 1 : at[0] < 0xf0 ? 2 : 3;
    if (more == 9 || at[0] >= 0xf8)
        return false;
    uint32_t value = more == 0 ? at[0] : at[0] & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((at[i] & 0xc0u) != 0x80)
            return false;
        value = value << 6 | (at[i] & 0x3fu);
    }
    *text = at + more + 1;
    *character = value;
    return value >= least[more] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
}

/* The number of UTF-16 units including the zero, then the units. */
static bool put_string(struct writer *writer, const char *utf8)
{
    const uint8_t *text = (const uint8_t *)utf8;
    size_t count_at = writer->request->size;
    uint32_t units = 1, character;
    put(writer, 0, 4);
    for (; *text; units++) {
        if (!next_character(&text, &character))
            return false;
        if (character > 0xffff) {
            put(writer, 0xd800 + ((character - 0x10000) >> 10), 2);
            character = 0xdc00 + ((character - 0x10000) & 0x3ff);
            units++;
        }
        put(writer, character, 2);
    }
    put(writer, 0, 2);
    if (writer->fits)
        for (size_t i = 0; i < 4; i++)
            writer->request->bytes[count_at + i] = (uint8_t)(units >> (8 * i));
    return true;
}

static bool put_providers(struct writer *writer, const struct wt_ipc_collect *collect, bool filters,
                          struct wt_ipc_error *error)
{
    put(writer, collect->provider_count, 4);
    for (size_t i = 0; i < collect->provider_count; i++) {
        const struct wt_ipc_provider *provider = &collect->providers[i];
        put(writer, provider->keywords, 8);
        put(writer, provider->level, 4);
        if (!put_string(writer, provider->name) || !put_string(writer, provider->arguments))
            return wt_ipc_fail(error, WT_IPC_ARGUMENT, "provider %zu of the list is not UTF-8",
                               i + 1);
        if (filters) { /* event ids: all but none */
            put(writer, 0, 1);
            put(writer, 0, 4);
        }
    }
    return true;
}

static uint8_t collect_id(const struct wt_ipc_collect *collect)
{
    if (collect->block)
        return ID_COLLECT_6;
    bool is_flag = collect->rundown == 0 || collect->rundown == WT_IPC_RUNDOWN_DEFAULT;
    return is_flag ? ID_COLLECT_2 : ID_COLLECT_4;
}

const char *wt_ipc_collect_name(const struct wt_ipc_collect *collect)
{
    switch (collect_id(collect)) {
    case ID_COLLECT_2:
        return "CollectTracing2";
    case ID_COLLECT_4:
        return "CollectTracing4";
    default:
        return "CollectTracing6";
    }
}

bool wt_ipc_encode_collect(struct wt_ipc_request *request, const struct wt_ipc_collect *collect,
                           struct wt_ipc_error *error)
{
    const uint8_t id = collect_id(collect);
    struct writer writer = begin(request, SET_EVENT_PIPE, id);
    if (id == ID_COLLECT_6)
        put(&writer, SESSION_STREAM, 4);
    put(&writer, collect->budget_mb, 4);
    put(&writer, FORMAT_NETTRACE, 4);
    if (id == ID_COLLECT_2) {
        put(&writer, collect->rundown != 0, 1);
    } else {
        put(&writer, collect->rundown, 8);
        put(&writer, 1, 1); /* with stacks */
    }
    if (!put_providers(&writer, collect, id == ID_COLLECT_6, error))
        return false;
    if (id == ID_COLLECT_6)
        put(&writer, MODE_BLOCK, 4);
    if (!writer.fits)
        return wt_ipc_fail(error, WT_IPC_ARGUMENT,
                           "the list of providers is too long: a request has up to %u bytes",
                           WT_IPC_MESSAGE_MAX);
    end(request);
    return true;
}

void wt_ipc_encode_stop(struct wt_ipc_request *request, uint64_t session_id)
{
    struct writer writer = begin(request, SET_EVENT_PIPE, ID_STOP);
    put(&writer, session_id, 8);
    end(request);
}

void wt_ipc_encode_resume(struct wt_ipc_request *request)
{
    begin(request, SET_PROCESS, ID_RESUME);
    end(request);
}

/* --- Replies. ------------------------------------------------------------------------------- */

static uint64_t get(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

bool wt_ipc_reply_size(const uint8_t header[WT_IPC_HEADER_SIZE], size_t *size,
                       struct wt_ipc_error *error)
{
    *size = (size_t)get(header + SIZE_AT, 2);
    if (memcmp(header, magic, MAGIC_SIZE) != 0)
        return wt_ipc_fail(error, WT_IPC_PROTOCOL,
                           "the reply is not of the Diagnostics IPC protocol: wrong magic");
    if (*size < WT_IPC_HEADER_SIZE)
        return wt_ipc_fail(error, WT_IPC_PROTOCOL, "the reply claims a size of %zu bytes", *size);
    if (header[SET_AT] != SET_SERVER || (header[ID_AT] != ID_OK && header[ID_AT] != ID_ERROR))
        return wt_ipc_fail(error, WT_IPC_PROTOCOL, "the reply is neither OK nor Error: %02x.%02x",
                           header[SET_AT], header[ID_AT]);
    return true;
}

static const char *code_name(uint32_t code)
{
    switch (code) {
    case WT_IPC_CODE_FAIL:
        return "Fail";
    case WT_IPC_CODE_INVALID_ARGUMENT:
        return "InvalidArgument";
    case WT_IPC_CODE_BAD_ENCODING:
        return "BadEncoding";
    case WT_IPC_CODE_UNKNOWN_COMMAND:
        return "UnknownCommand";
    case WT_IPC_CODE_UNKNOWN_MAGIC:
        return "UnknownMagic";
    case WT_IPC_CODE_UNKNOWN_ERROR:
        return "UnknownError";
    case WT_IPC_CODE_NOT_YET_AVAILABLE:
        return "NotYetAvailable";
    case WT_IPC_CODE_NOT_SUPPORTED:
        return "NotSupported";
    default:
        return "unknown";
    }
}

bool wt_ipc_reply_is_ok(const uint8_t *reply, size_t size, struct wt_ipc_error *error)
{
    if (reply[ID_AT] == ID_OK)
        return true;
    if (size < WT_IPC_HEADER_SIZE + 4)
        return wt_ipc_fail(error, WT_IPC_PROTOCOL, "the reply is an error without its code");
    uint32_t code = (uint32_t)get(reply + WT_IPC_HEADER_SIZE, 4);
    wt_ipc_fail(error, WT_IPC_REFUSED, "error 0x%08x (%s)", (unsigned)code, code_name(code));
    error->code = code;
    return false;
}

bool wt_ipc_reply_session(const uint8_t *reply, size_t size, uint64_t *session_id,
                          struct wt_ipc_error *error)
{
    if (size < WT_IPC_HEADER_SIZE + 8)
        return wt_ipc_fail(error, WT_IPC_PROTOCOL, "the reply has no session id: %zu bytes", size);
    *session_id = get(reply + WT_IPC_HEADER_SIZE, 8);
    return true;
}

bool wt_ipc_advertise_pid(const uint8_t advertise[WT_IPC_ADVERTISE_SIZE], uint64_t *pid)
{
    *pid = get(advertise + 24, 8);
    return memcmp(advertise, "ADVR_V1", 8) == 0;
}
