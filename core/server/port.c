/* Where the server listens, and what it dials: names, and when. */
#include "server/server.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KEY_ENDS_IN '7' /* so that it is never the key of a .NET runtime in this process */

bool wr_port_default(struct wr_port *port)
{
    const char *directory = wr_os_environment("TMPDIR");
    if (!directory || !*directory)
        directory = "/tmp";
    bool has_slash = directory[strlen(directory) - 1] == '/';
    int length = snprintf(port->path, sizeof port->path, "%s%sdotnet-diagnostic-%u-%llu%c-socket",
                          directory, has_slash ? "" : "/", wr_os_process_id(),
                          (unsigned long long)wr_os_process_start_ticks(), KEY_ENDS_IN);
    return length > 0 && (size_t)length < sizeof port->path;
}

void wr_port_delay(struct wr_port *port, uint64_t now_ns)
{
    port->due_ns = now_ns + port->delay_ns;
    port->delay_ns = wr_min_u64(port->delay_ns + port->delay_ns / 4, WR_DIAL_NS_MAX);
}

/* --- Lists of ports. ------------------------------------------------------------------------- */

/* A piece of a text, without the blanks around it. */
struct piece {
    const char *start;
    size_t length;
};

/* Takes what precedes the next `mark`; false at the end. `*at` is NULL after the last piece. */
static bool piece_take(const char **at, const char *end, char mark, struct piece *piece)
{
    if (!*at)
        return false;
    const char *start = *at, *stop = memchr(start, mark, (size_t)(end - start));
    *at = stop ? stop + 1 : NULL;
    if (!stop)
        stop = end;
    while (start < stop && (*start == ' ' || *start == '\t'))
        start++;
    while (stop > start && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    *piece = (struct piece){start, (size_t)(stop - start)};
    return true;
}

static bool piece_is(const struct piece *piece, const char *word)
{
    return piece->length == strlen(word) && strncasecmp(piece->start, word, piece->length) == 0;
}

/* The first tag of a kind counts; unknown ones are for later versions. */
static void tags_take(struct wr_port *port, const char *at, const char *end)
{
    struct piece tag;
    bool has_kind = false, has_suspend = false;
    port->is_dialed = port->suspends = true;
    while (piece_take(&at, end, ',', &tag)) {
        bool listens = piece_is(&tag, "listen"), waits = piece_is(&tag, "suspend");
        if (!has_kind && (listens || piece_is(&tag, "connect"))) {
            port->is_dialed = !listens;
            has_kind = true;
        } else if (!has_suspend && (waits || piece_is(&tag, "nosuspend"))) {
            port->suspends = waits;
            has_suspend = true;
        }
    }
}

static enum weir_result port_take(struct wr_port *port, const char *what,
                                  const struct piece *described, struct weir_error *error)
{
    const char *at = described->start, *end = at + described->length;
    struct piece address;
    piece_take(&at, end, ',', &address);
    if (address.length == 0 || address.length >= sizeof port->path)
        return wr_fail(error, WEIR_BAD_ARGUMENT,
                       "%s: '%.*s': expected the path of a socket, of up to %zu bytes, then tags, "
                       "each after a comma",
                       what, (int)wr_min_u64(described->length, 100), described->start,
                       sizeof port->path - 1);
    *port = (struct wr_port){.fd = -1, .asked_by = what, .delay_ns = WR_DIAL_NS_MIN};
    memcpy(port->path, address.start, address.length);
    tags_take(port, at, end);
    return WEIR_OK;
}

enum weir_result wr_ports_parse(struct wr_port *ports, uint32_t *count, const char *what,
                                const char *text, struct weir_error *error)
{
    const char *at = text, *end = text + strlen(text);
    uint32_t most = *count > 0 && ports[0].is_default ? WR_PORTS_MAX : WR_PORTS_MAX - 1;
    struct piece described;
    while (piece_take(&at, end, ';', &described)) {
        if (described.length == 0)
            continue;
        if (*count == most)
            return wr_fail(error, WEIR_BAD_ARGUMENT, "%s: expected no more than %u ports", what,
                           WR_PORTS_MAX - 1);
        enum weir_result result = port_take(&ports[*count], what, &described, error);
        if (result != WEIR_OK)
            return result;
        ++*count;
    }
    return WEIR_OK;
}
