/*
 * The server: tools connect, send one request on each connection, and read the reply.
 *
 * Two threads. The poller waits for all descriptors, reads requests, and answers what needs no
 * session; it calls nothing that may block. The worker starts and stops sessions, runs the host's
 * callbacks meanwhile, and resumes the host after them. It begins a stop and then looks again and
 * again whether it is over, so that a slow tool delays nobody else. A session's drain thread writes
 * to the connection directly.
 *
 *     FREE -poller-> READING -poller-> WAITING -worker-> STREAMING -worker-> OVER -poller-> FREE
 *                       |                 |                                            ^
 *                       +-----------------+----> REPLYING -----------------------------+
 *
 * Everything is under one lock, except what the connection's state gives to one thread: a connection
 * that is READING or REPLYING belongs to the poller, one that is WAITING or STREAMING to the worker.
 * Neither an operation that may block nor a function of the host is called under the lock.
 */
#ifndef WR_SERVER_SERVER_H
#define WR_SERVER_SERVER_H

#include <pthread.h>
#include <weir/server.h>
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/error.h"
#include "os/os.h"
#include "os/socket.h"
#include "server/collect.h"
#include "server/message.h"

#define WR_PORTS_MAX       17u /* with the default one */
#define WR_SERVER_TEXT_MAX 4096u
#define WR_REPORT_BYTES    256u

/* --- Ports. ---------------------------------------------------------------------------------- */

struct wr_port {
    /* CONST after start */
    char path[WR_SOCKET_PATH_BYTES];
    bool is_default;
    bool is_dialed;       /* otherwise it listens */
    const char *asked_by; /* who has asked for the port; of a default one, for its suspension */

    bool suspends; /* LOCK(server), as the next one */
    bool is_resumed;

    /* POLLER */
    bool is_connected; /* dialed: a connection waits there for a request */
    int fd;            /* listening; -1: none; changed under the lock */
    struct wr_os_socket_name name;
    uint64_t due_ns;   /* to dial, or to accept, not before; monotonic */
    uint64_t delay_ns; /* of the next dial that follows a failure */
};

/* Delays between dials, as in .NET: from 10 ms on, each a quarter longer, up to 500 ms. */
#define WR_DIAL_NS_MIN (UINT64_C(10) * WR_NS_PER_MS)
#define WR_DIAL_NS_MAX (UINT64_C(500) * WR_NS_PER_MS)

/* port.c */
/* Parses a list of ports, and adds them. WEIR_BAD_ARGUMENT; `what`, which is kept, names the list. */
enum weir_result wr_ports_parse(struct wr_port *ports, uint32_t *count, const char *what,
                                const char *text, struct weir_error *error);
/* Makes the default port's path. False: it is too long. */
bool wr_port_default(struct wr_port *port);
/* The dial has failed, or its connection was lost, at `now_ns`: when to dial again. */
void wr_port_delay(struct wr_port *port, uint64_t now_ns);

/* --- Connections. ---------------------------------------------------------------------------- */

enum wr_connection_state {
    WR_CONNECTION_FREE,
    WR_CONNECTION_READING,
    WR_CONNECTION_WAITING,
    WR_CONNECTION_STREAMING,
    WR_CONNECTION_REPLYING,
    WR_CONNECTION_OVER
};

struct wr_connection {
    enum wr_connection_state state; /* LOCK(server) */
    int fd;                         /* POLLER; CONST while STREAMING */
    bool is_shut;                   /* POLLER: by a stop of the server */

    /* By the state's owner. */
    uint32_t port;
    bool is_taken;        /* a request has come */
    bool is_parked;       /* LOCK(server): dialed, and no tool has taken it */
    uint64_t deadline_ns; /* of the request or the reply; monotonic; UINT64_MAX: none */
    unsigned char header[WR_MESSAGE_HEADER_BYTES];
    unsigned char *payload; /* pages of `payload_bytes` */
    uint32_t payload_bytes;
    uint32_t received; /* of header and payload */
    uint32_t request;
    struct wr_reply reply;
    struct wr_collect *collect; /* WAITING for a session */
    uint64_t id;                /* of the session, as tools know it; WAITING: to be stopped */

    /* LOCK(server), while there is a session, or one is waited for */
    bool is_hung_up;   /* the tool has gone */
    bool must_stop;    /* a tool has asked for it, or the sink has failed */
    uint64_t taken_ns; /* when the tool last took bytes of the stream */

    /* WORKER */
    struct weir_session *session;
    bool is_block;
    bool is_stopping;
    bool is_cut;          /* the tool was disconnected, because it does not read the end */
    uint64_t stopping_ns; /* since when */

    bool has_id; /* DRAIN: the tool has the reply that precedes the stream */
};

/* --- The server. ----------------------------------------------------------------------------- */

enum wr_server_state {
    WR_SERVER_NONE,
    WR_SERVER_CHANGING, /* belongs to the thread that starts it, or that cleans up behind it */
    WR_SERVER_RUNNING   /* until a stop has seen both threads end */
};

/* What the host has set, or what is so without that. */
struct wr_server_texts {
    char command_line[WR_SERVER_TEXT_MAX];
    char entrypoint[WR_SERVER_TEXT_MAX];
    char version[WR_SERVER_TEXT_MAX];
    char default_providers[WR_SERVER_TEXT_MAX];
};

struct wr_server {
    pthread_mutex_t lock;
    struct wr_u32 work;    /* raised under the lock; the worker sleeps on it without */
    struct wr_u32 changes; /* raised under the lock; stop and wait_for_resume sleep on it without */

    /* CONST while it runs */
    struct weir_server_config config;
    struct wr_server_texts *texts;         /* pages, mapped by the first start for good */
    unsigned char cookie[WR_COOKIE_BYTES]; /* of the process */
    uint32_t generation;                   /* of the process that it serves */
    uint32_t slot_count;                   /* of connections */
    int alarm;                             /* wakes the poller */

    /* LOCK(server) */
    uint64_t signals_before; /* of the thread that holds it */
    enum wr_server_state state;
    pthread_t changer;
    bool has_served; /* in this process, or in one that has forked it */
    uint64_t starts;
    bool is_stopping;
    bool poller_is_gone;
    bool worker_is_gone;
    uint64_t cut_ns; /* while it is stopping: when the tools' connections are shut down */
    pthread_t worker;
    uint32_t reported;              /* bits of enum weir_result */
    enum weir_result report_result; /* of a report that is due; WEIR_OK: none is */
    char report[WR_REPORT_BYTES];

    uint64_t last_id; /* WORKER: given out to a tool; never again in this process */
    uint32_t port_count;
    struct wr_port ports[WR_PORTS_MAX];
    struct wr_connection *connections; /* pages; slot_count of them */
    struct pollfd *polled;             /* pages; POLLER: the alarm, the ports, the connections */
};

extern struct wr_server wr_server;

/* server.c */
void wr_server_lock(void);
void wr_server_unlock(void);
/* Let go of the lock, and wake the worker, or those who wait for a change. */
void wr_server_unlock_for_worker(void);
void wr_server_unlock_changed(void);
/* Changes the state, on its owner, and wakes the next one. */
void wr_connection_set(struct wr_connection *connection, enum wr_connection_state state);
/* Reports a failure that no tool learns of. Without the lock. */
void wr_server_report(enum weir_result result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same from the poller, which calls nothing of the host's: the worker does it. */
void wr_server_report_later(enum weir_result result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void wr_server_report_now(void);
/* Is this a child that a callback of the host has forked? It has no server. */
bool wr_server_is_in_child(void);
/* Connections of tools. */
uint32_t wr_server_connected_locked(void);

/* poller.c: removes the ports' sockets; closes the ports, too. */
void wr_ports_remove(void);
void wr_ports_close(void);

/* settings.c: the host's configuration, checked, and what the environment adds to it. `*is_wanted`:
 * whether there should be a server. */
enum weir_result wr_server_configure(const struct weir_server_config *host, bool *is_wanted,
                                     struct weir_error *error);

/* process.c: what tools ask about the process. */
void wr_process_command_line(char *out, size_t capacity);
extern const char wr_architecture[];
void wr_process_info(struct wr_reply *reply, uint32_t request);
void wr_process_environment(struct wr_reply *reply);

/* request.c: when a request that begins now must have come, or a reply must have been read. */
uint64_t wr_request_deadline(uint64_t now_ns);
/* On the poller. Reads what has come, and answers if that is the whole request. */
void wr_request_read(struct wr_connection *connection, uint64_t now_ns);
/* No more will come, or its time is over. */
void wr_request_give_up(struct wr_connection *connection);
/* Sends what the connection takes of the reply; in the last try, the rest is given up. */
void wr_request_send(struct wr_connection *connection, bool is_last_try);
/* On the state's owner: makes the reply, which the poller sends. */
void wr_request_fail(struct wr_connection *connection, uint32_t code);
void wr_request_succeed(struct wr_connection *connection, uint64_t id);
void wr_request_resume(struct wr_connection *connection);

/* poller.c, worker.c: the threads. */
void *wr_poller_run(void *unused);
void *wr_worker_run(void *unused);

#endif
