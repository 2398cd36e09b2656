#include "ripc/group/group.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define GROUP_OLD_NSEC      (100 * 1000 * 1000LL)
#define GROUP_PATIENCE_NSEC (5 * NSEC_PER_SEC)

static struct group *group_get(struct ripc_service *service, ripc_id id)
{
    struct group *group = id_map_get(&service->groups, id);
    if (group)
        return group;
    group = calloc(1, sizeof *group);
    if (!group || !id_map_put(&service->groups, id, group)) {
        free(group);
        return NULL;
    }
    group->id = id;
    return group;
}

/* Lists the members. A message to a group does not come back to its sender. */
static unsigned group_list(struct ripc_service *service, ripc_id id, ripc_id *members)
{
    struct claim claims[GROUP_MEMBERS_MAX];
    unsigned known = names_known(service->ripc->names, id, claims, GROUP_MEMBERS_MAX);
    unsigned count = 0;
    for (unsigned i = 0; i < known && i < GROUP_MEMBERS_MAX; i++)
        if (claims[i].group && claims[i].member != service->id)
            members[count++] = claims[i].member;
    return count;
}

static bool group_exists(struct ripc_service *service, ripc_id id)
{
    struct claim claim;
    names_ask(service->ripc->names, id);
    return names_known(service->ripc->names, id, &claim, 1) > 0 && claim.group;
}

struct group *group_find(struct ripc_service *service, ripc_id id)
{
    struct group *group = id_map_get(&service->groups, id);
    if (!group || !group->sent_to) {
        if (!group && !group_exists(service, id))
            return NULL;
        group = group_get(service, id);
        if (!group)
            return NULL;
        group->sent_to = true;
    }
    nsec now = clock_now();
    /* A list without members is never recent enough: the id may be a service's or a new group's. */
    if (!group->checked_at || !group->count || now - group->checked_at > GROUP_OLD_NSEC) {
        names_ask(service->ripc->names, id);
        group->count = group_list(service, id, group->members);
        group->checked_at = now;
    }
    /* An id whose members have all left may belong to a service by now. */
    return group->count || group->joined ? group : NULL;
}

unsigned group_members(struct ripc_service *service, ripc_id id, ripc_id *members)
{
    lock_take(&service->ripc->lock);
    names_ask(service->ripc->names, id);
    unsigned count = group_list(service, id, members);
    lock_drop(&service->ripc->lock);
    return count;
}

void group_changed(struct ripc_service *service, const struct claim *claim)
{
    struct group *group = id_map_get(&service->groups, claim->id);
    if (group)
        group->checked_at = 0;
}

void group_announced(struct ripc_service *service, ripc_id id, int status)
{
    struct group *group = id_map_get(&service->groups, id);
    if (!group)
        return;
    group->settled = true;
    group->status = status;
    doorbell_ring(&service->bell);
}

static int group_check(void *argument)
{
    const struct group *group = argument;
    return group->settled;
}

/* Claims membership, and waits until the name services have answered. */
static int group_claim(struct ripc_service *service, struct group *group)
{
    struct ripc *ripc = service->ripc;
    struct claim claim = {
        .id = group->id,
        .member = service->id,
        .group = true,
        .incarnation = (uint64_t)clock_wall(),
        .address = ripc->address,
        .pid = getpid(),
    };
    group->settled = false;
    int result = names_announce(ripc->names, &claim);
    if (result)
        return result;
    result = service_wait(service, group_check, group, clock_after(GROUP_PATIENCE_NSEC));
    if (result == 1)
        result = group->status;
    if (result)
        names_withdraw(ripc->names, group->id, service->id);
    return result;
}

static int group_join(struct ripc_service *service, ripc_id id)
{
    if (service->retiring)
        return -ESHUTDOWN;
    struct group *group = group_get(service, id);
    if (!group)
        return -ENOMEM;
    if (group->joined || group->joining)
        return -EALREADY;
    group->joining = true;
    int result = group_claim(service, group);
    group->joining = false;
    if (result == 0 && service->retiring) { /* called by another thread meanwhile */
        names_withdraw(service->ripc->names, id, service->id);
        result = -ESHUTDOWN;
    }
    group->joined = result == 0;
    if (result && !group->sent_to) { /* the id may belong to a service to which this one sends */
        id_map_take(&service->groups, id);
        free(group);
    }
    return result;
}

void groups_withdraw(struct ripc_service *service)
{
    size_t cursor = 0;
    struct group *group;
    while ((group = id_map_next(&service->groups, &cursor))) {
        if (group->joined)
            names_withdraw(service->ripc->names, group->id, service->id);
        group->joined = false;
    }
}

void groups_leave(struct ripc_service *service)
{
    groups_withdraw(service);
    size_t cursor = 0;
    struct group *group;
    while ((group = id_map_next(&service->groups, &cursor)))
        free(group);
    id_map_fini(&service->groups);
}

int ripc_join(struct ripc_service *service, ripc_id id)
{
    if (!context_is_ours(service->ripc))
        return -ECHILD;
    lock_take(&service->ripc->lock);
    int result = group_join(service, id);
    lock_drop(&service->ripc->lock);
    return result;
}

int ripc_leave(struct ripc_service *service, ripc_id id)
{
    struct ripc *ripc = service->ripc;
    int result = -ENOENT;
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    struct group *group = id_map_get(&service->groups, id);
    if (group && group->joined) {
        names_withdraw(ripc->names, id, service->id);
        group->joined = false;
        result = 0;
    }
    lock_drop(&ripc->lock);
    return result;
}
