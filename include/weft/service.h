#pragma once
/* service: code that runs on every server of a cluster and handles packets, also those that pass
 * through.
 *
 * A service is data: one `const struct weft_service` with a table of functions. It is compiled into
 * weftd, or it is a shared object that exports the struct under the name `weft_service`:
 *
 *     weftd --service ./counter.so
 *
 * Each server runs one instance of the service, with zeroed memory of the size that the service
 * asks for. The node's only thread calls all its functions, and each must return soon: a service
 * does not wait, and uses no clock, files, sockets, threads or randomness other than weft_now,
 * weft_wall, weft_timer, weft_random and the calls of weft/disk.h, weft/descriptor.h and
 * weft/work.h. Then the same service also runs in the simulator, and a seed replays the run.
 *
 * A packet has one owner at a time. deliver() makes the service the owner: send the packet on,
 * reply with it, release it with weft_done(), or reject a malformed one with weft_refuse().
 * intercept() lends a packet: return WEFT_PASS, and it travels on with your changes, or WEFT_TAKEN,
 * and you own it. A send function takes the packet, also when the send fails.
 *
 * All services of a server take packets from the same buffers. So that none of them can use up what
 * the links and the other services need, an instance holds at most its share (keep_packets):
 * packets that it made or owns, until it sends or releases them. Packets that it sends to
 * its own server count until they are delivered; packets that wait in its queue for a link do not
 * count. A service that holds its share gets NULL from weft_packet, and packets for it are dropped.
 * It is still offered packets to intercept, until it takes one and so holds one more than its
 * share: then packets that it could intercept are dropped, too. All this is counted (over_share;
 * drops for the reason `share`), and `weft status` names the service. stop() must release the
 * packets that the service holds.
 *
 * Mistakes of a service are refused where weft can detect them: a packet that the service does not
 * hold (any more), NULL, a size that is too large, a function that the service lacks. The call then
 * has no effect and returns a negative errno, NULL or 0; the mistake is counted (`mistakes` in
 * `weft nodes --json`), the first of each kind is written to the server's log with the name of the
 * service and of the function, and `weft status` names the service. The server runs on.
 *
 * docs/guide/service.md explains examples/counter.c, a whole service. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API __attribute__((visibility("default")))

/* Version of this header; a plug-in built for another version is refused. */
#define WEFT_SERVICE_VERSION 3
#define WEFT_PAYLOAD_MAX     8900
#define WEFT_HEADER_SIZE     40 /* bytes of a packet's header, which precedes the payload */
#define WEFT_KEY_SIZE        20
#define WEFT_NOBODY          UINT32_MAX
#define WEFT_MESSAGE_MAX     65536 /* bytes of a request of a program, or of an answer */

typedef uint32_t weft_server; /* a server's number in the topology, from 0 */

struct weft_key {
    uint8_t bytes[WEFT_KEY_SIZE]; /* most significant byte first; the last eight bytes select the
                                   * root */
};

struct weft_self;    /* one service on one server */
struct weft_packet;  /* opaque; use the functions below */
struct weft_report;  /* receives the counters from stats() */
struct weft_streams; /* weft/stream.h */

enum weft_verdict { WEFT_PASS, WEFT_TAKEN };

enum weft_queue {
    WEFT_QUEUE_FIFO,     /* first in first out; when full, the new packet is dropped */
    WEFT_QUEUE_PRIORITY, /* by weft_set_priority; when full, the packet of lowest priority is
                          * dropped */
    WEFT_QUEUE_NEWEST,   /* last in first out; when full, the oldest packet is dropped */
    WEFT_QUEUE_OWN, /* the service keeps its own queue, from which poll() takes packets. Packets
                     * that pass through or are sent wait in a FIFO, which goes first */
};

/* Any function may be NULL. */
struct weft_service_ops {
    /* Called once, before any other function. A negative errno means that the service cannot run:
     * then the server does not start, and says why. */
    int (*start)(struct weft_self *self);
    void (*stop)(struct weft_self *self);
    /* A packet arrives for a key whose root is this server (see weft_is_root for what that
     * promises), for this server, or from a neighbour. */
    void (*deliver)(struct weft_self *self, struct weft_packet *packet);
    /* A packet of this service passes through: this server is neither its source nor its
     * destination. */
    enum weft_verdict (*intercept)(struct weft_self *self, struct weft_packet *packet);
    /* WEFT_QUEUE_OWN: returns the next packet for that port, at most `room` bytes with its header,
     * or NULL. Called after weft_wake. The service has addressed the packet with
     * weft_address_*. A larger packet and one without an address are dropped, as mistakes. */
    struct weft_packet *(*poll)(struct weft_self *self, unsigned port, uint32_t room);
    /* A server became reachable (peer_up) or unreachable (peer_down). */
    void (*peer_up)(struct weft_self *self, weft_server server);
    void (*peer_down)(struct weft_self *self, weft_server server);
    void (*timer)(struct weft_self *self, uint64_t cookie);
    /* A program on this machine sends a request; answer it with weft_answer, now or later. `client`
     * is the program, and `ticket` is the number that the program gave to this request: the answer
     * repeats it, so that a program can have many requests under way. 0: the program expects no
     * answer. */
    void (*request)(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size);
    /* Calls weft_stat() for each counter of the service. */
    void (*stats)(struct weft_self *self, struct weft_report *report);
    /* A program that sent a request has disconnected. Its number is never given to another
     * program. */
    void (*gone)(struct weft_self *self, uint64_t client);
    /* weft_answer has returned -EAGAIN for this program, and now there is room again. Called once,
     * also if several answers were refused. */
    void (*writable)(struct weft_self *self, uint64_t client);
};

/* ---- parameters: what the operator of a cluster may set ----
 *
 * A service lists its parameters in a table. Each one is a field of the instance, and weft writes
 * its value there before start(): the default, or what the operator set with `--set store.copies=3`
 * or in a configuration file. A value that is not of the type or not within the bounds is refused
 * before any server starts. The service reads the field, from its first call on.
 *
 *     struct store { int64_t copies; int64_t timeout; ... };
 *     static const struct weft_parameter parameters[] = {
 *         {WEFT_PARAMETER(struct store, copies, INTEGER), .value = "3", .minimum = "1",
 *          .maximum = "9", .help = "servers that keep each item"},
 *         {WEFT_PARAMETER(struct store, timeout, DURATION), .value = "250ms",
 *          .help = "how long an answer may take"},
 *         {0},
 *     };
 *
 * All texts of the table are in the form that operators write. Every service also has the parameter
 * `memory`, its budget: a size, 256M by default; a service that needs another default lists that
 * parameter itself. The instance and all that the service allocates count. A service that uses
 * weft/work.h also has the parameter `work`. */

#define WEFT_PARAMETERS_MAX 64  /* of a service */
#define WEFT_TEXT_MAX       255 /* bytes of a value */
#define WEFT_WHY_SIZE       128

enum weft_parameter_type {
    WEFT_PARAMETER_BOOL = 1, /* bool: true or false; also yes, no, on, off */
    WEFT_PARAMETER_INTEGER,  /* int64_t: a whole number */
    WEFT_PARAMETER_SIZE,     /* uint64_t, bytes: 4096, 64K, 20M, 2G, 1T (powers of 1,024) */
    WEFT_PARAMETER_DURATION, /* int64_t, nanoseconds: 500ns, 250us, 10ms, 3s, 5min, 2h */
    WEFT_PARAMETER_TEXT,     /* const char *: printable UTF-8; valid while the service runs */
    WEFT_PARAMETER_CHOICE,   /* uint32_t: the index of a word in `choices` */
};

struct weft_parameter {
    const char *name; /* lower-case letters, digits and _; NULL ends a table */
    enum weft_parameter_type type;
    uint32_t offset;               /* of the field in the instance */
    const char *value;             /* the default */
    const char *minimum, *maximum; /* NULL: no bound. Of a text they bound its length in bytes */
    const char *choices;           /* WEFT_PARAMETER_CHOICE: "fast|safe" */
    const char *help;              /* one line for operators, no full stop */
    /* WEFT_PARAMETER_TEXT: may the text be the value? If not, writes why, in one line of at most
     * WEFT_WHY_SIZE bytes. NULL: any text may. It is called by commands, too, without a server. */
    bool (*check)(const char *text, char *why);
};

/* The first three members of a table's entry: the field has the parameter's name, and the compiler
 * checks its type. `type` is BOOL, INTEGER, SIZE, DURATION, TEXT or CHOICE. */
#define WEFT_PARAMETER(structure, field, type)                                                     \
#field, WEFT_PARAMETER_##type, WEFT_FIELD(structure, field, WEFT_FIELD_##type)
#define WEFT_FIELD_BOOL     bool
#define WEFT_FIELD_INTEGER  int64_t
#define WEFT_FIELD_SIZE     uint64_t
#define WEFT_FIELD_DURATION int64_t
#define WEFT_FIELD_TEXT     const char *
#define WEFT_FIELD_CHOICE   uint32_t
/* The offset of a field; does not compile if the field is not of that type. */
#ifdef __cplusplus
#define WEFT_FIELD(structure, field, type)                                                         \
    (uint32_t)(offsetof(structure, field) + 0 * sizeof(&((structure *)0)->field == (type *)0))
#else
#define WEFT_FIELD(structure, field, type)                                                         \
    (uint32_t)(offsetof(structure, field) + 0 * sizeof(_Generic(&((structure *)0)->field, type *   \
                                                                : (char)0)))
#endif

struct weft_service {
    uint32_t version; /* WEFT_SERVICE_VERSION */
    const char *name; /* as in `weft nodes --json`; 1 to 32 letters, digits, - */
    uint16_t id; /* the same on all servers; 1 to 255 are reserved for weft, yours start at 256 */
    uint16_t weight; /* share of a busy link; 0 means 1 */
    enum weft_queue queue;
    uint32_t queue_packets; /* how many packets may wait; 0 means 256; at most 480,000 */
    uint32_t keep_packets;  /* its share: how many packets an instance may hold at once; 0 means
                             * 256; at most 480,000. With WEFT_QUEUE_OWN the packets of the
                             * service's own queue are among them */
    uint64_t size;          /* bytes of memory for an instance */
    const void *local; /* functions that other services on this server may call; see weft_local */
    const struct weft_service_ops *ops;
    uint32_t files; /* how many files may be open at once (weft/disk.h); 0: the service does not use
                     * the disk */
    uint32_t descriptors; /* how many may be open at once (weft/descriptor.h); 0: it uses none */
    const struct weft_parameter *parameters; /* ends with an entry without a name; or NULL */
    const struct weft_streams *streams;      /* NULL: the service has no streams */
    uint32_t work; /* calls of weft/work.h under way at once; 0: the service does not use them */
    uint32_t children; /* of these calls: child processes at once; 0: none */
};

/* ---- where we are ---- */

/* Memory of the instance, zeroed at the start. */
WEFT_API void *weft_memory(struct weft_self *self);
WEFT_API weft_server weft_here(const struct weft_self *self);
/* Servers in the plan, up or not. */
WEFT_API uint32_t weft_server_count(const struct weft_self *self);
WEFT_API int64_t weft_now(const struct weft_self *self); /* nanoseconds; not wall-clock time */
/* What the wall clock of this server shows: nanoseconds since 1970. It is for moments that have a
 * meaning to people, or that must outlive the process. It may be wrong, jump in both directions,
 * and differ from server to server: durations are measured with weft_now. */
WEFT_API int64_t weft_wall(const struct weft_self *self);
/* Reads another clock, anew at each call, so it takes longer than weft_now, which is the moment at
 * which this call of the service began. It also goes on while the machine sleeps. Use it where a
 * promise must not outlive its time: a process can be stopped for long between any two
 * instructions, and what it reads here is later than all that it has seen before. Nanoseconds;
 * neither wall-clock time, nor comparable with weft_now. */
WEFT_API int64_t weft_clock(const struct weft_self *self);
WEFT_API uint64_t weft_random(struct weft_self *self);
/* Allocates more memory, zeroed and freed with the node; only in start(). A large piece occupies
 * memory only where the service writes, page by page. NULL: this is beyond the service's budget
 * (weft_memory_left), or the machine has too little memory; then the server does not start, and its
 * log says why. */
WEFT_API void *weft_allocate(struct weft_self *self, uint64_t size);
/* How many bytes of its budget the service can still allocate. */
WEFT_API uint64_t weft_memory_left(const struct weft_self *self);
/* Calls timer() once with the cookie at that moment or soon after. -ENOSPC: the service has 64
 * timers set; -EINVAL: it has no timer(). */
WEFT_API int weft_timer(struct weft_self *self, int64_t at, uint64_t cookie);
/* Returns `local` of another service by name, and the instance of that service on this server.
 * NULL: the service does not run here. */
WEFT_API const void *weft_local(struct weft_self *self, const char *name, struct weft_self **other);

/* ---- keys and servers ---- */

WEFT_API struct weft_key weft_key_of(const void *name, uint32_t size); /* SHA-1 */
/* The reachable servers of a key, in order: the root, the server that takes over if the root fails,
 * and so on. Returns how many. */
WEFT_API unsigned weft_servers(struct weft_self *self, const struct weft_key *key, weft_server *out,
                               unsigned most);
/* Is this server the root now? Only the root gets packets to the key by deliver().
 *
 * Two servers that are connected by links that are up at both ends are never both root. A server
 * that was stopped for longer than the silence notices that before it calls any function of a
 * service, and then is no root until the others know that it is back.
 *
 * Two servers can both be root if they cannot reach each other. This includes a short time in which
 * only one of them knows that: frames are lost, a link is dead in one direction, clocks run at
 * different rates. A server can also be stopped while deliver() runs, and go on later. A service
 * that must exclude these cases needs epochs or leases of its own; docs/architecture.md, "Which
 * server answers for a key", has the details. */
WEFT_API bool weft_is_root(struct weft_self *self, const struct weft_key *key);
WEFT_API bool weft_reaches(const struct weft_self *self, weft_server server);
/* Hops; UINT32_MAX if unreachable. */
WEFT_API unsigned weft_distance(const struct weft_self *self, weft_server server);
WEFT_API unsigned weft_port_count(const struct weft_self *self);
/* The neighbour at the other end of a port, or WEFT_NOBODY if the link is not up. */
WEFT_API weft_server weft_neighbour(const struct weft_self *self, unsigned port);

/* ---- packets ---- */

/* Makes a packet with `size` bytes of zeroed payload. NULL: the service holds its share, or there
 * is no packet buffer left; this is counted. */
WEFT_API struct weft_packet *weft_packet(struct weft_self *self, uint32_t size);
/* The same, but only the first `stored` bytes of the payload are in memory; the others travel as
 * zeroes. For benchmarks. */
WEFT_API struct weft_packet *weft_packet_hollow(struct weft_self *self, uint32_t size,
                                                uint32_t stored);
/* Releases a packet; NULL is allowed. -EINVAL: the service does not hold it. */
WEFT_API int weft_done(struct weft_packet *packet);
/* Releases a malformed packet, and counts it among the drops of this server. */
WEFT_API int weft_refuse(struct weft_self *self, struct weft_packet *packet);

/* Returns the payload. For NULL, and for a packet that the service does not hold, it returns memory
 * outside all packets: what the service writes there is lost. The functions that follow return 0 or
 * WEFT_NOBODY for NULL. */
WEFT_API void *weft_payload(struct weft_packet *packet);
WEFT_API uint32_t weft_size(const struct weft_packet *packet); /* bytes of payload in memory */
/* Bytes of payload as they travel; more if hollow. */
WEFT_API uint32_t weft_size_sent(const struct weft_packet *packet);
/* Shortens the payload, or lengthens it, with zeroes, up to the bytes in memory that the packet had
 * when it was made or given to the service. -EMSGSIZE: it has no room for so many bytes. A hollow
 * packet is no longer hollow after that. */
WEFT_API int weft_set_size(struct weft_packet *packet, uint32_t size);
WEFT_API weft_server weft_source(const struct weft_packet *packet);
WEFT_API unsigned weft_hops(const struct weft_packet *packet); /* links it has crossed */
WEFT_API uint32_t weft_identity(const struct weft_packet *packet);
WEFT_API int weft_set_identity(struct weft_packet *packet, uint32_t identity);
/* 0 to 7; 7 goes first. -EINVAL: larger. */
WEFT_API int weft_set_priority(struct weft_packet *packet, unsigned priority);
/* True: sent to a key, which is stored in `key` unless that is NULL. */
WEFT_API bool weft_is_for_key(const struct weft_packet *packet, struct weft_key *key);
/* The port by which the packet arrived; UINT32_MAX: it was made on this server. */
WEFT_API unsigned weft_port_in(const struct weft_packet *packet);

/* ---- sending ---- */

/* All send functions take the packet. They return 0; -EHOSTUNREACH: no path to the destination;
 * -ENOBUFS: the queue is full; or -EINVAL: a mistake, such as a packet that was sent before. On an
 * error the packet, if the service held it, was dropped and counted. The destination may be an
 * intermediate stop, whose service sends the packet on; the source stays the server that made the
 * packet. */
WEFT_API int weft_send_key(struct weft_self *self, struct weft_packet *packet,
                           const struct weft_key *key);
WEFT_API int weft_send_server(struct weft_self *self, struct weft_packet *packet,
                              weft_server server);
/* Sends to the neighbour at the other end of that port. */
WEFT_API int weft_send_port(struct weft_self *self, struct weft_packet *packet, unsigned port);
/* Sends the packet back to its source, with this server as the new source and the same identity and
 * payload. */
WEFT_API int weft_reply(struct weft_self *self, struct weft_packet *packet);

/* WEFT_QUEUE_OWN: sets the destination without sending, and returns the ports by which the packet
 * may leave, a bit each. 0: no path. */
WEFT_API uint32_t weft_address_key(struct weft_self *self, struct weft_packet *packet,
                                   const struct weft_key *key);
WEFT_API uint32_t weft_address_server(struct weft_self *self, struct weft_packet *packet,
                                      weft_server server);
WEFT_API uint32_t weft_address_port(struct weft_self *self, struct weft_packet *packet,
                                    unsigned port);
/* Tells weft that packets wait for those ports, a bit each, so that it calls poll(). Ports that do
 * not exist are ignored. -EINVAL: the service has no poll(), or its queue is not WEFT_QUEUE_OWN. */
WEFT_API int weft_wake(struct weft_self *self, uint32_t ports);

/* ---- local programs, and numbers ---- */

/* Sends an answer to a program. `ticket` is that of the request, or 0 for an event: a message for
 * which the program did not ask. A request may have several answers. Returns 0; -EAGAIN: the
 * program does not read its answers, so this answer was dropped, and writable() is called once
 * there is room; -EPIPE: the program has disconnected; -EMSGSIZE: more than WEFT_MESSAGE_MAX bytes.
 */
WEFT_API int weft_answer(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size);
/* In stats(): reports a counter, whose name has 1 to 32 printable characters and no blanks. The
 * names of the counters that weft keeps for every service are refused: sent, delivered,
 * intercepted, dropped, memory, kept, share, over_share, mistakes, slow, disk_calls, disk_failed,
 * disk_bytes_read, disk_bytes_written, work_calls, work_failed, work_under_way, descriptors_open,
 * descriptors_accepted, descriptors_refused, descriptors_bytes_in, descriptors_bytes_out; and for a
 * service with streams: streams, streams_opened, streams_accepted, streams_ended, streams_moved,
 * segments_sent, segments_resent, segments_copied, segments_received, segments_repeated,
 * segments_damaged. */
WEFT_API int weft_stat(struct weft_report *report, const char *name, uint64_t value);

#ifdef __cplusplus
}
#endif
