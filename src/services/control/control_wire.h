#pragma once
/* control_wire: the requests of the command line to a server and its answers, byte by byte
 * (docs/protocol.md, "control"). Pure; a reader accepts only messages whose fields are all valid.
 *
 *    0  version (1)      1  kind, with the highest bit in answers     2  token (4)
 *    6  in answers: 0, or the errno of a refusal, after which nothing follows
 *
 * The client chooses the token; the answer repeats it. */

#include <weft/service.h>

#include "base/bytes.h"
#include "keyspace/keyspace.h"
#include "node/node.h"

#define CONTROL_SERVICE      1
#define CONTROL_VERSION      1
#define CONTROL_REQUEST_MAX  64
#define CONTROL_ANSWER_MAX   WEFT_PAYLOAD_MAX
#define CONTROL_SERVERS_MAX  32768 /* servers whose reachability fits into one answer */
#define CONTROL_REPLICAS_MAX 64    /* servers of a key in one answer */
#define CONTROL_NAME_MAX     SERVICE_NAME_MAX

enum control_request_kind {
    CONTROL_SNAPSHOT = 1, /* everything about the server and its ports */
    CONTROL_STATS,        /* the counters of its services */
    CONTROL_CUT,          /* the operator cuts a cable at this end, or mends it */
    CONTROL_WHERE,        /* the servers of a key, as this server knows them */
    CONTROL_ROUTE,        /* the route to a server */
    CONTROL_PARAMETERS,   /* the values of the parameters of its services */
    CONTROL_KIND_END,
};

struct control_request {
    enum control_request_kind kind;
    uint32_t token;
    uint32_t first; /* CONTROL_STATS, CONTROL_PARAMETERS: skip this many */
    uint8_t port;   /* CONTROL_CUT */
    bool cut;       /* CONTROL_CUT; false: it is mended */
    uint8_t most;   /* CONTROL_WHERE: servers wanted, 1 to CONTROL_REPLICAS_MAX */
    struct key key; /* CONTROL_WHERE */
    node_id server; /* CONTROL_ROUTE */
};

/* A service that holds its whole share of packets, has made mistakes, or delays packets. */
struct control_trouble {
    char service[CONTROL_NAME_MAX + 1];
    uint32_t kept, share;
    uint64_t over_share, mistakes;
    uint64_t slow;              /* calls of its functions that took longer than NODE_SLOW_NSEC, */
    int64_t slow_nsec;          /* ... the longest, */
    enum node_callback slow_in; /* ... and its function */
};

struct control_snapshot {
    struct node_snapshot node;
    int64_t now;           /* on the server's clock */
    int64_t started;       /* on the same clock */
    uint32_t server_count; /* planned */
    uint32_t port_count;
    struct port_snapshot ports[PORT_MAX];
    uint32_t trouble_count;
    struct control_trouble troubles[NODE_SERVICES_MAX];
    uint8_t reach[CONTROL_SERVERS_MAX / 8]; /* a bit for each reachable server */
};

static inline bool control_reaches(const struct control_snapshot *snapshot, node_id server)
{
    return snapshot->reach[server / 8] >> server % 8 & 1;
}

struct control_replica {
    node_id server;
    uint32_t distance; /* hops; UINT32_MAX: no longer reachable */
};

struct control_where {
    bool settled;   /* it answers for keys at all */
    bool own;       /* it is the root itself */
    node_id root;   /* NODE_NONE: undecided */
    uint32_t count; /* of the key's reachable servers, the root first */
    struct control_replica replicas[CONTROL_REPLICAS_MAX];
};

struct control_route {
    uint32_t distance; /* UINT32_MAX: unreachable */
    port_set ports;    /* first ports of shortest paths */
};

/* Counters of services are written one by one, as many as fit. */
struct control_stat {
    char service[CONTROL_NAME_MAX + 1];
    char name[CONTROL_NAME_MAX + 1];
    uint64_t value;
};

/* So are the values of parameters. */
struct control_parameter {
    char service[CONTROL_NAME_MAX + 1];
    char name[CONTROL_NAME_MAX + 1];
    enum weft_parameter_type type;
    char value[WEFT_TEXT_MAX + 1]; /* as an operator writes it */
};

struct control_answer {
    enum control_request_kind kind;
    uint32_t token;
    uint8_t error; /* errno; 0: the requested data follows */
};

/* ---- requests ---- */

/* Returns the size. */
size_t control_request_write(const struct control_request *request,
                             uint8_t out[CONTROL_REQUEST_MAX]);
MUST_CHECK int control_request_read(struct control_request *request, const void *bytes,
                                    size_t size); /* -EPROTO */

/* ---- answers: the head, then the fields of its kind ---- */

void control_answer_write(struct writer *out, const struct control_answer *answer);
MUST_CHECK int control_answer_read(struct reader *in, struct control_answer *answer);

/* The readers consume the whole rest of the message; -EPROTO. */
void control_snapshot_write(struct writer *out, const struct control_snapshot *snapshot);
MUST_CHECK int control_snapshot_read(struct reader *in, struct control_snapshot *snapshot);
void control_where_write(struct writer *out, const struct control_where *where);
MUST_CHECK int control_where_read(struct reader *in, struct control_where *where);
void control_route_write(struct writer *out, const struct control_route *route);
MUST_CHECK int control_route_read(struct reader *in, struct control_route *route);

/* The total number of counters comes first, then the counters that fit. control_stat_write returns
 * false and leaves the writer as it was if there is no room for one more. */
void control_stats_write(struct writer *out, uint32_t total);
bool control_stat_write(struct writer *out, const char *service, const char *name, uint64_t value);
uint32_t control_stats_read(struct reader *in);
/* Reads the next counter; 0: there is none; -EPROTO. */
MUST_CHECK int control_stat_read(struct reader *in, struct control_stat *stat);

/* The same for parameters, after control_stats_write. */
bool control_parameter_write(struct writer *out, const char *service,
                             const struct weft_parameter *parameter, const char *value);
MUST_CHECK int control_parameter_read(struct reader *in, struct control_parameter *parameter);
