#pragma once
/* news: what servers tell each other about views, in packets. Pure.
 *
 * Neighbours tell each other their state: the view that they are in, and the *wave* that they take
 * part in (views.h). Each of these packets has all that the other one lacks, as far as the sender
 * knows, so a packet that is lost needs only a later one. A server that missed more than one view
 * fetches a whole roster, in pieces. A server that wants to join or to leave says so to one that
 * may propose a view. Each packet has a digest, since links may damage what nodes do not check. */

#include "services/store/view/changes.h"
#include "services/store/view/decision.h"

#define NEWS_SERVERS_MAX 4096 /* so that everything fits into a packet */
#define NEWS_PIECE       256  /* entries of a roster in a packet */

enum news_kind {
    NEWS_STATE = 1,
    NEWS_FETCH,  /* send entries of your roster */
    NEWS_ROSTER, /* entries */
    NEWS_WISH,   /* to join or to leave */
};

enum news_content {
    CONTENT_NONE,
    CONTENT_PROPOSAL, /* `changes`: what is proposed in the wave */
    CONTENT_VOTES,    /* `votes`; `found` and `changes`: what one of them had accepted */
    CONTENT_DECIDED,  /* `found`: the ballot in which the sender's view was decided */
    CONTENT_CHANGES,  /* `changes`: what leads to the sender's view from the one before */
};

struct view_state {
    uint64_t run;       /* of the sender */
    uint32_t number;    /* of the packet, on this link, from 1 */
    bool asks;          /* for an answer */
    uint64_t heard_run; /* the process from which the sender heard ... */
    uint32_t heard;     /* ... this number last */
    uint32_t epoch;
    view_ballot ballot; /* of the wave; 0: none */
    enum decision_phase phase;
    bool parent;   /* the receiver is the sender's parent in the wave */
    bool complete; /* ... and all below the sender have voted, or cannot */
    enum news_content content;
    view_ballot found;
};

struct view_fetch {
    uint32_t first;
};

struct view_piece {
    uint32_t epoch, first, count;
    struct roster_entry entries[NEWS_PIECE];
};

struct view_wish {
    uint64_t disk, run;
    bool leaves;
};

/* A packet as it was read, or is to be written. Large: it belongs into allocated memory. */
struct view_news {
    enum news_kind kind;
    union {
        struct view_state state;
        struct view_fetch fetch;
        struct view_piece piece;
        struct view_wish wish;
    };
    struct view_changes changes;
    uint64_t votes[NEWS_SERVERS_MAX / 64];
};

/* Writes a packet of a cluster with `count` servers, at most WEFT_PAYLOAD_MAX bytes; returns its
 * size. */
uint32_t news_write(const struct view_news *news, uint32_t count, uint8_t *out);
/* False: nonsense. */
bool news_read(struct view_news *news, uint32_t count, const void *bytes, uint32_t size);

struct writer;
struct reader;
/* The same forms are used on the disk. */
void news_changes_write(struct writer *out, const struct view_changes *changes);
bool news_changes_read(struct reader *in, struct view_changes *changes);
void news_entry_write(struct writer *out, const struct roster_entry *entry);
bool news_entry_read(struct reader *in, struct roster_entry *entry);
