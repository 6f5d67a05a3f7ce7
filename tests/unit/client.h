/* A tool, for the tests of the server: sends requests and reads replies through a plain socket.
 * Shares no code with the server. What it does is over within 10 s, or has failed. */
#ifndef TESTS_UNIT_CLIENT_H
#define TESTS_UNIT_CLIENT_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENT_MS_MAX 10000

enum client_command {
    CLIENT_STOP = 0x0201,
    CLIENT_COLLECT_2 = 0x0203,
    CLIENT_COLLECT_6 = 0x0207,
    CLIENT_INFO_2 = 0x0404,
    CLIENT_RESUME = 0x0401,
    CLIENT_ENVIRONMENT = 0x0402
};

#define CLIENT_OK              0x00000000u
#define CLIENT_BAD_ENCODING    0x80131384u
#define CLIENT_UNKNOWN_COMMAND 0x80131385u
#define CLIENT_UNKNOWN_MAGIC   0x80131386u
#define CLIENT_FAIL            0x80004005u
#define CLIENT_NO_REPLY        0xffffffffu /* the connection has ended */

/* -1: nobody listens there. */
static inline int client_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Returns how much was read: less than `bytes` at the end of the connection. */
static inline size_t client_read(int fd, void *to, size_t bytes)
{
    size_t used = 0;
    while (used < bytes) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        if (poll(&item, 1, CLIENT_MS_MAX) <= 0)
            break;
        ssize_t got = read(fd, (char *)to + used, bytes - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    return used;
}

static inline bool client_write(int fd, const void *bytes, size_t count)
{
    return send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

static inline bool client_send(int fd, enum client_command command, const void *payload,
                               size_t bytes)
{
    unsigned char message[4096] = "DOTNET_IPC_V1";
    if (bytes > sizeof message - 20)
        return false;
    message[14] = (unsigned char)(20 + bytes);
    message[15] = (unsigned char)((20 + bytes) >> 8);
    message[16] = (unsigned char)(command >> 8);
    message[17] = (unsigned char)command;
    if (bytes > 0)
        memcpy(message + 20, payload, bytes);
    return client_write(fd, message, 20 + bytes);
}

/* A reply's code. What an OK brings: `*value` is the first 8 bytes of its payload, the rest of
 * which is read and dropped. */
static inline uint32_t client_reply(int fd, uint64_t *value)
{
    static _Thread_local unsigned char bytes[65536];
    unsigned char *payload = bytes + 20;
    if (client_read(fd, bytes, 20) < 20 || memcmp(bytes, "DOTNET_IPC_V1", 14) != 0 ||
        bytes[16] != 0xff)
        return CLIENT_NO_REPLY;
    size_t count = (bytes[14] | (size_t)bytes[15] << 8) - 20;
    memset(payload, 0, 8);
    if (count > sizeof bytes - 20 || client_read(fd, payload, count) < count)
        return CLIENT_NO_REPLY;
    uint64_t first = 0;
    for (int i = 7; i >= 0; i--)
        first = first << 8 | payload[i];
    if (value)
        *value = first;
    return bytes[17] == 0 ? CLIENT_OK : (uint32_t)first;
}

static inline uint32_t client_ask(const char *path, enum client_command command,
                                  const void *payload, size_t bytes)
{
    int fd = client_connect(path);
    if (fd < 0)
        return CLIENT_NO_REPLY;
    uint32_t code = CLIENT_NO_REPLY;
    if (client_send(fd, command, payload, bytes))
        code = client_reply(fd, NULL);
    close(fd);
    return code;
}

static inline unsigned char *client_number(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        *out++ = (unsigned char)value;
    return out;
}

/* Asks for a session of 1 MB with all events of the provider; `is_block` by the sixth version. */
static inline bool client_collect(int fd, const char *provider, bool is_block)
{
    unsigned char payload[1024], *out = payload;
    out = is_block ? client_number(out, 0, 4) : out;
    out = client_number(client_number(out, 1, 4), 1, 4);
    out = client_number(out, is_block ? 0 : 1, is_block ? 9 : 1);
    out = client_number(client_number(client_number(out, 1, 4), UINT64_MAX, 8), 5, 4);
    out = client_number(out, strlen(provider) + 1, 4);
    for (const char *at = provider; at[0]; at++)
        out = client_number(out, (unsigned char)*at, 2);
    out = client_number(client_number(out, 0, 2), 0, 4);
    if (is_block)
        out = client_number(client_number(out, 0, 5), 1, 4);
    return client_send(fd, is_block ? CLIENT_COLLECT_6 : CLIENT_COLLECT_2, payload,
                       (size_t)(out - payload));
}

static inline uint32_t client_stop(const char *path, uint64_t id)
{
    unsigned char payload[8];
    client_number(payload, id, 8);
    return client_ask(path, CLIENT_STOP, payload, sizeof payload);
}

static inline void client_sleep_ms(unsigned ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* Waits until `condition` holds; false after 10 s. */
#define CLIENT_AWAIT(condition)                                \
    ({                                                         \
        int client_left = CLIENT_MS_MAX;                       \
        for (; !(condition) && client_left > 0; client_left--) \
            client_sleep_ms(1);                                \
        client_left > 0;                                       \
    })

#endif
