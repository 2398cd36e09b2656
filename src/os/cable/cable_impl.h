#pragma once
/* cable_impl: the struct of one cable, for the files of this folder. Each calls only files above it
 * in this list.
 *   cable.c       one cable: loans, carrier, closing
 *   cable_port.c  packets in and out
 *   cables.c      connecting to the other end: listening, calling, opening pipes */

#include "base/list.h"
#include "os/cable/cable.h"
#include "transport/transport.h"

#define CABLE_LOANS 64 /* frames that may be on loan at once */
#define CABLE_BURST 16 /* frames pulled at once */

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
    uint8_t description[160]; /* our transport's description of itself: the lifelines' card */
    size_t description_size;
    struct list homes;
    struct list all; /* struct cable_port.node */
};

/* The fields that every check of a cable touches come first. */
struct cable_port {
    struct port port;
    struct inlet *inlet;
    struct outlet *outlet;
    struct cable_loan *reading;         /* the frame that is being split into packets, or NULL */
    uint32_t read;                      /* how many of its bytes are split off already */
    unsigned staged_next, staged_count; /* frames pulled, but not received yet */
    bool staged_news;                   /* not all of them are lazy */
    bool outgoing;                      /* we called */
    bool answered;                      /* the other end has accepted our pipe */
    bool carrier;                       /* as last reported */
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
void cable_settle(struct port *port);         /* of port_ops */
void cable_forget(struct cable_port *cable);  /* releases all that it holds of its inlet */
void cable_reset(struct cable_port *cable);   /* back to the unconnected state */
void cable_condemn(struct cable_port *cable); /* the other end wrote malformed data */
void cable_remove(struct cable_port *cable);

/* cable_port.c */
extern const struct port_ops cable_ops;
