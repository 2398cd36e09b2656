#include "node/packet.h"

#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "base/test.h"
#include "keyspace/keyspace.h"
#include "node/core/timers.h"

static void a_header_is_read_as_it_was_written(void **state)
{
    struct packet_pool *pool = packet_pool_open(2, 512);
    struct packet *packet = packet_take(pool, 300);
    struct key key = key_hash("a", 1), found;
    packet->service = 0x1234;
    packet->priority = 5;
    packet->hops_left = 9;
    packet->hops = 3;
    packet->source = 0x01020304;
    packet->identity = 0xa0b0c0d0;
    packet_set_key(packet, &key);
    packet_seal(packet);

    struct packet copy = {.bytes = packet->bytes, .stored = 300, .size = 300};
    assert_true(packet_read(&copy, 300));
    assert_int_equal(copy.service, 0x1234);
    assert_int_equal(copy.kind, PACKET_TO_KEY);
    assert_int_equal(copy.priority, 5);
    assert_int_equal(copy.hops_left, 9);
    assert_int_equal(copy.hops, 3);
    assert_int_equal(copy.source, 0x01020304);
    assert_int_equal(copy.identity, 0xa0b0c0d0);
    assert_int_equal(copy.size, 300);
    assert_true(copy.route == key_route(&key));
    packet_get_key(&copy, &found);
    assert_memory_equal(&key, &found, sizeof key);

    packet_set_server(packet, 77);
    packet->stream = packet->marked = true;
    packet_seal(packet);
    assert_true(packet_read(&copy, 300));
    assert_int_equal(copy.kind, PACKET_TO_SERVER);
    assert_int_equal(copy.server, 77);
    assert_true(copy.stream && copy.marked);
    assert_false(packet_read(&copy, 299)); /* the packet is longer than allowed */
    packet_done(packet);
    packet_pool_close(pool);
}

/* Flips every bit of the header. The check does not cover bytes 4 and 5, the two counts of hops,
 * which change on the way. */
static void a_flipped_bit_is_detected(void **state)
{
    struct packet_pool *pool = packet_pool_open(1, 64);
    struct packet *packet = packet_take(pool, 50);
    struct key key = key_make(0x123456789abcdef0);
    packet->service = 3;
    packet_set_key(packet, &key);
    packet_seal(packet);
    for (unsigned bit = 0; bit < 8 * PACKET_HEADER_SIZE; bit++) {
        packet->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct packet copy = {.bytes = packet->bytes, .stored = 50, .size = 50};
        assert_int_equal(packet_read(&copy, 50), bit / 8 == 4 || bit / 8 == 5);
        packet->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    packet->bytes[4] = 200;
    packet->bytes[5] = 100;
    struct packet copy = {.bytes = packet->bytes, .stored = 50, .size = 50};
    assert_true(packet_read(&copy, 50));
    assert_int_equal(copy.hops_left, 200);
    packet_done(packet);
    packet_pool_close(pool);
}

/* Flips every two bits of the header. */
static void two_flipped_bits_are_detected(void **state)
{
    struct packet_pool *pool = packet_pool_open(1, 64);
    struct packet *packet = packet_take(pool, 50);
    struct key key = key_make(0x123456789abcdef0);
    packet->service = 3;
    packet_set_key(packet, &key);
    packet_seal(packet);
    uint8_t *bytes = packet->bytes;
    for (unsigned one = 0; one < 8 * PACKET_HEADER_SIZE; one++)
        for (unsigned other = one + 1; other < 8 * PACKET_HEADER_SIZE; other++) {
            bool hops = (one / 8 == 4 || one / 8 == 5) && (other / 8 == 4 || other / 8 == 5);
            bytes[one / 8] ^= (uint8_t)(1 << one % 8);
            bytes[other / 8] ^= (uint8_t)(1 << other % 8);
            struct packet copy = {.bytes = bytes, .stored = 50, .size = 50};
            assert_int_equal(packet_read(&copy, 50), hops);
            bytes[one / 8] ^= (uint8_t)(1 << one % 8);
            bytes[other / 8] ^= (uint8_t)(1 << other % 8);
        }
    packet_done(packet);
    packet_pool_close(pool);
}

/* Computes the check of a changed header, as an attacker can. packet.c defines the check. */
static void check_forge(uint8_t bytes[PACKET_HEADER_SIZE])
{
    static const uint64_t factors[] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                       0xd6e8feb86659fd93, 0xa0761d6478bd642f};
    uint64_t words[5] = {0}, sum = 0;
    for (unsigned i = 0; i < 36; i++)
        if (i != 4 && i != 5)
            words[i / 8] |= (uint64_t)bytes[i] << 8 * (i % 8);
    for (unsigned i = 0; i < 5; i++)
        sum += words[i] * factors[i];
    sum ^= words[1] << 11 ^ words[1] >> 53 ^ words[2] << 23 ^ words[2] >> 41 ^ words[3] << 41 ^
           words[3] >> 23;
    uint32_t check = (uint32_t)(hash_mix(sum) >> 32);
    for (unsigned i = 0; i < 4; i++)
        bytes[36 + i] = (uint8_t)(check >> 8 * (3 - i));
}

static bool is_read(uint8_t *bytes, uint32_t stored, uint32_t most)
{
    struct packet packet = {.bytes = bytes, .stored = stored};
    return packet_read(&packet, most);
}

/* A header with a valid check is still refused if a field is invalid. */
static void headers_out_of_range_are_refused(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } wrong[] = {
        {0, PACKET_VERSION - 1},
        {0, PACKET_VERSION + 1},
        {1, PACKET_TO_KEY + 1},
        {1, 0x40 /* marked, but of no stream */},
        {1, 0x80},
    };
    static uint8_t bytes[UINT16_MAX + PACKET_HEADER_SIZE];
    bytes[0] = PACKET_VERSION;
    check_forge(bytes);
    assert_true(is_read(bytes, PACKET_HEADER_SIZE, PACKET_HEADER_SIZE));
    assert_false(is_read(bytes, PACKET_HEADER_SIZE - 1, PACKET_HEADER_SIZE));
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t good = bytes[wrong[i].at];
        bytes[wrong[i].at] = wrong[i].value;
        check_forge(bytes);
        assert_false(is_read(bytes, PACKET_HEADER_SIZE, PACKET_HEADER_SIZE));
        bytes[wrong[i].at] = good;
    }
    /* The largest payload, 8,900 bytes, is accepted, and one byte more is refused. */
    bytes[6] = PACKET_PAYLOAD_MAX >> 8;
    bytes[7] = PACKET_PAYLOAD_MAX & 0xff;
    check_forge(bytes);
    assert_true(is_read(bytes, PACKET_SIZE_MAX, PACKET_SIZE_MAX));
    assert_false(is_read(bytes, PACKET_SIZE_MAX, PACKET_SIZE_MAX - 1));
    bytes[7]++;
    check_forge(bytes);
    assert_false(is_read(bytes, PACKET_SIZE_MAX + 1, PACKET_SIZE_MAX + 1));
}

static void a_frame_is_split_by_its_headers(void **state)
{
    uint8_t bytes[PACKET_HEADER_SIZE + 0x102] = {[6] = 1, [7] = 2};
    uint32_t size = PACKET_HEADER_SIZE + 0x102;
    assert_int_equal(packet_extent(bytes, size + 1), size);
    assert_int_equal(packet_extent(bytes, size), size);
    assert_int_equal(packet_extent(bytes, size - 1), size - 1); /* the header claims more */
    assert_int_equal(packet_extent(bytes, PACKET_HEADER_SIZE), PACKET_HEADER_SIZE);
    for (uint32_t left = 0; left < PACKET_HEADER_SIZE; left++)
        assert_int_equal(packet_extent(bytes + sizeof bytes - left, left), left);
}

static void a_pool_does_not_exceed_its_size(void **state)
{
    struct packet_pool *pool = packet_pool_open(3, 100);
    struct packet *taken[3];
    assert_null(packet_take(pool, 101));
    for (unsigned i = 0; i < 3; i++) {
        taken[i] = packet_take(pool, 100);
        assert_non_null(taken[i]);
        memset(taken[i]->bytes, (int)i, 100);
    }
    assert_null(packet_take(pool, 1));
    assert_int_equal(pool->live, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(taken[i]->bytes[0], i);
        assert_int_equal(taken[i]->bytes[99], i);
        packet_done(taken[i]);
    }
    assert_int_equal(pool->live, 0);
    packet_pool_close(pool);
}

static void timers_fire_by_time_then_in_the_order_in_which_they_were_set(void **state)
{
    enum { COUNT = 500 };
    struct timer heap[COUNT], timer;
    struct timers timers = {.heap = heap, .most = COUNT};
    struct rng rng = rng_make(3, 0);
    for (uint64_t i = 0; i < COUNT; i++)
        assert_true(timers_set(&timers, (env_nsec)rng_below(&rng, 50), 0, i));
    assert_false(timers_set(&timers, 0, 0, 0));
    env_nsec last = -1;
    uint64_t last_cookie = 0;
    unsigned fired = 0;
    for (env_nsec now = 0; now < 50; now++) {
        assert_true(timers_next(&timers) >= now);
        while (timers_take(&timers, now, UINT64_MAX, &timer)) {
            assert_int_equal(timer.at, now);
            assert_true(timer.at > last || timer.cookie > last_cookie);
            last = timer.at;
            last_cookie = timer.cookie;
            fired++;
        }
    }
    assert_int_equal(fired, COUNT);
    assert_true(timers_next(&timers) == ENV_NEVER);
}

TEST_MAIN(TEST(a_header_is_read_as_it_was_written), TEST(a_flipped_bit_is_detected),
          TEST(two_flipped_bits_are_detected), TEST(headers_out_of_range_are_refused),
          TEST(a_frame_is_split_by_its_headers), TEST(a_pool_does_not_exceed_its_size),
          TEST(timers_fire_by_time_then_in_the_order_in_which_they_were_set))
