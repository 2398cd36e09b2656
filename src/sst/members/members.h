#pragma once
/* members: the members of a table. It carries the messages of the council (council.h, pure) over
 * ripc, holds the meetings (meeting.h), watches for deaths, and hands the questions of observers
 * (observer.h) on.
 *
 * All work is done in members_step, one call at a time. A separate thread calls it or, without that
 * thread, sst_step. */

#include "sst/members/meeting.h"
#include "sst/table/schema.h"

struct members;

struct members_config {
    struct sst *table; /* the table that the meetings are held for */
    const struct meeting_ops *meetings;
    const struct schema *schema; /* borrowed */
    uint64_t name;               /* of the table */
    enum sst_design design;
    uint32_t rows_max;
    bool drop; /* SST_DROP */
};

/* Binds `id` (0: a random one) and does nothing else. -EADDRINUSE. */
MUST_CHECK int members_open(struct ripc *ripc, ripc_id id, const struct members_config *config,
                            struct members **members);

/* Joins the table or founds it; steps until the first view is installed. */
MUST_CHECK int members_join(struct members *members, int64_t deadline, struct why *why);

/* Does the pending work and waits for some until the deadline. Returns the number of actions, or
 * -EAGAIN, -ETIMEDOUT. members_wake, from any thread, ends the wait. */
int members_step(struct members *members, int64_t deadline);
void members_wake(struct members *members);

/* Leaves the table; steps until the others have installed a view without us. */
int members_leave(struct members *members, int64_t deadline);

void members_close(struct members *members);

/* The service that owns all grants and reaches of the table. */
struct ripc_service *members_service(struct members *members);

/* A step hands messages of observers (council_wire.h: COUNCIL_OBSERVE) to this callback. `bytes` is
 * the whole message including its head, valid until the callback returns. The callback may call
 * members_say, which sends a message in the name of the table. members_say returns 0, or an error
 * if it cannot even try; the message may still be lost. */
typedef void members_observer(void *argument, ripc_id from, const uint8_t *bytes, size_t size);
void members_on_observer(struct members *members, members_observer *observer, void *argument);
int members_say(struct members *members, ripc_id to, const uint8_t *bytes, size_t size);

/* A step calls this for every id watched through members_service (no matter which code watches it)
 * whose holder is gone or has been replaced by another process. */
typedef void members_gone(void *argument, ripc_id id);
void members_on_gone(struct members *members, members_gone *gone, void *argument);

/* The id of the group to which all members of the table with that name belong. */
ripc_id members_group(uint64_t name);

/* Counters: refused joins; messages that no member would send. */
uint64_t members_refused(const struct members *members);
uint64_t members_strange(const struct members *members);
