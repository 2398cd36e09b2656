/* Claims as bytes: reading returns what was written, and refuses everything else. */
#include "ripc/names/claim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/clock.h"

static const uint8_t key[32] = {9, 8, 7};

static struct claim claim_random(struct rng *rng)
{
    struct claim claim = {.id = rng_next(rng) | 1,
                          .incarnation = rng_next(rng) | 1,
                          .group = rng_below(rng, 2),
                          .pid = (int)rng_below(rng, INT32_MAX)};
    claim.member = claim.group ? claim.id ^ 2 : claim.id;
    claim.address.context = rng_next(rng) | 1;
    for (int i = 0; i < 16; i++)
        claim.address.host[i] = (uint8_t)rng_next(rng);
    uint64_t family = rng_below(rng, 3);
    claim.address.family = family == 0 ? 0 : family == 1 ? AF_INET : AF_INET6;
    claim.address.port = family ? (uint16_t)(rng_next(rng) | 1) : 0;
    for (int i = 0; i < (family == 0 ? 0 : family == 1 ? 4 : 16); i++)
        claim.address.address[i] = (uint8_t)rng_next(rng);
    return claim;
}

static struct datagram datagram_random(struct rng *rng)
{
    struct datagram datagram = {.kind = (enum datagram_kind)(1 + rng_below(rng, 4)),
                                .domain = 5,
                                .sender = rng_next(rng),
                                .time = rng_next(rng)};
    datagram.count =
        datagram.kind == DATAGRAM_PROBE ? 1 : (unsigned)rng_below(rng, DATAGRAM_CLAIMS_MAX) + 1;
    if (datagram.kind == DATAGRAM_QUERY) {
        datagram.count--;
        datagram.query = rng_next(rng);
    }
    for (unsigned i = 0; i < datagram.count; i++)
        datagram.claims[i] = claim_random(rng);
    if (datagram.kind == DATAGRAM_PROBE)
        datagram.query = datagram.claims[0].id;
    return datagram;
}

static void claims_and_datagrams_are_read_as_they_were_written(void **state)
{
    uint64_t seed = entropy_u64();
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 2000; i++) {
        struct seal seal;
        uint8_t record[CLAIM_RECORD_SIZE], data[DATAGRAM_SIZE_MAX];
        assert_int_equal(seal_init(&seal, i % 2 ? key : NULL), 0);
        struct claim claim = claim_random(&rng), claim_back;
        claim.pid = i == 0 ? INT32_MAX : claim.pid;
        claim_record_write(&claim, &seal, record);
        assert_int_equal(claim_record_read(&claim_back, &seal, record, sizeof record), 0);
        assert_true(claim_equal(&claim, &claim_back));
        assert_int_equal(claim.pid, claim_back.pid);

        struct datagram datagram = datagram_random(&rng), back;
        size_t size = datagram_write(&datagram, &seal, data);
        assert_int_equal(datagram_read(&back, 5, &seal, data, size), 0);
        assert_int_equal(back.kind, datagram.kind);
        assert_int_equal(back.sender, datagram.sender);
        assert_int_equal(back.time, datagram.time);
        assert_int_equal(back.query, datagram.query);
        assert_int_equal(back.count, datagram.count);
        for (unsigned k = 0; k < back.count; k++)
            assert_true(claim_equal(&back.claims[k], &datagram.claims[k]));
        assert_int_equal(datagram_read(&back, 6, &seal, data, size), DATAGRAM_OTHER_DOMAIN);
    }
}

/* Flips each bit in turn. Magic, version, shape and domain are checked before the seal, so that
 * data of other protocols does not count as forged. */
static void one_bit_breaks_the_seal(void **state)
{
    struct rng rng = rng_make(1, 1);
    for (int keyed = 0; keyed < 2; keyed++) {
        struct seal seal;
        uint8_t record[CLAIM_RECORD_SIZE], data[DATAGRAM_SIZE_MAX];
        assert_int_equal(seal_init(&seal, keyed ? key : NULL), 0);
        int expected = keyed ? -EKEYREJECTED : -EPROTO;
        struct claim claim = claim_random(&rng), claim_back;
        claim_record_write(&claim, &seal, record);
        for (unsigned bit = 0; bit < 8 * sizeof record; bit++) {
            record[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(claim_record_read(&claim_back, &seal, record, sizeof record),
                             bit / 8 < 8 ? -EPROTO : expected);
            record[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        struct datagram datagram = {.kind = DATAGRAM_CLAIM, .domain = 5, .count = 2}, back;
        datagram.claims[0] = claim;
        datagram.claims[1] = claim_random(&rng);
        size_t size = datagram_write(&datagram, &seal, data);
        for (unsigned bit = 0; bit < 8 * size; bit++) {
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            int result = datagram_read(&back, 5, &seal, data, size);
            if (bit / 8 >= 8)
                assert_int_equal(result, bit / 8 < 16 ? DATAGRAM_OTHER_DOMAIN : expected);
            else
                assert_true(result == -EPROTO || (bit / 8 == 5 && result == expected));
            data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void other_sizes_and_keys_are_refused(void **state)
{
    struct rng rng = rng_make(1, 2);
    struct seal seal, plain, other;
    uint8_t other_key[32] = {1}, record[CLAIM_RECORD_SIZE], data[DATAGRAM_SIZE_MAX];
    assert_int_equal(seal_init(&seal, key), 0);
    assert_int_equal(seal_init(&plain, NULL), 0);
    assert_int_equal(seal_init(&other, other_key), 0);
    struct claim claim = claim_random(&rng), claim_back;
    struct datagram datagram = {.kind = DATAGRAM_CLAIM, .domain = 5, .count = 3}, back;
    for (int i = 0; i < 3; i++)
        datagram.claims[i] = claim_random(&rng);
    claim_record_write(&claim, &seal, record);
    size_t size = datagram_write(&datagram, &seal, data);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1); /* separate, so that the sanitizer finds reads beyond it */
        assert_non_null(copy);
        memcpy(copy, data, cut);
        assert_int_equal(datagram_read(&back, 5, &seal, copy, cut), -EPROTO);
        if (cut < sizeof record)
            assert_int_equal(claim_record_read(&claim_back, &seal, record, cut), -EPROTO);
        free(copy);
    }
    assert_int_equal(claim_record_read(&claim_back, &other, record, sizeof record), -EKEYREJECTED);
    assert_int_equal(claim_record_read(&claim_back, &plain, record, sizeof record), -EPROTO);
    assert_int_equal(datagram_read(&back, 5, &other, data, size), -EKEYREJECTED);
    size = datagram_write(&datagram, &plain, data);
    assert_int_equal(datagram_read(&back, 5, &seal, data, size), -EKEYREJECTED);
    seal_fini(&seal);
    assert_false(seal.keyed);
}

/* The seals are correct, but the contents are invalid. */
static void invalid_claims_are_refused(void **state)
{
    struct rng rng = rng_make(1, 3);
    struct claim good = claim_random(&rng), back;
    good.group = false;
    good.member = good.id;
    good.address.family = AF_INET;
    good.address.port = 1;
    memset(good.address.address + 4, 0, 12);
    assert_true(claim_is_sound(&good));
    struct claim wrong[10];
    for (int i = 0; i < 10; i++)
        wrong[i] = good;
    wrong[0].id = wrong[0].member = 0;
    wrong[1].member = 0;
    wrong[2].incarnation = 0;
    wrong[3].address.context = 0;
    wrong[4].group = true; /* a group that is its own member */
    wrong[5].member++;     /* a service whose member is not its id */
    wrong[6].address.port = 0;
    wrong[7].address.address[4] = 1; /* longer than an address of IPv4 */
    wrong[8].address.family = 0;     /* an address without a family */
    wrong[9].pid = -1;
    struct seal seal;
    assert_int_equal(seal_init(&seal, key), 0);
    for (int i = 0; i < 10; i++) {
        uint8_t record[CLAIM_RECORD_SIZE], data[DATAGRAM_SIZE_MAX];
        struct datagram datagram = {.kind = DATAGRAM_CLAIM, .count = 2, .claims = {good, wrong[i]}};
        struct datagram datagram_back;
        assert_false(claim_is_sound(&wrong[i]));
        claim_record_write(&wrong[i], &seal, record);
        assert_int_equal(claim_record_read(&back, &seal, record, sizeof record), -EPROTO);
        size_t size = datagram_write(&datagram, &seal, data);
        assert_int_equal(datagram_read(&datagram_back, 0, &seal, data, size), -EPROTO);
    }
    struct datagram datagrams[] = {
        {.kind = DATAGRAM_CLAIM, .count = 0},
        {.kind = DATAGRAM_WITHDRAW, .count = 0},
        {.kind = DATAGRAM_PROBE, .count = 0},
        {.kind = DATAGRAM_PROBE, .count = 2, .query = good.id, .claims = {good, good}},
        {.kind = DATAGRAM_PROBE, .count = 1, .query = good.id + 1, .claims = {good}},
        {.kind = DATAGRAM_CLAIM, .count = 1, .query = 1, .claims = {good}},
        {.kind = (enum datagram_kind)5, .count = 1, .claims = {good}},
        {.kind = (enum datagram_kind)0, .count = 1, .claims = {good}},
    };
    for (size_t i = 0; i < sizeof datagrams / sizeof *datagrams; i++) {
        uint8_t data[DATAGRAM_SIZE_MAX];
        struct datagram datagram_back;
        size_t size = datagram_write(&datagrams[i], &seal, data);
        assert_int_equal(datagram_read(&datagram_back, 0, &seal, data, size), -EPROTO);
    }
}

static void only_file_names_of_claims_are_read_as_claims(void **state)
{
    static const char *const wrong[] = {"claim.000000000000002g",
                                        "claim.000000000000002A",
                                        "claim.0000000000000000",
                                        "claim.00000000000002a",
                                        "claim.0000000000000002a",
                                        "claims000000000000002a",
                                        "trace.000000000000002a",
                                        "claim.000000000000002a.000000000000002a",
                                        "claim.000000000000002a-000000000000002b",
                                        "claim.000000000000002a.000000000000002/",
                                        "claim.000000000000002a.000000000000002:",
                                        "claim.000000000000002a.0000000000000000"};
    char name[CLAIM_NAME_SIZE];
    uint64_t id, member;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (claim_name_read(wrong[i], &id, &member))
            fail_msg("%s was read as a claim", wrong[i]);
    assert_true(claim_name_read("claim.fedcba9876543210", &id, &member));
    assert_true(id == 0xfedcba9876543210 && member == id);
    claim_name_write(name, 42, 43);
    assert_true(claim_name_read(name, &id, &member));
    assert_true(id == 42 && member == 43);
}

TEST_MAIN(TEST(only_file_names_of_claims_are_read_as_claims),
          TEST(claims_and_datagrams_are_read_as_they_were_written), TEST(one_bit_breaks_the_seal),
          TEST(other_sizes_and_keys_are_refused), TEST(invalid_claims_are_refused))
