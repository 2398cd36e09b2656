#include "os/host/shaper.h"

#include "base/rng.h"
#include "base/test.h"

/* A sender that sends as soon as it may gets the rate to the byte, also where a byte takes no whole
 * number of nanoseconds. */
static void the_rate_is_exact(void **state)
{
    static const uint64_t rates[] = {1000000, 999999937, 3000000000, 100000000000};
    for (unsigned i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct shaper shaper;
        struct rng rng = rng_make(3, i);
        nsec begin = 1000 * NSEC_PER_SEC, now = begin;
        uint64_t bits = 0;
        shaper_start(&shaper, rates[i]);
        shaper.free_at = begin; /* nothing to catch up on */
        for (unsigned frame = 0; frame < 10000; frame++) {
            uint32_t size = (uint32_t)rng_below(&rng, 9000);
            nsec busy = shaper_busy_until(&shaper, now);
            now = busy ? busy : now;
            shaper_take(&shaper, now, size);
            bits += 8 * (uint64_t)(size + SHAPER_FRAME_BYTES);
        }
        double spent = (double)(shaper.free_at - begin);
        assert_within(spent / ((double)bits * 1e9 / (double)rates[i]), 1, 1e-6);
    }
}

static void a_late_sender_catches_up_within_a_limit(void **state)
{
    struct shaper shaper;
    nsec now = 50 * NSEC_PER_SEC;
    shaper_start(&shaper, 1000000000); /* a bit is a nanosecond */
    unsigned frames = 0;
    while (!shaper_busy_until(&shaper, now)) {
        shaper_take(&shaper, now, 962); /* 8 us on the line */
        frames++;
    }
    assert_in_range(frames, SHAPER_DEPTH_NSEC / 8000, SHAPER_DEPTH_NSEC / 8000 + 1);
    now += 16000; /* two more, but not a third */
    shaper_take(&shaper, now, 962);
    assert_int_equal(shaper_busy_until(&shaper, now), 0);
    shaper_take(&shaper, now, 962);
    assert_true(shaper_busy_until(&shaper, now) > now);
}

static void a_link_without_a_rate_is_never_busy(void **state)
{
    struct shaper shaper;
    shaper_start(&shaper, 0);
    for (unsigned i = 0; i < 100; i++) {
        shaper_take(&shaper, 5, 9000);
        assert_int_equal(shaper_busy_until(&shaper, 5), 0);
    }
}

TEST_MAIN(TEST(the_rate_is_exact), TEST(a_late_sender_catches_up_within_a_limit),
          TEST(a_link_without_a_rate_is_never_busy))
