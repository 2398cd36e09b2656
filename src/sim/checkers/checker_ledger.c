/* checker_ledger: follows every packet by its trail.
 *
 * A packet is in flight from when it is sent until it is delivered, intercepted, dropped or lost on
 * a link; a link that duplicates it makes it two in flight. For every trail the number of ends
 * never exceeds the number of beginnings, and in the end both are equal. The receiver of a packet
 * may send it again, which begins a new flight.
 *
 * Packets of the links' own service are not in the ledger. */

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "sim/checkers/checker.h"

#define OF_GUEST 2

struct ledger {
    int8_t *under_way; /* packets in flight, by trail */
    uint8_t *known;    /* by trail: a service sent it at least once; OF_GUEST: a guest */
    uint64_t count;    /* trails for which there is room */
    bool failed;       /* no memory: nothing more is checked */
    uint64_t sent, copied, delivered, taken, lost;
    uint64_t dropped[DROP_COUNT];
};

static void ledger_close(struct checker *checker)
{
    struct ledger *ledger = checker->memory;
    free(ledger->under_way);
    free(ledger->known);
}

static bool room_make(struct ledger *ledger, uint64_t trail)
{
    if (trail < ledger->count)
        return true;
    uint64_t count = ledger->count ? ledger->count : 4096;
    while (count <= trail)
        count *= 2;
    int8_t *under_way = realloc(ledger->under_way, count);
    ledger->under_way = under_way ? under_way : ledger->under_way;
    uint8_t *known = realloc(ledger->known, count);
    ledger->known = known ? known : ledger->known;
    if (!under_way || !known)
        return false;
    memset(under_way + ledger->count, 0, count - ledger->count);
    memset(known + ledger->count, 0, count - ledger->count);
    ledger->count = count;
    return true;
}

static bool is_known(const struct ledger *ledger, uint64_t trail)
{
    return trail < ledger->count && ledger->known[trail];
}

/* Is the packet of a guest that may send and drop packets at any time? */
static bool is_of_guest(const struct checker *checker, const struct packet *packet)
{
    bool loads = packet->service >= CHECKER_LOAD_FIRST && packet->service <= CHECKER_LOAD_LAST;
    return checker->all->view.guests_apart && !loads;
}

static void ledger_sent(struct checker *checker, node_id at, const struct packet *packet)
{
    struct ledger *ledger = checker->memory;
    if (!room_make(ledger, packet->trail)) {
        checker_fail(checker, "not enough memory for the ledger");
        return;
    }
    ledger->known[packet->trail] = is_of_guest(checker, packet) ? OF_GUEST : 1;
    ledger->sent++;
    if (ledger->under_way[packet->trail]++ == INT8_MAX)
        checker_fail(checker, "packet %llu is sent over and over",
                     (unsigned long long)packet->trail);
}

static void ledger_copied(struct checker *checker, const struct packet *packet)
{
    struct ledger *ledger = checker->memory;
    if (!is_known(ledger, packet->trail))
        return;
    ledger->copied++;
    ledger->under_way[packet->trail]++;
}

static void ended(struct checker *checker, uint64_t trail, const char *how)
{
    struct ledger *ledger = checker->memory;
    if (ledger->under_way[trail]-- > 0)
        return;
    ledger->under_way[trail] = 0;
    checker_fail(checker, "packet %llu is %s, but was no longer in flight",
                 (unsigned long long)trail, how);
}

static void ledger_delivered(struct checker *checker, node_id at, const struct packet *packet)
{
    struct ledger *ledger = checker->memory;
    ledger->delivered++;
    if (is_known(ledger, packet->trail))
        ended(checker, packet->trail, "delivered");
    else
        checker_fail(checker, "server %u delivers packet %llu, which no service sent", at,
                     (unsigned long long)packet->trail);
}

static void ledger_taken(struct checker *checker, node_id at, uint64_t trail)
{
    struct ledger *ledger = checker->memory;
    ledger->taken++;
    if (is_known(ledger, trail))
        ended(checker, trail, "intercepted");
    else
        checker_fail(checker, "server %u intercepts packet %llu, which no service sent", at,
                     (unsigned long long)trail);
}

static void ledger_dropped(struct checker *checker, node_id at, const struct packet *packet,
                           enum drop_reason reason)
{
    struct ledger *ledger = checker->memory;
    enum checker_phase phase = checker->all->phase;
    if ((phase == PHASE_STEADY || phase == PHASE_QUIET) && !is_of_guest(checker, packet))
        checker_fail(
            checker, "server %u drops packet %llu of service %u from %u after recovery: %s", at,
            (unsigned long long)packet->trail, packet->service, packet->source, drop_texts[reason]);
    if (!is_known(ledger, packet->trail))
        return;
    /* A service refuses only packets that were delivered to it. */
    bool was_delivered = reason == DROP_REFUSED && ledger->under_way[packet->trail] == 0;
    ledger->dropped[reason]++;
    if (!was_delivered)
        ended(checker, packet->trail, "dropped");
}

static void ledger_lost(struct checker *checker, const struct packet *packet)
{
    struct ledger *ledger = checker->memory;
    enum checker_phase phase = checker->all->phase;
    if (phase == PHASE_STEADY || phase == PHASE_QUIET)
        checker_fail(checker, "packet %llu is lost on a link after recovery",
                     (unsigned long long)packet->trail);
    if (!is_known(ledger, packet->trail))
        return;
    ledger->lost++;
    ended(checker, packet->trail, "lost on a link");
}

static void ledger_phase(struct checker *checker, enum checker_phase phase)
{
    struct ledger *ledger = checker->memory;
    if (phase != PHASE_QUIET && phase != PHASE_OVER)
        return;
    uint64_t count = 0, first = 0;
    for (uint64_t trail = ledger->count; trail-- > 0;)
        if (ledger->under_way[trail] > 0 &&
            (phase == PHASE_OVER || ledger->known[trail] != OF_GUEST)) {
            count++;
            first = trail;
        }
    if (count)
        checker_fail(checker, "%llu packets disappeared without being counted; the first is %llu",
                     (unsigned long long)count, (unsigned long long)first);
}

const struct checker_ops checker_ledger = {
    .name = "ledger",
    .size = sizeof(struct ledger),
    .close = ledger_close,
    .sent = ledger_sent,
    .copied = ledger_copied,
    .delivered = ledger_delivered,
    .taken = ledger_taken,
    .dropped = ledger_dropped,
    .lost = ledger_lost,
    .phase = ledger_phase,
};
