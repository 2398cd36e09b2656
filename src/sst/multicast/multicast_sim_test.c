/* Whole multicasts in a simulated group, on a table that this file simulates: what a member puts
 * reaches each other member at its own time, views are installed at different times and some not by
 * all members, and meanwhile members fail, leave, join and are expelled. */
#include <weft/sst_multicast.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define MEMBERS_MAX   24 /* in one run */
#define ROWS          8
#define VIEWS_MAX     64
#define PUTS_MAX      20000
#define PREDICATES    2
#define SLOT_SIZE     12
#define SLOT_COUNT    4
#define LOG_MAX       20000
#define LETTERS_MAX   600 /* per member */
#define SETTLE_ROUNDS 4000
#ifndef SEEDS
#define SEEDS 200
#define FIRST 0
#endif

/* Bytes of a row that changed. */
struct put {
    uint32_t offset, size;
    uint8_t *bytes;
};

struct simulated_view {
    uint64_t epoch;
    uint32_t members[ROWS]; /* index of the member plus 1; 0: none */
};

struct sst {
    unsigned who;
    struct sst_config config;
    struct sst_column columns[16];
    struct sst_predicate predicates[PREDICATES];
    unsigned predicate_count;
    struct simulated_view view;  /* installed */
    uint8_t *rows[MEMBERS_MAX];  /* this member's copy of each member's row */
    uint32_t taken[MEMBERS_MAX]; /* how many puts of each are in the copy */
    uint8_t *image;
};

struct letter {
    uint32_t from, number;
};

struct simulated_member {
    struct sst *table;
    struct sst_multicast *multicast;
    bool gone;     /* dead, or left */
    bool expelled; /* the others go on without it, whether it knows or not */
    bool joined_late;
    uint64_t since; /* the epoch in which it joined */
    uint32_t sent;
    struct put *puts;
    uint32_t put_count;
    bool unheard[MEMBERS_MAX]; /* members that receive only the first `heard` puts */
    uint32_t heard[MEMBERS_MAX];
    struct letter *log;
    uint32_t log_count;
    uint64_t sequence;
};

static struct {
    struct rng rng;
    struct simulated_member members[MEMBERS_MAX];
    unsigned member_count;
    struct simulated_view views[VIEWS_MAX];
    unsigned view_count;
    bool busy; /* a member is being stepped */
    uint64_t again;
} world;

/* ---- views ---- */

static uint32_t view_row(const struct simulated_view *view, unsigned who)
{
    for (uint32_t row = 0; row < ROWS; row++)
        if (view->members[row] == who + 1)
            return row;
    return ROWS;
}

static struct simulated_view *view_last(void)
{
    return &world.views[world.view_count - 1];
}

/* Makes the next view: the last one without members that are gone, possibly with a newcomer. */
static void view_make(unsigned newcomer)
{
    assert_true(world.view_count < VIEWS_MAX);
    struct simulated_view view = {0};
    if (world.view_count)
        view = *view_last();
    view.epoch += 1 + rng_below(&world.rng, 2);
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t who = view.members[row];
        if (who && (world.members[who - 1].gone || world.members[who - 1].expelled))
            view.members[row] = 0;
    }
    for (uint32_t row = 0; row < ROWS && newcomer < MEMBERS_MAX; row++)
        if (!view.members[row]) {
            view.members[row] = newcomer + 1;
            break;
        }
    world.views[world.view_count++] = view;
}

static void view_install(struct sst *table, const struct simulated_view *view)
{
    struct simulated_member *self = &world.members[table->who];
    for (unsigned who = 0; who < world.member_count; who++) {
        /* A process that is no longer a member has no row here any more, and receives no more
         * puts. */
        bool is_to_come = world.members[who].since > view->epoch;
        if (view_row(view, who) < ROWS || is_to_come || self->unheard[who])
            continue;
        memset(table->rows[who], 0, table->config.row_size);
        self->unheard[who] = true;
        self->heard[who] = self->put_count;
    }
    table->view = *view;
    if (table->config.upcall)
        table->config.upcall(table, &(struct sst_news){.kind = SST_EPOCH, .epoch = view->epoch},
                             table->config.argument);
}

/* ---- the table ---- */

static unsigned member_at(const struct sst *table, uint32_t row)
{
    return table->view.members[row] - 1;
}

uint64_t sst_epoch(const struct sst *table)
{
    return table->view.epoch;
}

uint32_t sst_row_own(const struct sst *table)
{
    return view_row(&table->view, table->who);
}

uint32_t sst_row_count(const struct sst *table)
{
    return ROWS;
}

ripc_id sst_member(const struct sst *table, uint32_t row)
{
    return table->view.members[row];
}

void *sst_own(struct sst *table)
{
    return table->image;
}

const void *sst_cells(const struct sst *table, uint32_t row, uint32_t column)
{
    return table->rows[member_at(table, row)] + table->columns[column].offset;
}

uint64_t sst_get_u64(const struct sst *table, uint32_t row, uint32_t column)
{
    uint64_t value = 0;
    if (table->view.members[row])
        memcpy(&value, sst_cells(table, row, column), sizeof value);
    return value;
}

int sst_get(const struct sst *table, uint32_t row, const struct sst_range *range, void *to)
{
    const struct sst_column *column = &table->columns[range->column];
    memcpy(to, sst_cells(table, row, range->column), column->count * SST_SIZE(column->type));
    return 0;
}

static void put_add(struct sst *table, uint32_t offset, uint32_t size)
{
    struct simulated_member *member = &world.members[table->who];
    memcpy(table->rows[table->who] + offset, table->image + offset, size);
    if (member->gone)
        return;
    assert_true(member->put_count < PUTS_MAX);
    struct put *put = &member->puts[member->put_count++];
    *put = (struct put){offset, size, malloc(size)};
    assert_non_null(put->bytes);
    memcpy(put->bytes, table->image + offset, size);
    table->taken[table->who] = member->put_count;
}

int sst_set_u64(struct sst *table, uint32_t column, uint64_t value)
{
    uint32_t offset = table->columns[column].offset;
    uint64_t before;
    memcpy(&before, table->image + offset, sizeof before);
    assert_true(!(table->columns[column].flags & SST_GROWS) || value >= before);
    memcpy(table->image + offset, &value, sizeof value);
    put_add(table, offset, sizeof value);
    return 0;
}

int sst_put(struct sst *table, const struct sst_range *ranges, unsigned count,
            const struct sst_rows *to)
{
    for (unsigned i = 0; i < count; i++) {
        const struct sst_column *column = &table->columns[ranges[i].column];
        uint32_t elements = ranges[i].count ? ranges[i].count : column->count - ranges[i].first;
        assert_true(ranges[i].first + elements <= column->count);
        put_add(table, column->offset + ranges[i].first * SST_SIZE(column->type),
                elements * SST_SIZE(column->type));
    }
    return 0;
}

int sst_publish(struct sst *table, const struct sst_range *ranges, unsigned count, uint32_t guard,
                uint64_t value, const struct sst_rows *to)
{
    sst_put(table, ranges, count, to);
    return sst_set_u64(table, guard, value);
}

int sst_predicate_add(struct sst *table, const struct sst_predicate *predicate, uint64_t *handle)
{
    assert_true(table->predicate_count < PREDICATES);
    table->predicates[table->predicate_count++] = *predicate;
    return 0;
}

int sst_open(struct ripc *ripc, const struct sst_config *config, struct sst **out)
{
    struct sst *table = calloc(1, sizeof *table);
    struct simulated_member *member = &world.members[world.member_count];
    assert_non_null(table);
    *table = (struct sst){.who = world.member_count, .config = *config};
    assert_true(config->column_count <= 16);
    memcpy(table->columns, config->columns, config->column_count * sizeof *table->columns);
    table->image = calloc(1, config->row_size);
    for (unsigned who = 0; who < MEMBERS_MAX; who++)
        table->rows[who] = calloc(1, config->row_size);
    member->table = table;
    member->puts = calloc(PUTS_MAX, sizeof *member->puts);
    member->log = calloc(LOG_MAX, sizeof *member->log);
    assert_true(member->puts && member->log && table->image);
    /* A member that meets another writes its whole row. */
    for (unsigned who = 0; who < world.member_count; who++) {
        if (!world.members[who].gone)
            memcpy(table->rows[who], world.members[who].table->image, config->row_size);
        table->taken[who] = world.members[who].put_count;
    }
    world.member_count++;
    view_make(table->who);
    member->since = view_last()->epoch;
    view_install(table, view_last());
    *out = table;
    return 0;
}

/* Frees nothing that other members may read. */
int sst_close(struct sst *table, int64_t deadline)
{
    world.members[table->who].gone = true;
    return 0;
}

/* Some of the puts of the others arrive, those of each member in order. */
static void puts_take(struct sst *table)
{
    for (unsigned who = 0; who < world.member_count; who++) {
        const struct simulated_member *from = &world.members[who];
        uint32_t all = from->unheard[table->who] ? from->heard[table->who] : from->put_count;
        uint32_t left = all - table->taken[who];
        if (who == table->who || !left || from->gone)
            continue;
        uint32_t many = (uint32_t)rng_below(&world.rng, left + 1);
        for (; many; many--) {
            const struct put *put = &from->puts[table->taken[who]++];
            memcpy(table->rows[who] + put->offset, put->bytes, put->size);
        }
    }
}

static void table_pass(struct sst *table)
{
    struct simulated_member *member = &world.members[table->who];
    puts_take(table);
    if (!member->expelled && table->view.epoch < view_last()->epoch &&
        rng_below(&world.rng, 3) == 0) {
        const struct simulated_view *view = &world.views[rng_below(&world.rng, world.view_count)];
        if (view->epoch > table->view.epoch && view_row(view, table->who) < ROWS)
            view_install(table, view);
    }
    if (member->expelled && rng_below(&world.rng, 20) == 0)
        table->config.upcall(table, &(struct sst_news){.kind = SST_EXPELLED},
                             table->config.argument);
    for (unsigned i = 0; i < table->predicate_count; i++)
        if (table->predicates[i].holds(table, table->predicates[i].argument))
            table->predicates[i].fire(table, table->predicates[i].argument);
}

/* Runs a pass of a random member; not from inside a pass. */
int sst_step(struct sst *table, int64_t deadline)
{
    if (world.busy)
        return -EBUSY;
    world.busy = true;
    unsigned who = (unsigned)rng_below(&world.rng, world.member_count);
    struct simulated_member *member = &world.members[who];
    if (member->table && !member->gone)
        table_pass(member->table);
    world.busy = false;
    return 0;
}

/* ---- members ---- */

static void deliver(struct sst_multicast *multicast, const struct sst_multicast_message *messages,
                    unsigned count, void *argument)
{
    struct simulated_member *member = argument;
    for (unsigned i = 0; i < count; i++) {
        struct letter letter;
        assert_true(messages[i].size == sizeof letter || messages[i].size == SLOT_SIZE);
        memcpy(&letter, messages[i].data, sizeof letter);
        assert_int_equal(messages[i].member, letter.from + 1);
        assert_true(member->log_count == 0 || messages[i].sequence > member->sequence);
        member->sequence = messages[i].sequence;
        assert_true(member->log_count < LOG_MAX);
        member->log[member->log_count++] = letter;
    }
}

static void member_join(void)
{
    struct simulated_member *member = &world.members[world.member_count];
    struct sst_multicast_config config = {
        .table = 1,
        .slot_size = SLOT_SIZE,
        .slot_count = SLOT_COUNT,
        .ring_count = 8,
        .flags = SST_MANUAL,
        .deadline = RIPC_FOREVER,
        .deliver = deliver,
        .argument = member,
    };
    member->joined_late = world.member_count > 0;
    assert_int_equal(sst_multicast_open(NULL, &config, &member->multicast), 0);
}

static void member_send(unsigned who)
{
    struct simulated_member *member = &world.members[who];
    uint8_t texts[6][SLOT_SIZE] = {{0}};
    struct iovec messages[6];
    unsigned count = 1 + (unsigned)rng_below(&world.rng, 6);
    if (member->sent + count > LETTERS_MAX)
        return;
    for (unsigned i = 0; i < count; i++) {
        struct letter letter = {who, member->sent + i};
        memcpy(texts[i], &letter, sizeof letter);
        messages[i] = (struct iovec){texts[i], i % 2 ? SLOT_SIZE : sizeof letter};
    }
    int sent = sst_multicast_send_many(member->multicast, messages, count, RIPC_NOW);
    assert_true(sent > 0 || sent == -EAGAIN || (sent == -ESTALE && member->expelled));
    if (sent > 0)
        member->sent += (uint32_t)sent;
}

static unsigned living(void)
{
    unsigned count = 0;
    for (unsigned who = 0; who < world.member_count; who++)
        count += !world.members[who].gone && !world.members[who].expelled;
    return count;
}

static void member_fail(unsigned who)
{
    world.members[who].gone = true; /* no member receives more of its puts */
    view_make(MEMBERS_MAX);
    sst_multicast_close(world.members[who].multicast, RIPC_NOW);
}

static void something_happens(void)
{
    unsigned who = (unsigned)rng_below(&world.rng, world.member_count);
    struct simulated_member *member = &world.members[who];
    bool well = !member->gone && !member->expelled;
    if (rng_below(&world.rng, 150) == 0 && world.view_count < VIEWS_MAX - 4) {
        switch (rng_below(&world.rng, 5)) {
        case 0:
        case 1:
            if (well && living() > 1)
                member_fail(who);
            return;
        case 2:
            if (living() < ROWS && world.member_count < MEMBERS_MAX)
                member_join();
            return;
        case 3:
            if (well && living() > 1) {
                assert_int_equal(sst_multicast_close(member->multicast, RIPC_FOREVER), 0);
                view_make(MEMBERS_MAX);
            }
            return;
        default:
            if (well && living() > 2) {
                member->expelled = true;
                view_make(MEMBERS_MAX);
            }
            return;
        }
    }
    if (rng_below(&world.rng, 8) == 0 && !member->gone &&
        who % 3 != 2) /* some members are silent */
        member_send(who);
    else
        sst_step(NULL, RIPC_NOW);
}

/* ---- checks ---- */

/* Is what `part` delivered the beginning (or the end) of what `whole` delivered? */
static bool logs_agree(const struct simulated_member *part, const struct simulated_member *whole)
{
    if (part->log_count == 0)
        return true;
    /* Finds the first letter, which is unique. */
    uint32_t from = 0;
    while (from < whole->log_count &&
           memcmp(&whole->log[from], &part->log[0], sizeof part->log[0]) != 0)
        from++;
    uint32_t common = whole->log_count - from;
    if (common > part->log_count)
        common = part->log_count;
    if (!part->joined_late && from != 0)
        return false;
    bool ends_together = from + part->log_count == whole->log_count;
    bool fits = part->gone || part->expelled ? common == part->log_count : ends_together;
    return fits && memcmp(part->log, whole->log + from, common * sizeof *part->log) == 0;
}

/* Checks that each sender's letters are in order without duplicates, and complete for live
 * senders. */
static bool log_is_whole(const struct simulated_member *member)
{
    uint32_t next[MEMBERS_MAX];
    memset(next, 0xff, sizeof next);
    for (uint32_t i = 0; i < member->log_count; i++) {
        struct letter letter = member->log[i];
        uint32_t first =
            member->joined_late && &world.members[letter.from] != member ? letter.number : 0;
        if (letter.number != (next[letter.from] == UINT32_MAX ? first : next[letter.from]))
            return false;
        next[letter.from] = letter.number + 1;
    }
    for (unsigned who = 0; who < world.member_count; who++) {
        const struct simulated_member *other = &world.members[who];
        bool heard = next[who] != UINT32_MAX || !member->joined_late;
        uint32_t last = next[who] == UINT32_MAX ? 0 : next[who];
        if (!other->gone && !other->expelled && heard && last != other->sent)
            return false;
    }
    return true;
}

/* Is there nothing left to do for the remaining members? */
static bool all_is_quiet(void)
{
    for (unsigned who = 0; who < world.member_count; who++) {
        const struct simulated_member *member = &world.members[who];
        const struct sst *table = member->table;
        if (member->gone || member->expelled)
            continue;
        if (table->view.epoch != view_last()->epoch)
            return false;
        for (unsigned from = 0; from < world.member_count; from++)
            if (view_row(view_last(), from) < ROWS &&
                table->taken[from] != world.members[from].put_count)
                return false;
        for (unsigned i = 0; i < table->predicate_count; i++)
            if (table->predicates[i].holds(table, table->predicates[i].argument))
                return false;
    }
    return true;
}

static void world_end(void)
{
    for (unsigned who = 0; who < world.member_count; who++) {
        struct simulated_member *member = &world.members[who];
        if (!member->gone)
            sst_multicast_close(member->multicast, RIPC_NOW);
        for (uint32_t i = 0; i < member->put_count; i++)
            free(member->puts[i].bytes);
        for (unsigned other = 0; other < MEMBERS_MAX; other++)
            free(member->table->rows[other]);
        free(member->puts);
        free(member->log);
        free(member->table->image);
        free(member->table);
    }
}

/* Compares members that were there from the beginning with each other, and each remaining member
 * with all later ones. */
static void logs_check(uint64_t seed)
{
    for (unsigned one = 0; one < world.member_count; one++) {
        struct simulated_member *whole = &world.members[one];
        if (!whole->gone && !whole->expelled && !log_is_whole(whole))
            fail_msg("seed %llu: member %u has not delivered all letters", (unsigned long long)seed,
                     one);
        for (unsigned other = 0; other < world.member_count; other++) {
            struct simulated_member *part = &world.members[other];
            bool comparable = !whole->gone && !whole->expelled && other != one &&
                              (!whole->joined_late || part->joined_late) && other > one;
            if (comparable && !logs_agree(part, whole))
                fail_msg("seed %llu: members %u (%u letters) and %u (%u) differ",
                         (unsigned long long)seed, one, whole->log_count, other, part->log_count);
        }
    }
}

static uint32_t simulate(uint64_t seed)
{
    memset(&world, 0, sizeof world);
    world.rng = rng_make(seed, 3);
    for (unsigned i = 0; i < 2 + seed % 4; i++)
        member_join();
    for (unsigned step = 0; step < 3000; step++)
        something_happens();
    unsigned rounds = 0;
    while (!all_is_quiet() && rounds++ < SETTLE_ROUNDS)
        for (unsigned i = 0; i < 50; i++)
            sst_step(NULL, RIPC_NOW);
    if (rounds > SETTLE_ROUNDS)
        fail_msg("seed %llu does not settle", (unsigned long long)seed);
    logs_check(seed);
    uint32_t delivered = 0;
    for (unsigned who = 0; who < world.member_count; who++)
        delivered += world.members[who].log_count;
    world_end();
    return delivered;
}

static void all_members_deliver_the_same_messages(void **state)
{
    uint64_t delivered = 0;
    for (uint64_t seed = FIRST; seed < SEEDS; seed++)
        delivered += simulate(seed);
    assert_true(delivered > 200 * SEEDS);
}

TEST_MAIN(TEST(all_members_deliver_the_same_messages))
