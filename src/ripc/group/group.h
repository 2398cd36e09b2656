#pragma once
/* group: an id that represents many services. A member claims the group's id besides its own. A
 * sender keeps a list of the members; it asks for the list again when a claim of the group has
 * changed or the list is old. */

#include "ripc/core/remote.h"

#define GROUP_MEMBERS_MAX 256

struct group {
    ripc_id id;
    bool joined;     /* this service is a member */
    bool joining;    /* this service is joining: a thread waits for the answer */
    bool settled;    /* the name services have answered the claim ... */
    int status;      /* ... with this status */
    bool sent_to;    /* the list below is kept */
    nsec checked_at; /* when the list was last updated; 0: a claim has changed since */
    unsigned count;
    ripc_id members[GROUP_MEMBERS_MAX];
};

/* Returns the group with that id, for sending; NULL if the id is not a group, or one without
 * members whose id a service may have by now. Asks the name services if necessary. */
struct group *group_find(struct ripc_service *service, ripc_id id);

/* Asks the name services for the members of the group, and writes those that are known by now,
 * except this service, to `members` (GROUP_MEMBERS_MAX). Returns their number. Takes the lock. */
unsigned group_members(struct ripc_service *service, ripc_id id, ripc_id *members);

/* A claim, perhaps of the group's id, was found or withdrawn. */
void group_changed(struct ripc_service *service, const struct claim *claim);
void group_announced(struct ripc_service *service, ripc_id id, int status);

/* Leaves all groups: messages to them no longer go to the service. */
void groups_withdraw(struct ripc_service *service);
void groups_leave(struct ripc_service *service); /* the same, when the service closes */
