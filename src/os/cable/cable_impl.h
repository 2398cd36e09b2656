#pragma once
/* cable_impl: the struct of one cable, for the files of this folder. A file calls only files that
 * come before it in this list:
 *   cable.c       one cable: loans, carrier, closing
 *   cable_port.c  packets in and out
 *   cables.c      connecting to the other end: listening, calling, opening pipes */

#include "base/list.h"
#include "os/cable/cable.h"
#include "transport/transport.h"

#define CABLE_LOANS 64 /* frames of a cable that may be on loan at once: see packets.h */
#define CABLE_BURST 16 /* frames that are pulled from the inlet at once */

struct cable_loan {
    struct loan loan;
    struct cable_port *cable;
    struct frame frame;
    struct cable_loan *next; /* in the free list */
};

/* One server of this process. */
struct cable_home {
    struct list node;
    struct cables *cables;
    uint32_t server;
    struct lifelines *lines;
};

struct cables {
    struct cables_config config;
    struct transport *transport;
    uint8_t description[160]; /* of our transport; sent in the greeting of a lifeline and in OPEN */
    size_t description_size;
    struct list homes;
    struct list all; /* struct cable_port.node */
};

/* The fields that are used whenever the cable is polled come first. */
struct cable_port {
    struct port port;
    struct inlet *inlet;
    struct outlet *outlet;
    struct cable_loan *reading;         /* the frame that is being split into packets, or NULL */
    uint32_t read;                      /* how many bytes of that frame are split off already */
    unsigned staged_next, staged_count; /* frames in `staged`, pulled and not yet received */
    bool staged_news;                   /* one of them is not lazy (FRAME_LAZY) */
    bool outgoing;                      /* the line is our call, not the neighbour's */
    bool answered;                      /* the other end has accepted our pipe */
    bool carrier;                       /* as last reported to the node */
    bool ending; /* the line is gone; packets that arrived are still received */
    unsigned loans_out;
    struct cable_loan *loans_free;
    struct cable_loan *loans; /* CABLE_LOANS, owned */
    struct frame staged[CABLE_BURST];

    struct list node;
    struct cables *cables;
    struct cable_home *home;
    struct cable_plan plan;
    struct lifeline *line; /* NULL: not connected */
    struct transport_link *link;
    struct poller_timer retry;
};

static inline struct cable_port *cable_of(struct port *port)
{
    return container_of(port, struct cable_port, port);
}

/* cable.c */
MUST_CHECK int cable_init(struct cable_port *cable);
void cable_carrier(struct cable_port *cable, bool on);
void cable_call_at(struct cable_port *cable, nsec at);
void cable_settle(struct port *port);         /* the function in port_ops */
void cable_forget(struct cable_port *cable);  /* releases all frames of its inlet */
void cable_reset(struct cable_port *cable);   /* back to the unconnected state */
void cable_condemn(struct cable_port *cable); /* cuts it after malformed data */
void cable_remove(struct cable_port *cable);

/* cable_port.c */
extern const struct port_ops cable_ops;
