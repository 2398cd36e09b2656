#pragma once
/* ripc_ping: the messages between `weft ripc ping` and `weft ripc serve`. A ping is a
 * message that begins with these bytes; the answer has the same bytes, and the long
 * item of a ping comes back as a long item. */

#include <stdint.h>
#include <string.h>

#include <weft/ripc.h>

#define RIPC_PING_MAGIC "weftping"

struct ripc_ping {
    char magic[8];
    uint64_t sequence; /* in the sender's byte order; only the sender reads it */
};

static inline bool ripc_ping_is(const struct ripc_message *message)
{
    return message->size >= sizeof(struct ripc_ping) &&
           memcmp(message->data, RIPC_PING_MAGIC, sizeof((struct ripc_ping *)0)->magic) == 0;
}
