#include "sst/spread/bell.h"

#include "base/check.h"
#include "ripc/core/context.h"
#include "ripc/memory/reach.h"

#define BELL_SIZE 4096

static void bell_notified(void *argument, uint64_t times, uint64_t value)
{
    bell_ring(argument);
}

/* Members on other hosts cannot ring the bell: they send notifications. */
static int notice_open(struct wake_bell *bell, struct ripc *ripc)
{
    bool far = false;
    for (unsigned i = 0; i < ripc->transport_count; i++)
        far = far || !(ripc->transports[i]->ops->abilities & TRANSPORT_LOCAL);
    return far ? ripc_notice_open(ripc, bell_notified, bell, &bell->notice, &bell->wake) : 0;
}

int bell_open(struct wake_bell *bell, struct ripc *ripc)
{
    int result = own_file_open(ripc, BELL_SIZE, &bell->memory);
    if (result)
        return result;
    doorbell_open_on(&bell->door, bell->memory.base);
    ringer_open_on(&bell->self, bell->memory.base);
    reach_bell_add(ripc, &bell->door);
    return notice_open(bell, ripc);
}

void bell_close(struct wake_bell *bell, struct ripc *ripc)
{
    if (!bell->memory.base)
        return;
    if (bell->notice)
        ripc_notice_close(bell->notice);
    reach_bell_remove(ripc, &bell->door);
    assert(list_is_empty(&bell->door.polled)); /* otherwise it would be rung after it is closed */
    own_file_close(ripc, &bell->memory);       /* door and ringer own nothing else */
    *bell = (struct wake_bell){0};
}
