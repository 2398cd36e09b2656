/* Tests names of programs of several servers, in a small world whose servers crash. */
#include "services/directory/directory.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "node/configuration/configuration.h"
#include "node/node_world.h"
#include "wire/directory.h"

static const struct weft_service *const services[] = {&service_directory, NULL};

#define SPEC   "torus:3x3x3"
#define DOMAIN 42
#define MSEC   (1000 * 1000LL)
#define SOON   (50 * MSEC)   /* by then an answer has come */
#define SURE   (6000 * MSEC) /* by then servers answer for names */
#define AWHILE (6000 * MSEC) /* by then a crash is noticed and its claims have expired */

static struct directory_message scratch;

static void say(struct world *world, node_id server, uint64_t client,
                enum directory_operation operation, uint64_t id, uint64_t member,
                uint64_t incarnation)
{
    uint8_t bytes[DIRECTORY_MESSAGE_MAX];
    memset(&scratch, 0, sizeof scratch);
    scratch.operation = operation;
    scratch.parts = 1;
    scratch.domain = DOMAIN;
    scratch.id = id;
    if (member) {
        scratch.count = 1;
        scratch.claims[0] = (struct directory_claim){
            .member = member, .incarnation = incarnation, .group = member != id, .size = 4};
        memcpy(scratch.claims[0].record, "seal", 4);
    }
    size_t size = directory_write(&scratch, bytes);
    world_ask(world, server, DIRECTORY_SERVICE, client, bytes, size);
}

static void hang_up(struct world *world, node_id server, uint64_t client)
{
    struct world_node *at = &world->nodes[server];
    at->env.now = world->now;
    node_local_gone(at->node, client);
    at->next = world->now;
}

/* The last answer of that kind to that program about that id; NULL: none. */
static const struct directory_message *heard(const struct world *world, uint64_t client,
                                             enum directory_operation operation, uint64_t id)
{
    for (uint32_t i = world->answer_count; i-- > 0;) {
        if (world->answers[i].client != client)
            continue;
        assert_int_equal(directory_read(&scratch, world->answers[i].bytes, world->answers[i].size),
                         0);
        if (scratch.operation == operation && scratch.id == id)
            return &scratch;
    }
    return NULL;
}

/* Claims, and waits for the root's decision; 1: no answer. */
static int claim(struct world *world, node_id server, uint64_t client, uint64_t id, uint64_t member,
                 uint64_t incarnation)
{
    world_forget(world);
    say(world, server, client, DIRECTORY_CLAIM, id, member, incarnation);
    world_run(world, SOON);
    const struct directory_message *answer = heard(world, client, DIRECTORY_CLAIMED, id);
    return answer ? answer->status : 1;
}

/* Asks; returns the number of claims, and in scratch their last part. */
static unsigned ask(struct world *world, node_id server, uint64_t client, uint64_t id)
{
    world_forget(world);
    say(world, server, client, DIRECTORY_ASK, id, 0, 0);
    world_run(world, SOON);
    const struct directory_message *answer = heard(world, client, DIRECTORY_ANSWER, id);
    assert_non_null(answer);
    return answer->count;
}

static struct world *directory_world(void)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    world_run(world, SURE);
    return world;
}

/* The server that holds the name as its root. */
static node_id root_of(struct world *world, uint64_t id)
{
    uint8_t bytes[16];
    struct writer out = writer_make(bytes, sizeof bytes);
    write_u64(&out, DOMAIN);
    write_u64(&out, id);
    struct key key = key_hash(bytes, sizeof bytes);
    return node_root(world->nodes[0].node ? world->nodes[0].node : world->nodes[1].node, &key);
}

/* An id that a program of server 3 holds, and whose root is neither there nor at server 5, which
 * will be asked for it. */
static uint64_t id_claimed(struct world *world)
{
    uint64_t id = 1;
    while (root_of(world, id) == 3 || root_of(world, id) == 5)
        id++;
    assert_int_equal(claim(world, 3, 1, id, id, 5), 0);
    return id;
}

/* ---- */

static void a_claim_is_found_from_every_server(void **state)
{
    struct world *world = directory_world();
    assert_int_equal(claim(world, 3, 1, 77, 77, 5), 0);
    for (node_id server = 0; server < 27; server++) {
        assert_int_equal(ask(world, server, 100 + server, 77), 1);
        assert_int_equal(scratch.claims[0].member, 77);
        assert_int_equal(scratch.claims[0].incarnation, 5);
        assert_int_equal(scratch.claims[0].server, 3);
        assert_int_equal(scratch.status, 0);
        assert_memory_equal(scratch.claims[0].record, "seal", 4);
    }
    assert_int_equal(ask(world, 0, 200, 78), 0);
    world_close(world);
}

static void a_name_has_only_one_holder(void **state)
{
    struct world *world = directory_world();
    assert_int_equal(claim(world, 3, 1, 77, 77, 5), 0);
    assert_int_equal(claim(world, 9, 2, 77, 77, 6), -EADDRINUSE);
    assert_int_equal(claim(world, 3, 3, 77, 77, 6), -EADDRINUSE); /* another program there */
    assert_int_equal(claim(world, 9, 2, 77, 99, 6), -EADDRINUSE); /* the name is not a group */
    say(world, 3, 1, DIRECTORY_WITHDRAW, 77, 77, 5);
    world_run(world, SOON);
    assert_int_equal(claim(world, 9, 2, 77, 77, 6), 0);
    assert_int_equal(ask(world, 5, 9, 77), 1);
    assert_int_equal(scratch.claims[0].server, 9);
    world_close(world);
}

static void a_group_has_many_members(void **state)
{
    struct world *world = directory_world();
    for (uint64_t member = 1; member <= 100; member++)
        assert_int_equal(claim(world, (node_id)(member % 27), 1000 + member, 500, member, 1), 0);
    world_forget(world);
    say(world, 7, 1, DIRECTORY_ASK, 500, 0, 0);
    world_run(world, SOON);
    bool seen[101] = {false};
    unsigned count = 0, parts = 0;
    for (uint32_t i = 0; i < world->answer_count; i++) {
        assert_int_equal(directory_read(&scratch, world->answers[i].bytes, world->answers[i].size),
                         0);
        if (scratch.operation != DIRECTORY_ANSWER || world->answers[i].client != 1)
            continue;
        parts++;
        assert_int_equal(scratch.parts, 2);
        for (unsigned j = 0; j < scratch.count; j++) {
            assert_false(seen[scratch.claims[j].member]);
            seen[scratch.claims[j].member] = true;
            count++;
        }
    }
    assert_int_equal(parts, 2);
    assert_int_equal(count, 100);
    world_close(world);
}

/* Cuts all cables of a server, or connects them again, before its neighbours notice. */
static void cables_cut(struct world *world, node_id server, bool dead)
{
    for (unsigned port = 0; port < world->plan.port_count; port++)
        world_cut(world, server, plan_end(&world->plan, server, port)->server, dead);
}

static void withdraw(struct world *world, uint64_t id)
{
    say(world, 3, 1, DIRECTORY_WITHDRAW, id, id, 5);
    world_run(world, MSEC);
}

static void a_withdrawal_that_is_lost_is_repeated(void **state)
{
    struct world *world = directory_world();
    uint64_t id = id_claimed(world);
    cables_cut(world, 3, true);
    withdraw(world, id);
    cables_cut(world, 3, false);
    assert_int_equal(world_number(world, 3, "directory", "claimed_here"), 0);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 1);
    assert_int_equal(claim(world, 5, 2, id, id, 6), -EADDRINUSE);
    world_run(world, 300 * MSEC);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 0);
    assert_int_equal(claim(world, 5, 2, id, id, 6), 0);
    assert_int_equal(ask(world, 8, 9, id), 1);
    assert_int_equal(scratch.claims[0].server, 5);
    world_close(world);
}

/* The new claim must be kept although the old withdrawal was lost, also if another program makes
 * it. */
static void a_new_claim_ends_the_withdrawal_of_an_old_one(void **state)
{
    for (uint64_t client = 1; client <= 2; client++) {
        struct world *world = directory_world();
        uint64_t id = id_claimed(world);
        cables_cut(world, 3, true);
        withdraw(world, id);
        cables_cut(world, 3, false);
        assert_int_equal(claim(world, 3, client, id, id, 6), 0);
        assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 0);
        world_run(world, AWHILE);
        assert_int_equal(ask(world, 8, 9, id), 1);
        assert_int_equal(scratch.claims[0].incarnation, 6);
        world_close(world);
    }
}

/* No server notices that the cables are cut, so all messages of server 3 are lost. */
static void a_withdrawal_is_not_repeated_for_longer_than_the_lease(void **state)
{
    const struct node_config patient = {
        .seed = 1, .services = services, .silence_nsec = 200 * 1000 * MSEC};
    struct world *world = world_open(SPEC, &patient);
    world_run(world, SURE);
    uint64_t id = id_claimed(world);
    cables_cut(world, 3, true);
    withdraw(world, id);
    world_run(world, 3000 * MSEC);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 1);
    world_run(world, 1000 * MSEC);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 0);
    assert_int_equal(ask(world, 5, 9, id), 0);
    world_close(world);
}

/* A root that has just started may still get a copy of the claim: it does not confirm yet. */
static void a_young_root_does_not_confirm_a_withdrawal(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    uint64_t id = 1;
    while (root_of(world, id) == 3)
        id++;
    say(world, 3, 1, DIRECTORY_CLAIM, id, id, 5);
    withdraw(world, id);
    world_run(world, 500 * MSEC);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 1);
    world_run(world, 2000 * MSEC);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 0);
    world_close(world);
}

/* Withdrawals that wait for their confirmation take no room of programs. */
static void withdrawals_make_room_for_claims(void **state)
{
    struct world *world = directory_world();
    for (uint64_t id = 1; id <= 192; id++)
        say(world, 3, 1, DIRECTORY_CLAIM, id, id, 5);
    for (uint64_t id = 1001; id <= 1064; id++)
        say(world, 3, 2 + id % 16, DIRECTORY_CLAIM, id, id, 5);
    assert_int_equal(world_number(world, 3, "directory", "claimed_here"), 256);
    hang_up(world, 3, 1);
    for (uint64_t id = 2001; id <= 2128; id++)
        say(world, 3, 30, DIRECTORY_CLAIM, id, id, 6);
    assert_int_equal(world_number(world, 3, "directory", "overflows"), 0);
    assert_int_equal(world_number(world, 3, "directory", "claimed_here"), 64 + 128);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 64);
    world_run(world, SOON);
    assert_int_equal(world_number(world, 3, "directory", "leaving_here"), 0);
    assert_int_equal(ask(world, 5, 9, 2128), 1);
    world_close(world);
}

static void the_claims_of_a_disconnected_program_are_gone(void **state)
{
    struct world *world = directory_world();
    assert_int_equal(claim(world, 3, 1, 77, 77, 5), 0);
    hang_up(world, 3, 1);
    world_run(world, SOON);
    assert_int_equal(ask(world, 5, 9, 77), 0);
    for (node_id server = 0; server < 27; server++)
        assert_int_equal(world_number(world, server, "directory", "held"), 0);
    assert_int_equal(claim(world, 4, 2, 77, 77, 6), 0);
    world_close(world);
}

/* The table of a server has 256 entries. */
static void one_program_does_not_take_all_names(void **state)
{
    struct world *world = directory_world();
    for (uint64_t id = 1; id <= 192; id++)
        say(world, 3, 1, DIRECTORY_CLAIM, id, id, 5);
    assert_int_equal(claim(world, 3, 1, 193, 193, 5), -ENOSPC);
    for (uint64_t client = 2; client < 6; client++)
        for (uint64_t id = 1; id <= 16; id++)
            assert_int_equal(claim(world, 3, client, 1000 * client + id, 1000 * client + id, 5), 0);
    assert_int_equal(claim(world, 3, 7, 7777, 7777, 5), -ENOSPC); /* all entries are in use */
    hang_up(world, 3, 1);
    world_run(world, SOON);
    assert_int_equal(claim(world, 3, 7, 7777, 7777, 6), 0);
    world_close(world);
}

/* The same for questions; a program without room asks again by itself. */
static void one_program_does_not_take_all_questions(void **state)
{
    struct world *world = directory_world();
    assert_int_equal(claim(world, 4, 9, 7777, 7777, 5), 0);
    for (uint64_t id = 1; id <= 300; id++)
        say(world, 3, 1, DIRECTORY_ASK, id, 0, 0);
    assert_int_equal(world_number(world, 3, "directory", "overflows"), 300 - 192);
    assert_int_equal(ask(world, 3, 2, 7777), 1);
    world_close(world);
}

static void no_claim_is_lost_when_the_root_crashes(void **state)
{
    struct world *world = directory_world();
    uint64_t id = id_claimed(world);
    node_id root = root_of(world, id);
    world_crash(world, root);
    world_run(world, 1500 * MSEC); /* until it is noticed */
    assert_int_not_equal(root_of(world, id), root);
    assert_int_equal(ask(world, 5, 9, id), 1);
    assert_int_equal(claim(world, 5, 2, id, id, 6), -EADDRINUSE);
    /* It restarts without claims: it neither says that the name is unclaimed nor gives it away. */
    world_start(world, root);
    for (unsigned i = 0; i < 60; i++) {
        world_run(world, 50 * MSEC);
        world_forget(world);
        say(world, 5, 9, DIRECTORY_ASK, id, 0, 0);
        world_run(world, SOON);
        const struct directory_message *answer = heard(world, 9, DIRECTORY_ANSWER, id);
        assert_true(!answer || answer->count == 1 || answer->status == -EAGAIN);
        assert_int_not_equal(claim(world, 5, 2, id, id, 6), 0);
    }
    assert_int_equal(root_of(world, id), root);
    assert_int_equal(ask(world, 5, 9, id), 1);
    world_close(world);
}

static void a_claim_that_is_not_repeated_expires(void **state)
{
    struct world *world = directory_world();
    uint64_t id = id_claimed(world);
    world_crash(world, 3);
    world_run(world, AWHILE);
    assert_int_equal(ask(world, 5, 9, id), 0);
    assert_int_equal(claim(world, 5, 2, id, id, 6), 0);
    world_close(world);
}

/* Servers that notice no crash by themselves: only claims expire. */
static struct world *patient_world(void)
{
    struct node_config patient = {
        .seed = 1, .services = services, .silence_nsec = 200 * 1000 * MSEC};
    struct world *world = world_open(SPEC, &patient);
    world_run(world, SURE);
    return world;
}

static void a_pause_of_all_servers_does_not_age_claims(void **state)
{
    struct world *world = patient_world();
    uint64_t id = id_claimed(world);
    for (unsigned i = 0; i < 3; i++) {
        world->now += 20 * 1000 * MSEC;
        assert_int_equal(ask(world, 5, 9, id), 1);
    }
    world_close(world);
}

static void a_claim_that_expired_in_a_pause_does_not_block_new_ones(void **state)
{
    struct world *world = patient_world();
    uint64_t id = id_claimed(world);
    world_crash(world, 3);
    assert_int_equal(claim(world, 5, 2, id, id, 6), -EADDRINUSE);
    world->now += 20 * 1000 * MSEC;
    assert_int_equal(claim(world, 5, 2, id, id, 7), 0);
    assert_int_equal(ask(world, 8, 9, id), 1);
    assert_int_equal(scratch.claims[0].server, 5);
    world_close(world);
}

static void answers_come_from_servers_on_the_way(void **state)
{
    struct world *world = directory_world();
    uint64_t on_way = 0;
    for (uint64_t id = 1; id <= 30; id++)
        assert_int_equal(claim(world, 3, id, id, id, 5), 0);
    world_run(world, SURE);
    for (uint64_t id = 1; id <= 30; id++)
        for (node_id server = 0; server < 27; server += 5)
            assert_int_equal(ask(world, server, 1000 + server, id), 1);
    for (node_id server = 0; server < 27; server++)
        on_way += world_number(world, server, "directory", "answers_on_way");
    assert_true(on_way > 0);
    world_close(world);
}

/* Programs come, go and claim, servers crash and return; in the end all servers find the program
 * that holds a name, and no name has two holders. */
#define PROGRAMS 12
#define IDS      6

struct chaos {
    struct world *world;
    struct rng rng;
    struct {
        node_id server;
        uint64_t client, id;
        bool has;
    } programs[PROGRAMS];
    uint64_t clients, incarnations;
};

static void chaos_program(struct chaos *chaos, unsigned i)
{
    struct world *world = chaos->world;
    if (chaos->programs[i].client) {
        if (world->nodes[chaos->programs[i].server].node)
            hang_up(world, chaos->programs[i].server, chaos->programs[i].client);
        chaos->programs[i].client = 0;
        return;
    }
    node_id server = (node_id)rng_below(&chaos->rng, 27);
    if (!world->nodes[server].node)
        return;
    chaos->programs[i].server = server;
    chaos->programs[i].client = ++chaos->clients;
    chaos->programs[i].id = 1 + rng_below(&chaos->rng, IDS);
    say(world, server, chaos->clients, DIRECTORY_CLAIM, chaos->programs[i].id,
        chaos->programs[i].id, ++chaos->incarnations);
}

static void chaos_server(struct chaos *chaos)
{
    struct world *world = chaos->world;
    node_id server = 1 + (node_id)rng_below(&chaos->rng, 26);
    if (!world->nodes[server].node) {
        world_start(world, server);
        return;
    }
    world_crash(world, server);
    for (unsigned i = 0; i < PROGRAMS; i++)
        if (chaos->programs[i].client && chaos->programs[i].server == server)
            chaos->programs[i].client = 0;
}

/* Notes which programs hold their names according to the last answer to them. */
static void chaos_settle(struct chaos *chaos)
{
    struct world *world = chaos->world;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        chaos->programs[i].has = false;
        if (!chaos->programs[i].client)
            continue;
        for (uint32_t j = 0; j < world->answer_count; j++) {
            if (world->answers[j].client != chaos->programs[i].client)
                continue;
            assert_int_equal(
                directory_read(&scratch, world->answers[j].bytes, world->answers[j].size), 0);
            if (scratch.operation == DIRECTORY_CLAIMED)
                chaos->programs[i].has = scratch.status == 0;
        }
    }
}

static void chaos_check(struct chaos *chaos)
{
    unsigned holders = 0;
    for (uint64_t id = 1; id <= IDS; id++) {
        unsigned count = 0;
        node_id server = NODE_NONE;
        for (unsigned i = 0; i < PROGRAMS; i++)
            if (chaos->programs[i].has && chaos->programs[i].id == id) {
                count++;
                server = chaos->programs[i].server;
            }
        assert_true(count <= 1);
        holders += count;
        for (node_id from = 0; from < 27; from += 13) {
            assert_int_equal(ask(chaos->world, from, 1000000 + from, id), count);
            assert_true(!count || scratch.claims[0].server == server);
        }
    }
    print_message("# %u names held\n", holders);
}

static void names_survive_chaos(void **state)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct chaos *chaos = calloc(1, sizeof *chaos);
        assert_non_null(chaos);
        print_message("# seed %llu\n", (unsigned long long)seed);
        chaos->world = directory_world();
        chaos->rng = rng_make(seed, 0);
        for (unsigned step = 0; step < 60; step++) {
            if (rng_below(&chaos->rng, 4) == 0)
                chaos_server(chaos);
            else
                chaos_program(chaos, (unsigned)rng_below(&chaos->rng, PROGRAMS));
            world_run(chaos->world, (env_nsec)rng_below(&chaos->rng, 600) * MSEC);
        }
        for (node_id server = 0; server < 27; server++)
            if (!chaos->world->nodes[server].node)
                world_start(chaos->world, server);
        world_run(chaos->world, AWHILE);
        chaos_settle(chaos);
        chaos_check(chaos);
        world_close(chaos->world);
        free(chaos);
    }
}

/* ---- refusals ---- */

static uint64_t number(struct world *world, node_id server, const char *name)
{
    return world_number(world, server, "directory", name);
}

/* A neighbour of that server. */
static node_id next_to(const struct world *world, node_id server)
{
    return plan_end(&world->plan, server, 0)->server;
}

/* Sends a message as if one server's directory sent it to another's. */
static void tell_bytes(struct world *world, node_id source, node_id via, node_id to,
                       const uint8_t *bytes, size_t size)
{
    struct packet *packet = world_forge(world, DIRECTORY_SERVICE, bytes, (uint32_t)size);
    packet->source = source;
    packet_set_server(packet, to);
    world_arrive(world, next_to(world, via), via, packet);
    world_run(world, 1);
}

static void tell(struct world *world, node_id source, node_id to,
                 enum directory_operation operation, uint64_t id, uint64_t incarnation, int status)
{
    uint8_t bytes[DIRECTORY_MESSAGE_MAX];
    memset(&scratch, 0, sizeof scratch);
    scratch.operation = operation;
    scratch.status = status;
    scratch.parts = 1;
    scratch.domain = DOMAIN;
    scratch.id = id;
    scratch.count = 1;
    scratch.claims[0] =
        (struct directory_claim){.member = id, .incarnation = incarnation, .server = 9, .size = 4};
    tell_bytes(world, source, to, to, bytes, directory_write(&scratch, bytes));
}

static void malformed_messages_are_counted(void **state)
{
    struct world *world = directory_world();
    tell_bytes(world, 1, 0, 0, (const uint8_t *)"nonsense", 8);
    assert_int_equal(number(world, 0, "garbage"), 1);
    world_ask(world, 0, DIRECTORY_SERVICE, 1, "nonsense", 8);
    assert_int_equal(number(world, 0, "garbage"), 2);
    say(world, 0, 1, DIRECTORY_COPY, 7, 7, 1); /* programs may not send this */
    assert_int_equal(number(world, 0, "garbage"), 3);
    assert_int_equal(number(world, 0, "held"), 0);

    uint8_t bytes[DIRECTORY_MESSAGE_MAX];
    memset(&scratch, 0, sizeof scratch);
    scratch.operation = DIRECTORY_ASK;
    scratch.parts = 1;
    scratch.domain = DOMAIN;
    scratch.id = 7;
    size_t size = directory_write(&scratch, bytes);
    bytes[size] = 0; /* one byte too many */
    world_ask(world, 0, DIRECTORY_SERVICE, 1, bytes, size + 1);
    assert_int_equal(number(world, 0, "garbage"), 4);
    assert_int_equal(number(world, 0, "wanted_here"), 0);
    world_close(world);
}

/* A malformed question is not answered on its way, but refused at its destination. */
static void a_malformed_question_is_not_answered_on_the_way(void **state)
{
    struct world *world = directory_world();
    uint64_t id = id_claimed(world);
    node_id root = root_of(world, id);
    uint8_t bytes[DIRECTORY_MESSAGE_MAX];
    memset(&scratch, 0, sizeof scratch);
    scratch.operation = DIRECTORY_ASK;
    scratch.parts = 1;
    scratch.domain = DOMAIN;
    scratch.id = id;
    size_t size = directory_write(&scratch, bytes);
    bytes[size] = 0;
    node_id to = (root + 13) % 27; /* farther on */
    tell_bytes(world, next_to(world, root), root, to, bytes, size + 1);
    world_run(world, SOON);
    assert_int_equal(number(world, root, "answers_on_way"), 0);
    assert_int_equal(number(world, to, "garbage"), 1);
    tell_bytes(world, next_to(world, root), root, to, bytes, size);
    assert_int_equal(number(world, root, "answers_on_way"), 1); /* a valid one is answered */
    world_close(world);
}

static void only_the_owner_changes_a_claim(void **state)
{
    struct world *world = directory_world();
    uint64_t id = id_claimed(world);
    node_id root = root_of(world, id);
    tell(world, 7, root, DIRECTORY_WITHDRAW, id, 5, 0); /* from another server */
    tell(world, 3, root, DIRECTORY_WITHDRAW, id, 4, 0); /* of an earlier incarnation */
    tell(world, 9, root, DIRECTORY_UNCOPY, id, 5, 0);   /* of another owner */
    assert_int_equal(number(world, root, "held"), 1);
    tell(world, 7, root, DIRECTORY_COPY, id, 4, 0);
    assert_int_equal(ask(world, 5, 2, id), 1);
    assert_int_equal(scratch.claims[0].incarnation, 5);
    assert_int_equal(scratch.claims[0].server, 3);
    /* A root's decision about an earlier incarnation. */
    tell(world, root, 3, DIRECTORY_CLAIMED, id, 4, -EADDRINUSE);
    assert_int_equal(number(world, 3, "claimed_here"), 1);
    say(world, 3, 2, DIRECTORY_WITHDRAW, id, id, 5); /* another program of that server */
    assert_int_equal(number(world, 3, "claimed_here"), 1);
    say(world, 3, 1, DIRECTORY_WITHDRAW, id, id, 5);
    assert_int_equal(number(world, 3, "claimed_here"), 0);
    world_close(world);
}

static void a_claim_belongs_to_its_sender(void **state)
{
    struct world *world = directory_world();
    uint64_t id = 1;
    while (root_of(world, id) != 20)
        id++;
    tell(world, 3, 20, DIRECTORY_CLAIM, id, 5, 0); /* it claims to be from server 9 */
    assert_int_equal(ask(world, 5, 2, id), 1);
    assert_int_equal(scratch.claims[0].server, 3);
    world_close(world);
}

static void tables_are_bounded(void **state)
{
    struct world *world = directory_world();
    for (uint64_t id = 1; id <= 1030; id++)
        tell(world, 1, 0, DIRECTORY_COPY, id, 1, 0);
    assert_int_equal(number(world, 0, "held"), 1024);
    assert_int_equal(number(world, 0, "overflows"), 6);
    for (uint64_t id = 2001; id <= 2257; id++)
        say(world, 4, id % 20, DIRECTORY_CLAIM, id, id, 1);
    assert_int_equal(number(world, 4, "claimed_here"), 256);
    assert_non_null(heard(world, 2257 % 20, DIRECTORY_CLAIMED, 2257));
    assert_int_equal(scratch.status, -ENOSPC);
    for (uint64_t id = 2001; id <= 2257; id++)
        say(world, 8, id % 20, DIRECTORY_ASK, id, 0, 0);
    assert_int_equal(number(world, 8, "wanted_here"), 256);
    assert_int_equal(number(world, 8, "overflows"), 1);
    world_close(world);
}

/* A world whose directory has these settings. */
static struct world *set_world(const char *first, const char *second,
                               struct configuration *settings)
{
    struct why why = {0};
    assert_int_equal(configuration_add(settings, "test", first, &why), OK);
    assert_int_equal(configuration_add(settings, "test", second, &why), OK);
    const struct node_config config = {.seed = 1, .services = services, .configuration = settings};
    struct world *world = world_open(SPEC, &config);
    world_run(world, SURE);
    return world;
}

static void the_lease_of_a_claim_is_a_parameter(void **state)
{
    struct configuration settings = {0};
    struct world *world = set_world("directory.lease=20s", "directory.memory=2M", &settings);
    uint64_t id = id_claimed(world);
    world_crash(world, 3);
    world_run(world, AWHILE);
    assert_int_equal(ask(world, 5, 9, id), 1); /* by the default it has expired by now */
    world_run(world, 20 * 1000 * MSEC);
    assert_int_equal(ask(world, 5, 9, id), 0);
    world_close(world);
    configuration_fini(&settings);
}

static void the_sizes_of_tables_are_parameters(void **state)
{
    struct configuration settings = {0};
    struct world *world = set_world("directory.names=16", "directory.claims_held=64", &settings);
    for (uint64_t id = 1; id <= 70; id++)
        tell(world, 1, 0, DIRECTORY_COPY, id, 1, 0);
    assert_int_equal(number(world, 0, "held"), 64);
    for (uint64_t id = 2001; id <= 2020; id++)
        say(world, 4, id, DIRECTORY_CLAIM, id, id, 1);
    assert_int_equal(number(world, 4, "claimed_here"), 16);
    world_close(world);
    configuration_fini(&settings);
}

TEST_MAIN(TEST(a_claim_is_found_from_every_server), TEST(a_name_has_only_one_holder),
          TEST(a_group_has_many_members), TEST(a_withdrawal_that_is_lost_is_repeated),
          TEST(a_new_claim_ends_the_withdrawal_of_an_old_one),
          TEST(a_young_root_does_not_confirm_a_withdrawal),
          TEST(a_withdrawal_is_not_repeated_for_longer_than_the_lease),
          TEST(withdrawals_make_room_for_claims),
          TEST(the_claims_of_a_disconnected_program_are_gone),
          TEST(one_program_does_not_take_all_names), TEST(one_program_does_not_take_all_questions),
          TEST(no_claim_is_lost_when_the_root_crashes), TEST(a_claim_that_is_not_repeated_expires),
          TEST(a_pause_of_all_servers_does_not_age_claims),
          TEST(a_claim_that_expired_in_a_pause_does_not_block_new_ones),
          TEST(answers_come_from_servers_on_the_way), TEST(names_survive_chaos),
          TEST(malformed_messages_are_counted),
          TEST(a_malformed_question_is_not_answered_on_the_way),
          TEST(only_the_owner_changes_a_claim), TEST(a_claim_belongs_to_its_sender),
          TEST(tables_are_bounded), TEST(the_lease_of_a_claim_is_a_parameter),
          TEST(the_sizes_of_tables_are_parameters))
