#pragma once
/* group: an id that stands for many services. A member claims the group's id
 * beside its own; a sender keeps the list of members, and asks for it again
 * when a claim of the group came or went, or the list is old. */

#include "ripc/core/remote.h"

#define GROUP_MEMBERS_MAX 256

struct group {
    ripc_id id;
    bool joined;     /* this service is a member */
    bool joining;    /* ... or is about to be: a thread waits for the answer */
    bool settled;    /* the name services have answered the claim ... */
    int status;      /* ... with this */
    bool sent_to;    /* the list below is kept */
    nsec checked_at; /* 0: a claim came or went since */
    unsigned count;
    ripc_id members[GROUP_MEMBERS_MAX];
};

/* The group with that id that the service sends to; NULL if the id is no
 * group. Asks the name services when it does not know. */
struct group *group_find(struct ripc_service *service, ripc_id id);

/* A claim, perhaps of the group's id, was found or is gone. */
void group_changed(struct ripc_service *service, const struct claim *claim);
void group_announced(struct ripc_service *service, ripc_id id, int status);

void groups_leave(struct ripc_service *service);
