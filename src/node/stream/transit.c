#include "node/stream/transit.h"

#include "base/check.h"

#define UNIT        256 /* of `allowed` */
#define REORDER_MIN 4   /* eighths of a round trip */
#define REORDER_MAX 32
#define SILENT_MAX  10 /* doublings of the timeout */

static struct transit_segment *segment_at(const struct transit *transit, uint64_t sequence)
{
    return &transit->segments[sequence & (transit->window - 1)];
}

void transit_init(struct transit *transit, struct transit_segment *segments, uint32_t window,
                  uint64_t limit)
{
    assert(window && window <= SEGMENT_WINDOW_MAX && !(window & (window - 1)));
    *transit = (struct transit){
        .segments = segments,
        .window = window,
        .limit = limit,
        .allowed = TRANSIT_ALLOWED_FIRST * UNIT,
        .threshold = UINT32_MAX,
        .reorder = REORDER_MIN,
        .timer = ENV_NEVER,
    };
}

/* ---- sending ---- */

static bool may_leave(const struct transit *transit)
{
    return (uint64_t)transit->out * UNIT + UNIT <= transit->allowed || transit->probing;
}

struct transit_segment *transit_again(const struct transit *transit, uint64_t *sequence)
{
    if (!transit->lost || !may_leave(transit))
        return NULL;
    for (uint64_t at = transit->base; at < transit->next; at++) {
        struct transit_segment *segment = segment_at(transit, at);
        if (segment->state != TRANSIT_LOST)
            continue;
        *sequence = at;
        return segment;
    }
    assert_unreachable();
}

bool transit_has_room(const struct transit *transit)
{
    return transit->next < transit->limit && transit->next - transit->base < transit->window &&
           may_leave(transit);
}

struct transit_segment *transit_add(struct transit *transit, uint64_t *sequence)
{
    assert(transit_has_room(transit));
    *sequence = transit->next++;
    struct transit_segment *segment = segment_at(transit, *sequence);
    *segment = (struct transit_segment){.state = TRANSIT_LOST};
    transit->lost++; /* until transit_sent */
    return segment;
}

static env_nsec timeout(const struct transit *transit)
{
    env_nsec timeout = TRANSIT_TIMEOUT_FIRST;
    if (transit->trip) {
        timeout = transit->trip + 4 * transit->spread;
        timeout = timeout > TRANSIT_TIMEOUT_MIN ? timeout : TRANSIT_TIMEOUT_MIN;
    }
    timeout <<= transit->silent;
    return timeout < TRANSIT_TIMEOUT_MAX ? timeout : TRANSIT_TIMEOUT_MAX;
}

void transit_sent(struct transit *transit, uint64_t sequence, env_nsec now)
{
    struct transit_segment *segment = segment_at(transit, sequence);
    assert(segment->state == TRANSIT_LOST);
    segment->again = segment->sent_at != 0;
    transit->resent += segment->again;
    if (segment->again)
        transit->again_end = transit->next;
    segment->state = TRANSIT_OUT;
    segment->sent_at = now ? now : 1;
    segment->order = transit->order++;
    transit->lost--;
    transit->out++;
    transit->probing = false;
    if (transit->timer == ENV_NEVER)
        transit->timer = now + timeout(transit);
}

/* ---- answers ---- */

static void trip_add(struct transit *transit, env_nsec trip)
{
    if (trip < 1)
        trip = 1;
    if (!transit->trip) {
        transit->trip = trip;
        transit->spread = trip / 2;
        return;
    }
    env_nsec off = trip > transit->trip ? trip - transit->trip : transit->trip - trip;
    transit->spread += (off - transit->spread) / 4;
    transit->trip += (trip - transit->trip) / 8;
    if (transit->trip < 1)
        transit->trip = 1;
}

static void allowed_grow(struct transit *transit)
{
    if (transit->allowed < transit->threshold)
        transit->allowed += UNIT;
    else
        transit->allowed += UNIT * UNIT / transit->allowed;
    if (transit->allowed > transit->window * UNIT)
        transit->allowed = transit->window * UNIT;
}

static void allowed_reduce(struct transit *transit, uint32_t by)
{
    transit->allowed -= by;
    if (transit->allowed < TRANSIT_ALLOWED_MIN * UNIT)
        transit->allowed = TRANSIT_ALLOWED_MIN * UNIT;
    transit->threshold = transit->allowed;
}

/* The segment of that transmission is lost. */
static void loss_note(struct transit *transit, uint64_t order)
{
    if (order < transit->reduced)
        return; /* sent before the last reduction could have an effect */
    transit->reduced = transit->order;
    allowed_reduce(transit, transit->allowed / 10 * 3);
}

static void segment_received(struct transit *transit, struct transit_segment *segment, env_nsec now)
{
    if (segment->state == TRANSIT_OUT)
        transit->out--;
    else
        transit->lost--; /* the first transmission arrived after all */
    segment->state = TRANSIT_RECEIVED;
    transit->round_count++;
    if (!segment->again)
        trip_add(transit, now - segment->sent_at);
    if (segment->order >= transit->newest && segment->sent_at)
        transit->newest = segment->order + 1;
    allowed_grow(transit);
}

/* The usual case: all were sent once, in order, and none was received before the first that is
 * not. */
static bool has_no_gap(const struct transit *transit)
{
    return transit->base == transit->next ||
           (transit->base >= transit->again_end &&
            segment_at(transit, transit->base)->order >= transit->newest);
}

/* Finds segments that are lost by now. Returns when the next one may be, or ENV_NEVER. */
static env_nsec losses_find(struct transit *transit, env_nsec now)
{
    if (has_no_gap(transit))
        return ENV_NEVER;
    env_nsec trip = transit->trip ? transit->trip : TRANSIT_TIMEOUT_FIRST;
    env_nsec patience = trip + trip * transit->reorder / 8, next = ENV_NEVER;
    for (uint64_t at = transit->base; at < transit->next; at++) {
        struct transit_segment *segment = segment_at(transit, at);
        if (segment->state != TRANSIT_OUT || segment->order >= transit->newest)
            continue;
        env_nsec lost_at = segment->sent_at + patience;
        if (lost_at > now) {
            next = lost_at < next ? lost_at : next;
            continue;
        }
        segment->state = TRANSIT_LOST;
        transit->out--;
        transit->lost++;
        loss_note(transit, segment->order);
    }
    return next;
}

static void timer_set(struct transit *transit, env_nsec now)
{
    env_nsec loss = losses_find(transit, now);
    transit->timer = transit->base < transit->next ? now + timeout(transit) : ENV_NEVER;
    if (loss < transit->timer)
        transit->timer = loss;
}

static void repeats_note(struct transit *transit, uint32_t repeats)
{
    uint32_t more = repeats - transit->repeats;
    if (!more || more > INT32_MAX)
        return;
    transit->repeats = repeats;
    transit->reorder = 2 * transit->reorder < REORDER_MAX ? 2 * transit->reorder : REORDER_MAX;
}

static void marks_note(struct transit *transit, uint32_t marks)
{
    uint32_t more = marks - transit->marks;
    if (more <= INT32_MAX) { /* else it is an old report */
        transit->marks = marks;
        transit->round_marks += more;
    }
    if (transit->newest <= transit->round_end)
        return;
    uint32_t count = transit->round_count, marked = transit->round_marks;
    marked = marked < count ? marked : count;
    if (marked)
        allowed_reduce(transit, (uint32_t)((uint64_t)transit->allowed / 2 * marked / count));
    transit->round_end = transit->order;
    transit->round_marks = transit->round_count = 0;
}

bool transit_answered(struct transit *transit, const struct segment_ack *ack, env_nsec now)
{
    if (ack->base > transit->next)
        return false;
    bool news = false;
    for (; transit->base < ack->base; transit->base++) {
        struct transit_segment *segment = segment_at(transit, transit->base);
        if (segment->state != TRANSIT_RECEIVED)
            segment_received(transit, segment, now);
        news = true;
    }
    for (uint32_t bit = 0; bit < 8 * ack->bitmap_size; bit++) {
        uint64_t sequence = ack->base + 1 + bit;
        if (!(ack->bitmap[bit / 8] >> bit % 8 & 1))
            continue;
        if (sequence >= transit->next)
            break;
        struct transit_segment *segment = segment_at(transit, sequence);
        if (sequence < transit->base || segment->state == TRANSIT_RECEIVED)
            continue;
        segment_received(transit, segment, now);
        news = true;
    }
    if (ack->limit > transit->limit)
        transit->limit = ack->limit;
    repeats_note(transit, ack->repeats);
    marks_note(transit, ack->marks);
    if (news || transit->silent) {
        transit->silent = 0;
        transit->probing = false;
        timer_set(transit, now);
    }
    return true;
}

void transit_expire(struct transit *transit, env_nsec now)
{
    if (now < transit->timer)
        return;
    uint32_t lost = transit->lost;
    env_nsec loss = losses_find(transit, now);
    if (transit->lost == lost && transit->base < transit->next) {
        /* No segment is lost by the order of transmissions: no answer came in time, unless the
         * segment still waits for a port. */
        struct transit_segment *segment = segment_at(transit, transit->base);
        assert(segment->state != TRANSIT_RECEIVED);
        if (segment->state == TRANSIT_OUT) {
            segment->state = TRANSIT_LOST;
            transit->out--;
            transit->lost++;
            transit->silent += transit->silent < SILENT_MAX;
        }
        transit->probing = true;
    }
    transit->timer = transit->base < transit->next ? now + timeout(transit) : ENV_NEVER;
    if (loss < transit->timer)
        transit->timer = loss;
}

void transit_check(const struct transit *transit)
{
    uint32_t out = 0, lost = 0;
    assert(transit->base <= transit->next && transit->next - transit->base <= transit->window);
    for (uint64_t at = transit->base; at < transit->next; at++) {
        const struct transit_segment *segment = segment_at(transit, at);
        out += segment->state == TRANSIT_OUT;
        lost += segment->state == TRANSIT_LOST;
    }
    assert(out == transit->out && lost == transit->lost);
    assert(transit->base == transit->next ||
           segment_at(transit, transit->base)->state != TRANSIT_RECEIVED);
    assert(transit->base == transit->next || transit->timer != ENV_NEVER);
    assert(transit->allowed >= TRANSIT_ALLOWED_MIN * UNIT);
}
