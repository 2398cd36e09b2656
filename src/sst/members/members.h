#pragma once
/* members: who is in the table. It carries the messages of the council (council.h, pure)
 * over ripc, holds the meetings (meeting.h), watches for deaths, and answers those who
 * only look (observer.h).
 *
 * Its work is done by members_step, from a thread of its own or, without one, from
 * sst_step; one call at a time. */

#include "sst/members/meeting.h"
#include "sst/table/schema.h"

struct members;

struct members_config {
    struct sst *table; /* what meetings are held for, by ... */
    const struct meeting_ops *meetings;
    const struct schema *schema; /* borrowed */
    uint64_t name;               /* of the table */
    enum sst_design design;
    uint32_t rows_max;
    bool drop; /* SST_DROP */
};

/* Binds `id` (0: a random one), and does no more. -EADDRINUSE. */
MUST_CHECK int members_open(struct ripc *ripc, ripc_id id, const struct members_config *config,
                            struct members **members);

/* Joins or founds, stepping until the first view is installed. */
MUST_CHECK int members_join(struct members *members, int64_t deadline, struct why *why);

/* Does what is to be done, waiting for it until the deadline. Returns how many things
 * it did, or -EAGAIN, -ETIMEDOUT. members_wake, from any thread, ends its waiting. */
int members_step(struct members *members, int64_t deadline);
void members_wake(struct members *members);

/* Leaves, stepping until the others have installed a view without us. */
int members_leave(struct members *members, int64_t deadline);

void members_close(struct members *members);

/* The service that owns all grants and reaches of the table. */
struct ripc_service *members_service(struct members *members);

/* Messages of observers (council_wire.h: COUNCIL_OBSERVE) are handed to this callback, in a
 * step; the bytes are the message's, with its head, until it returns. It may call members_say,
 * which sends any message as the table's: 0, or why it cannot even be tried; it may still be lost,
 * as any message may. */
typedef void members_observer(void *argument, ripc_id from, const uint8_t *bytes, size_t size);
void members_on_observer(struct members *members, members_observer *observer, void *argument);
int members_say(struct members *members, ripc_id to, const uint8_t *bytes, size_t size);

/* Called in a step for every id watched by members_service, whoever watches it, that somebody had
 * and nobody has any more, or another process has now. */
typedef void members_gone(void *argument, ripc_id id);
void members_on_gone(struct members *members, members_gone *gone, void *argument);

/* The group that all members of a table of that name are in. */
ripc_id members_group(uint64_t name);

/* Counted: joins refused, messages that were no member's to send. */
uint64_t members_refused(const struct members *members);
uint64_t members_strange(const struct members *members);
