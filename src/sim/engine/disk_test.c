/* Checks that synced data survives a crash, and that other data may not. */
#include "sim/engine/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define SIZE   (64 * DISK_SECTOR)
#define BLOCKS 64
#define EACH   1000000u /* a chance in millionths: always */

struct result {
    struct disk_operation operation;
    bool done;
};

static void done(struct disk_operation *operation)
{
    ((struct result *)operation)->done = true;
}

static int64_t now_psec = 0;

static int64_t do_one(struct disk *disk, int kind, uint64_t offset, void *bytes, uint32_t size)
{
    struct result result = {
        .operation = {.offset = offset, .bytes = bytes, .size = size, .done = done}};
    memcpy(&result.operation.kind, &kind, sizeof result.operation.kind);
    disk_submit(disk, (psec)now_psec, &result.operation);
    assert_false(result.done); /* never at once */
    now_psec = (int64_t)disk_next(disk);
    disk_run(disk, (psec)now_psec);
    assert_true(result.done);
    return result.operation.result;
}

static struct disk *open_with(const struct disk_settings *settings, uint64_t seed)
{
    struct disk *disk;
    now_psec = 0;
    assert_int_equal(disk_open(&disk, settings, seed, 1, NULL), OK);
    return disk;
}

static void written_data_is_read_back_and_operations_take_time(void **state)
{
    struct disk *disk =
        open_with(&(struct disk_settings){.size = SIZE, .delay = 1000, .rate = 1000000000}, 1);
    char text[] = "somewhere", back[sizeof text];
    assert_true(disk_next(disk) == PSEC_NEVER);
    assert_int_equal(do_one(disk, DISK_WRITE, 700, text, sizeof text), sizeof text);
    assert_true(now_psec == 1000 + 10 * 1000); /* 1 ns per byte */
    assert_int_equal(do_one(disk, DISK_READ, 700, back, sizeof back), sizeof text);
    assert_memory_equal(back, text, sizeof text);
    assert_true(now_psec == 2 * (1000 + 10 * 1000));
    assert_int_equal(do_one(disk, DISK_READ, SIZE - 3, back, sizeof back), 3);
    assert_int_equal(do_one(disk, DISK_READ, SIZE + 3, back, sizeof back), 0);
    assert_int_equal(do_one(disk, DISK_WRITE, SIZE - 3, text, sizeof text), -ENOSPC);
    disk_close(disk);
}

/* Writes numbered blocks and syncs sometimes. After a crash each block holds a number no older than
 * the last synced one, in all of its sectors or, if torn, in some. */
static void crash(const struct disk_settings *settings, uint64_t seed, bool torn)
{
    static uint8_t block[2 * DISK_SECTOR];
    uint8_t synced[BLOCKS / 2] = {0}, written[BLOCKS / 2] = {0};
    struct rng rng = rng_make(seed, 2);
    struct disk *disk = open_with(settings, seed);
    for (unsigned turn = 0; turn < 200; turn++) {
        unsigned which = (unsigned)rng_below(&rng, BLOCKS / 2);
        memset(block, ++written[which], sizeof block);
        assert_int_equal(do_one(disk, DISK_WRITE, which * sizeof block, block, sizeof block),
                         sizeof block);
        if (rng_below(&rng, 40) == 0) {
            assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), 0);
            memcpy(synced, written, sizeof synced);
        }
    }
    struct result never = {.operation = {.kind = DISK_READ, .bytes = block, .done = done}};
    disk_submit(disk, (psec)now_psec, &never.operation);
    disk_crash(disk);
    assert_true(disk_next(disk) == PSEC_NEVER && !never.done);
    for (unsigned which = 0; which < BLOCKS / 2; which++) {
        (void)do_one(disk, DISK_READ, which * sizeof block, block, sizeof block);
        for (unsigned sector = 0; sector < 2; sector++) {
            uint8_t number = block[sector * DISK_SECTOR];
            assert_in_range(number, synced[which], written[which]);
            for (unsigned i = 0; i < DISK_SECTOR; i++)
                assert_int_equal(block[sector * DISK_SECTOR + i], number);
        }
        assert_true(torn || block[0] == block[DISK_SECTOR]);
    }
    struct disk_counts counts;
    disk_count(disk, &counts);
    assert_true(torn ? counts.torn > 0 : counts.torn == 0);
    disk_close(disk);
}

static void a_crash_loses_only_unsynced_data(void **state)
{
    print_message("# seeds 1 to 20\n");
    for (uint64_t seed = 1; seed <= 20; seed++) {
        crash(&(struct disk_settings){.size = SIZE, .lost = EACH / 2}, seed, false);
        crash(&(struct disk_settings){.size = SIZE, .lost = EACH / 4, .torn = EACH / 2}, seed,
              true);
    }
}

static void without_a_sync_all_data_may_be_lost(void **state)
{
    struct disk *disk = open_with(&(struct disk_settings){.size = SIZE, .lost = EACH}, 3);
    char text[] = "gone", back[sizeof text], nothing[sizeof text] = {0};
    (void)do_one(disk, DISK_WRITE, 0, text, sizeof text);
    disk_crash(disk);
    (void)do_one(disk, DISK_READ, 0, back, sizeof back);
    assert_memory_equal(back, nothing, sizeof back);
    disk_close(disk);
}

static void a_failed_sync_makes_nothing_durable(void **state)
{
    struct disk *disk =
        open_with(&(struct disk_settings){.size = SIZE, .lost = EACH, .fails = EACH}, 3);
    char text[] = "gone", back[sizeof text], nothing[sizeof text] = {0};
    (void)do_one(disk, DISK_WRITE, 0, text, sizeof text);
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), -EIO);
    disk_crash(disk);
    (void)do_one(disk, DISK_READ, 0, back, sizeof back);
    assert_memory_equal(back, nothing, sizeof back);
    disk_close(disk);
}

static void rot_flips_one_bit_permanently(void **state)
{
    struct disk *disk = open_with(&(struct disk_settings){.size = SIZE, .rot = EACH}, 3);
    uint8_t first[DISK_SECTOR], second[DISK_SECTOR];
    unsigned ones = 0, turned = 0;
    (void)do_one(disk, DISK_READ, 0, first, sizeof first);
    (void)do_one(disk, DISK_READ, 0, second, sizeof second);
    for (unsigned i = 0; i < sizeof first; i++) {
        ones += (unsigned)__builtin_popcount(first[i]);
        turned += (unsigned)__builtin_popcount(first[i] ^ second[i]);
    }
    assert_int_equal(ones, 1);
    assert_int_equal(turned, 1); /* one more */
    disk_close(disk);
}

static void a_seed_determines_the_outcome(void **state)
{
    uint8_t images[3][SIZE];
    for (unsigned i = 0; i < 3; i++) {
        const struct disk_settings settings = {
            .size = SIZE, .lost = EACH / 3, .torn = EACH / 3, .jitter = 5000};
        struct disk *disk = open_with(&settings, i == 2 ? 8 : 7);
        uint8_t block[4 * DISK_SECTOR];
        for (unsigned turn = 0; turn < 30; turn++) {
            memset(block, (int)turn + 1, sizeof block);
            (void)do_one(disk, DISK_WRITE, turn * 1000, block, sizeof block);
        }
        disk_crash(disk);
        (void)do_one(disk, DISK_READ, 0, images[i], SIZE);
        disk_close(disk);
    }
    assert_memory_equal(images[0], images[1], SIZE);
    assert_memory_not_equal(images[0], images[2], SIZE);
}

TEST_MAIN(TEST(written_data_is_read_back_and_operations_take_time),
          TEST(a_crash_loses_only_unsynced_data), TEST(without_a_sync_all_data_may_be_lost),
          TEST(a_failed_sync_makes_nothing_durable), TEST(rot_flips_one_bit_permanently),
          TEST(a_seed_determines_the_outcome))
