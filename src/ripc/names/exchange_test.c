/* Contexts in one process that exchange claims over lines that the test carries. */
#include "ripc/names/names_world.h"

#define LINES_MAX 4
#define WORDS_MAX 64

/* A line between two contexts: what each has said and the other has not heard yet. */
struct wire {
    struct party *ends[2];
    struct names_line *lines[2];
    struct names_saying words[2][WORDS_MAX];
    unsigned count[2];
};

struct party {
    struct names *names;
    struct context_address address;
    struct note notes[WORLD_NOTES];
    unsigned count;
    unsigned contacts; /* calls of contact() */
    unsigned answers;  /* calls of answered() */
    bool deaf;         /* contact() fails */
    bool absent;       /* contact() never finishes by itself */
};

static struct names_world world;
static struct wire wires[LINES_MAX];
static unsigned wire_count;

static void party_note(struct party *party, struct note note)
{
    assert_true(party->count < WORLD_NOTES);
    party->notes[party->count++] = note;
}

static void on_announced(void *owner, uint64_t id, uint64_t member, int status)
{
    party_note(owner, (struct note){NOTE_ANNOUNCED, status, {.id = id, .member = member}});
}

static void on_found(void *owner, const struct claim *claim)
{
    party_note(owner, (struct note){NOTE_FOUND, 0, *claim});
}

static void on_gone(void *owner, const struct claim *claim)
{
    party_note(owner, (struct note){NOTE_GONE, 0, *claim});
}

static void on_answered(void *owner)
{
    ((struct party *)owner)->answers++;
}

static void on_say(void *owner, void *peer, const struct names_saying *saying)
{
    struct wire *wire = peer;
    int from = wire->ends[1] == owner;
    assert_true(wire->ends[from] == owner && wire->count[from] < WORDS_MAX);
    wire->words[from][wire->count[from]++] = *saying;
}

static int on_contact(void *owner, const struct context_address *address)
{
    struct party *party = owner;
    party->contacts++;
    if (address->port == party->address.port)
        return NAMES_SELF;
    return party->deaf ? -ECONNREFUSED : NAMES_CONNECTING;
}

static const struct names_events party_events = {
    .announced = on_announced,
    .found = on_found,
    .gone = on_gone,
    .answered = on_answered,
    .say = on_say,
    .contact = on_contact,
};

static void party_open(struct party *party, uint64_t context, const char *services)
{
    struct why why = {""};
    *party = (struct party){.address = {.context = context, .family = AF_INET, .port = 17700}};
    party->address.port += (uint16_t)context;
    memset(party->address.host, 7, sizeof party->address.host);
    memcpy(party->address.address, (uint8_t[]){127, 0, 0, 1}, 4);
    struct names_config config = {.poller = world.poller,
                                  .services = services,
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .events = &party_events,
                                  .owner = party};
    if (names_open(&party->names, &config, &why) != 0)
        fail_msg("names_open: %s", why.text);
}

static struct wire *wire_up(struct party *one, struct party *other)
{
    assert_true(wire_count < LINES_MAX);
    struct wire *wire = &wires[wire_count++];
    *wire = (struct wire){.ends = {one, other}};
    wire->lines[0] = names_line_up(one->names, &other->address, &other->address, wire);
    wire->lines[1] = names_line_up(other->names, &one->address, NULL, wire);
    assert_true(wire->lines[0] && wire->lines[1]);
    return wire;
}

/* Delivers what was said, first by one end, then by the other, until both are silent. */
static void wire_carry(struct wire *wire)
{
    while (wire->count[0] || wire->count[1])
        for (int from = 0; from < 2; from++) {
            struct names_saying words[WORDS_MAX];
            unsigned count = wire->count[from];
            memcpy(words, wire->words[from], sizeof words);
            wire->count[from] = 0;
            for (unsigned i = 0; i < count; i++)
                assert_int_equal(
                    names_line_heard(wire->ends[1 - from]->names, wire->lines[1 - from], &words[i]),
                    0);
        }
}

static void wire_down(struct wire *wire)
{
    for (int end = 0; end < 2; end++) {
        struct party *party = wire->ends[end];
        names_forget(party->names, wire->ends[1 - end]->address.context);
        names_line_down(party->names, wire->lines[end]);
    }
}

static unsigned notes(const struct party *party, enum note_kind kind, uint64_t id)
{
    unsigned count = 0;
    for (unsigned i = 0; i < party->count; i++)
        count += party->notes[i].kind == kind && party->notes[i].claim.id == id;
    return count;
}

static int last_status(const struct party *party, uint64_t id)
{
    for (unsigned i = party->count; i-- > 0;)
        if (party->notes[i].kind == NOTE_ANNOUNCED && party->notes[i].claim.id == id)
            return party->notes[i].status;
    return 1; /* not decided */
}

static int claim_id(struct party *party, uint64_t id, uint64_t member)
{
    struct claim claim = {.id = id,
                          .member = member,
                          .group = id != member,
                          .incarnation = 5,
                          .address = party->address,
                          .pid = 1};
    return names_announce(party->names, &claim);
}

static char list[160], path[96];

static void file_write(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    world_open(&world);
    wire_count = 0;
    snprintf(path, sizeof path, "%s/names", world.scratch.above);
    snprintf(list, sizeof list, "file:%s", path);
    file_write("7 127.0.0.1:17701\n8 127.0.0.1:17702\n");
    return 0;
}

static int end(void **state)
{
    unlink(path);
    world_close(&world);
    return 0;
}

static void a_context_with_a_file_and_its_peer_tell_each_other_their_claims(void **state)
{
    struct party one, other;
    struct claim claim;
    party_open(&one, 1, list);
    party_open(&other, 2, "host");
    assert_int_equal(claim_id(&one, 100, 100), 0);
    assert_int_equal(claim_id(&other, 200, 200), 0);
    struct wire *wire = wire_up(&one, &other);
    wire_carry(wire);
    assert_int_equal(names_known(one.names, 200, &claim, 1), 1);
    assert_int_equal(claim.address.context, 2);
    assert_int_equal(claim.incarnation, 5);
    assert_int_equal(names_known(other.names, 100, &claim, 1), 1); /* so it can answer 100 */
    assert_int_equal(claim.address.context, 1);

    assert_int_equal(claim_id(&other, 90, 200), 0); /* joins a group */
    wire_carry(wire);
    assert_int_equal(notes(&one, NOTE_FOUND, 90), 1);
    names_withdraw(other.names, 200, 200);
    names_withdraw(one.names, 100, 100);
    wire_carry(wire);
    assert_int_equal(names_known(one.names, 200, &claim, 1), 0);
    assert_int_equal(names_known(other.names, 100, &claim, 1), 0);
    assert_int_equal(notes(&one, NOTE_GONE, 200), 1);
    wire_down(wire);
    assert_int_equal(notes(&one, NOTE_GONE, 90), 1);
    names_close(one.names);
    names_close(other.names);
}

static void contexts_without_a_file_say_nothing(void **state)
{
    struct party one, other;
    party_open(&one, 1, "host");
    party_open(&other, 2, "host");
    assert_int_equal(claim_id(&one, 100, 100), 0);
    struct wire *wire = wire_up(&one, &other);
    assert_int_equal(wire->count[0] + wire->count[1], 0);
    wire_down(wire);
    names_close(one.names);
    names_close(other.names);
}

static void an_id_that_a_peer_holds_cannot_be_claimed(void **state)
{
    struct party one, other;
    party_open(&one, 1, list);
    party_open(&other, 2, list);
    assert_int_equal(claim_id(&other, 100, 100), 0);
    struct wire *wire = wire_up(&one, &other);
    wire_carry(wire);
    assert_int_equal(claim_id(&one, 100, 100), 0);
    assert_int_equal(last_status(&one, 100), 1); /* the peer has not answered */
    wire_carry(wire);
    assert_int_equal(last_status(&one, 100), -EADDRINUSE);
    names_withdraw(other.names, 100, 100);
    wire_carry(wire);
    assert_int_equal(claim_id(&one, 100, 100), 0);
    wire_carry(wire);
    assert_int_equal(last_status(&one, 100), 0);
    assert_int_equal(claim_id(&one, 101, 101), 0);
    wire_down(wire); /* a dead peer does not object */
    assert_int_equal(last_status(&one, 101), 0);
    names_close(one.names);
    names_close(other.names);
}

static void of_two_that_claim_an_id_at_once_one_gets_it(void **state)
{
    for (int first = 0; first < 2; first++) {
        struct party parties[2];
        party_open(&parties[0], 1, list);
        party_open(&parties[1], 2, list);
        struct wire *wire = wire_up(&parties[0], &parties[1]);
        wire_carry(wire);
        assert_int_equal(claim_id(&parties[first], 100, 100), 0);
        assert_int_equal(claim_id(&parties[1 - first], 100, 100), 0);
        wire_carry(wire);
        assert_int_equal(last_status(&parties[0], 100), 0); /* the lower context number */
        assert_int_equal(last_status(&parties[1], 100), -EADDRINUSE);
        wire_down(wire);
        names_close(parties[0].names);
        names_close(parties[1].names);
        wire_count = 0;
    }
}

static void of_two_that_claimed_an_id_unconnected_the_newer_yields(void **state)
{
    struct party older, newer;
    struct claim claim = {.id = 100, .member = 100, .pid = 1};
    party_open(&older, 2, list);
    party_open(&newer, 1, list);
    claim.incarnation = (uint64_t)clock_wall() - 1000;
    claim.address = older.address;
    assert_int_equal(names_announce(older.names, &claim), 0);
    claim.incarnation++;
    claim.address = newer.address;
    assert_int_equal(names_announce(newer.names, &claim), 0);
    assert_int_equal(last_status(&older, 100), 0);
    assert_int_equal(last_status(&newer, 100), 0);
    struct wire *wire = wire_up(&newer, &older);
    wire_carry(wire);
    assert_int_equal(last_status(&older, 100), 0);
    assert_int_equal(last_status(&newer, 100), -ESTALE);
    assert_int_equal(names_known(newer.names, 100, &claim, 1), 1);
    assert_int_equal(claim.address.context, 2);
    wire_down(wire);
    names_close(older.names);
    names_close(newer.names);
}

static void a_peer_that_hangs_does_not_keep_others_from_claiming(void **state)
{
    struct party one, other;
    party_open(&one, 1, list);
    party_open(&other, 2, list);
    struct wire *wire = wire_up(&one, &other);
    assert_int_equal(claim_id(&one, 100, 100), 0);
    assert_int_equal(last_status(&one, 100), 1);
    for (nsec until = clock_after(WORLD_PATIENCE); last_status(&one, 100) == 1;) {
        assert_true(clock_now() < until);
        poller_step(world.poller, clock_after(NSEC_PER_SEC / 10));
    }
    assert_int_equal(last_status(&one, 100), 0);
    wire_down(wire);
    names_close(one.names);
    names_close(other.names);
}

static void the_file_decides_where_its_ids_are(void **state)
{
    struct party one, other;
    struct claim claim;
    party_open(&one, 1, list);
    party_open(&other, 3, "host"); /* listens at port 17703, which no line has */
    assert_int_equal(claim_id(&other, 8, 8), 0);
    assert_int_equal(claim_id(&other, 9, 9), 0);
    struct wire *wire = wire_up(&one, &other);
    wire_carry(wire);
    assert_int_equal(names_known(one.names, 8, &claim, 1), 0);
    assert_int_equal(names_known(one.names, 9, &claim, 1), 1);
    assert_int_equal(names_ask(one.names, 8), 1);
    assert_int_equal(names_known(one.names, 8, &claim, 1), 1);
    assert_int_equal(claim.address.port, 17702);
    assert_int_equal(claim.address.context, 0);

    names_ask(one.names, 9);
    file_write("8 127.0.0.1:17702\n9 127.0.0.1:17702 # moves\n");
    names_ask(one.names, 9);
    assert_int_equal(names_known(one.names, 9, &claim, 1), 1);
    assert_int_equal(claim.address.port, 17702);
    wire_down(wire);
    names_close(one.names);
    names_close(other.names);
}

static void an_id_is_unclaimed_when_all_contacts_have_told_their_claims(void **state)
{
    struct party one, other;
    party_open(&one, 1, list); /* port 17701 is its own */
    party_open(&other, 2, "host");
    assert_int_equal(claim_id(&other, 500, 500), 0);
    nsec before = clock_now();
    assert_int_equal(names_ask(one.names, 99), 0);
    assert_true(names_answer_later(one.names));
    assert_int_equal(one.contacts, 2);
    assert_true(names_answered(one.names, 99) < before);
    struct wire *wire = wire_up(&one, &other);
    assert_true(names_answered(one.names, 99) < before);
    wire_carry(wire);
    assert_true(names_answered(one.names, 99) >= before);
    assert_true(one.answers > 0);
    assert_int_equal(names_ask(one.names, 500), 1); /* not in the file, but a contact has it */
    wire_down(wire);

    one.deaf = true; /* a contact that cannot be reached has nothing to tell */
    before = clock_now();
    assert_int_equal(names_ask(one.names, 98), 0);
    assert_true(names_answered(one.names, 98) >= before);
    one.deaf = false;
    names_close(one.names);
    names_close(other.names);
}

static void a_contact_that_cannot_be_connected_is_noticed(void **state)
{
    struct party one;
    party_open(&one, 3, list);
    nsec before = clock_now();
    names_ask(one.names, 99);
    assert_int_equal(one.contacts, 2);
    struct context_address contact = one.address;
    for (uint16_t port = 17701; port <= 17702; port++) {
        assert_true(names_answered(one.names, 99) < before);
        contact.port = port;
        names_line_failed(one.names, &contact, -ECONNREFUSED);
    }
    assert_true(names_answered(one.names, 99) >= before);
    names_ask(one.names, 99); /* not again at once */
    assert_int_equal(one.contacts, 2);
    names_ask(one.names, 7); /* an id of the file is tried again after a while, unasked */
    for (nsec until = clock_after(WORLD_PATIENCE); one.contacts == 2;) {
        assert_true(clock_now() < until);
        poller_step(world.poller, clock_after(NSEC_PER_SEC / 10));
    }
    names_close(one.names);
}

static void invalid_words_are_refused(void **state)
{
    struct party one, other;
    party_open(&one, 1, list);
    party_open(&other, 2, list);
    struct wire *wire = wire_up(&one, &other);
    struct names_saying saying = {.word = NAMES_CLAIM, .id = 0, .member = 1, .incarnation = 1};
    assert_int_equal(names_line_heard(one.names, wire->lines[0], &saying), -EPROTO);
    saying = (struct names_saying){.word = NAMES_PROBE, .id = 3, .member = 4, .incarnation = 1};
    assert_int_equal(names_line_heard(one.names, wire->lines[0], &saying), -EPROTO);
    saying = (struct names_saying){.word = NAMES_WORD_END};
    assert_int_equal(names_line_heard(one.names, wire->lines[0], &saying), -EPROTO);
    saying = (struct names_saying){.word = NAMES_VERDICT, .id = 3, .member = 3};
    assert_int_equal(names_line_heard(one.names, wire->lines[0], &saying), 0); /* late */
    wire_down(wire);
    names_close(one.names);
    names_close(other.names);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_MAIN(CASE(a_context_with_a_file_and_its_peer_tell_each_other_their_claims),
          CASE(contexts_without_a_file_say_nothing),
          CASE(an_id_that_a_peer_holds_cannot_be_claimed),
          CASE(of_two_that_claim_an_id_at_once_one_gets_it),
          CASE(of_two_that_claimed_an_id_unconnected_the_newer_yields),
          CASE(a_peer_that_hangs_does_not_keep_others_from_claiming),
          CASE(the_file_decides_where_its_ids_are),
          CASE(an_id_is_unclaimed_when_all_contacts_have_told_their_claims),
          CASE(a_contact_that_cannot_be_connected_is_noticed), CASE(invalid_words_are_refused))
