#pragma once
/* views: a server's part in agreeing on views: it proposes them, votes on them, spreads them, and
 * keeps its votes on the disk.
 *
 * Messages go only between neighbours, so that a view costs each link about the same in a cluster
 * of any size. What a proposer asks or proposes spreads as a *wave*: each server passes it on to
 * its neighbours, and the one from which it came first is its *parent*. Votes return along these
 * trees: a server tells its parent who has voted below it, once when all of these have, or earlier
 * when this takes long. What was decided spreads like the wave. A wave that loses votes, because a
 * server fails in the middle of it, ends with a new one by the same proposer.
 *
 * A server that wants to be a member says so to a server that may propose. It leaves when no path
 * has led to it for a while. The lowest number that may vote proposes; the others only when nothing
 * happens for long. Two proposers at the same time do no harm (decision.h).
 *
 * View 1 needs the promises of all servers that can be reached, because one of them may know that
 * the store exists already. */

#include <weft/service.h>

#include "services/store/view/roster.h"

struct views;
struct view_news;

struct views_settings {
    int64_t suspect;   /* nanoseconds: a server leaves if it cannot be reached for so long */
    uint64_t timer;    /* the cookie of the timer that belongs to views_timer */
    uint64_t layout;   /* a digest of what must never change on this disk */
    uint64_t founding; /* what views_founding tells, until view 1 */
};

struct views_events {
    /* After views_look: as opened(), but nothing was changed, and nothing more happens before
     * views_open. NULL: not needed. */
    void (*looked)(void *owner, int result);
    /* 0; 1: nothing was kept, the server is new; -EBADMSG: what was kept is damaged, so the server
     * is new, too. -EPROTO: a later version of weft has written it; -EXDEV: another cluster or
     * another server has; -EMEDIUMTYPE: with another layout. Then nothing was changed, and nothing
     * more happens. */
    void (*opened)(void *owner, int result);
    /* After views_lose: the disk has another name, durably. NULL: not needed. */
    void (*renamed)(void *owner);
    /* The server is in a later view, durably. `before` is the epoch of the one that it was in. */
    void (*entered)(void *owner, const struct roster *roster, uint32_t before);
};

/* What a service with views needs besides: open files. */
#define VIEWS_FILES 2

/* Takes memory; only in start(). NULL: there is too little, or too many servers. */
struct views *views_init(struct weft_self *self, const struct views_settings *settings,
                         const struct views_events *events, void *owner);
/* Reads what is kept, but changes nothing; once, before views_open. Ends with looked(). */
void views_look(struct views *views);
/* Begins; ends with opened(). Until then it may be called again. */
void views_open(struct views *views);

/* The service passes these on. A packet of views begins with one of these bytes, an enum news_kind;
 * views_deliver takes it. */
#define VIEWS_KIND_FIRST 1
#define VIEWS_KIND_LAST  4
void views_deliver(struct views *views, struct weft_packet *packet);
void views_timer(struct views *views);
void views_peer(struct views *views, weft_server server, bool up);

/* The server wants to leave, or if `leaves` is false, to be a member again. At the beginning it
 * wants to be one. */
void views_wish(struct views *views, bool leaves);

/* The operator's order about a server; it holds for a while, in which servers that may propose
 * should have it. */
void views_order(struct views *views, weft_server server, enum roster_duty duty);

/* The owner has begun again, without what it had in memory: the server leaves, and wishes to be a
 * member as if it was another process. */
void views_begin_again(struct views *views);
/* What the owner keeps on the disk is lost, or a part of it. The server leaves, and joins again
 * when it is durable that its disk is another one now. Also before views_open. */
void views_lose(struct views *views);
/* What names the disk of the server in rosters. Valid from opened() on. */
uint64_t views_disk(const struct views *views);
/* settings.founding as it was when the server entered view 1, also in a later process. */
uint64_t views_founding(const struct views *views);

/* The view that the server is in; NULL: not open yet. */
const struct roster *views_roster(const struct views *views);
/* The last view of the membership to which view `since` belongs, if that membership of this server
 * has ended. If it was so long ago that it is forgotten: `since`. */
uint32_t views_stayed_until(const struct views *views, uint32_t since);
/* Is this process a member of it? */
bool views_is_member(const struct views *views);
/* False: the servers that can be reached are not enough to decide on the next view. */
bool views_has_quorum(const struct views *views);

struct views_counts {
    uint64_t packets, bytes; /* sent */
    uint64_t proposals, entered, saves, garbage;
};
void views_count(const struct views *views, struct views_counts *counts);
