/* Checks that synced data survives a crash, and that other data may not. */
#include "sim/engine/disk.h"

#include <weft/disk.h>

#include <errno.h>
#include <stdio.h>
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
static struct disk_file image; /* the file that most tests use */

static int64_t do_it(struct disk *disk, const struct disk_operation *operation)
{
    struct result result = {.operation = *operation};
    result.operation.done = done;
    result.operation.folder = operation->folder ? operation->folder : "service";
    disk_submit(disk, (psec)now_psec, &result.operation);
    assert_false(result.done); /* never at once */
    now_psec = (int64_t)disk_next(disk);
    disk_run(disk, (psec)now_psec);
    assert_true(result.done);
    return result.operation.result;
}

static int64_t do_one(struct disk *disk, enum disk_kind kind, uint64_t offset, void *bytes,
                      uint32_t size)
{
    return do_it(disk,
                 &(struct disk_operation){
                     .kind = kind, .offset = offset, .bytes = bytes, .size = size, .file = &image});
}

static int64_t open_one(struct disk *disk, const char *name, bool create, struct disk_file *file)
{
    struct disk_operation operation = {.kind = DISK_OPEN, .create = create, .file = file};
    strcpy(operation.name, name);
    return do_it(disk, &operation);
}

static struct disk *open_with(const struct disk_settings *settings, uint64_t seed)
{
    struct disk *disk;
    now_psec = 0;
    assert_int_equal(disk_open(&disk, settings, seed, 1, NULL), OK);
    assert_int_equal(open_one(disk, "image", true, &image), 0);
    now_psec = 0;
    return disk;
}

/* Power failure, and the server opens the file again. */
static int64_t power_cycle(struct disk *disk)
{
    disk_end(disk);
    disk_crash(disk);
    return open_one(disk, "image", false, &image);
}

static void written_data_is_read_back_and_operations_take_time(void **state)
{
    struct disk *disk =
        open_with(&(struct disk_settings){.size = SIZE, .delay = 1000, .rate = 1000000000}, 1);
    char text[] = "somewhere", back[sizeof text];
    assert_true(disk_next(disk) == PSEC_NEVER);
    now_psec = 1000; /* the file was opened by then */
    assert_int_equal(do_one(disk, DISK_WRITE, 700, text, sizeof text), sizeof text);
    assert_true(now_psec == 1000 + 1000 + 10 * 1000); /* 1 ns per byte */
    assert_int_equal(do_one(disk, DISK_READ, 700, back, sizeof back), sizeof text);
    assert_memory_equal(back, text, sizeof text);
    assert_true(now_psec == 1000 + 2 * (1000 + 10 * 1000));
    assert_int_equal(do_one(disk, DISK_READ, 707, back, sizeof back), 3);
    assert_int_equal(do_one(disk, DISK_READ, SIZE + 3, back, sizeof back), 0);
    assert_int_equal(do_one(disk, DISK_SIZE, 0, NULL, 0), 710);
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
    struct result never = {
        .operation = {.kind = DISK_READ, .bytes = block, .done = done, .file = &image}};
    disk_submit(disk, (psec)now_psec, &never.operation);
    disk_end(disk);
    disk_crash(disk);
    assert_true(disk_next(disk) == PSEC_NEVER && !never.done);
    (void)open_one(disk, "image", false, &image);
    for (unsigned which = 0; which < BLOCKS / 2; which++) {
        memset(block, 0, sizeof block); /* the file may be shorter */
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
    char text[] = "gone", back[sizeof text];
    (void)do_one(disk, DISK_WRITE, 0, text, sizeof text);
    assert_int_equal(power_cycle(disk), 0); /* the name is durable, the data is not */
    assert_int_equal(do_one(disk, DISK_READ, 0, back, sizeof back), 0);
    disk_close(disk);
}

static void a_failed_sync_makes_nothing_durable_and_is_not_repaired_by_another(void **state)
{
    struct disk *disk =
        open_with(&(struct disk_settings){.size = SIZE, .lost = EACH, .fails = EACH}, 3);
    char text[] = "gone";
    (void)do_one(disk, DISK_WRITE, 0, text, sizeof text);
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), -EIO);
    disk_set(disk, &(struct disk_settings){.size = SIZE, .lost = EACH});
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), -EIO);
    assert_int_equal(power_cycle(disk), 0);
    (void)do_one(disk, DISK_WRITE, 0, text, sizeof text);
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), 0);
    assert_int_equal(power_cycle(disk), sizeof text);
    disk_close(disk);
}

/* A process that opens the file again reads what a failed sync has not written, and a sync that
 * succeeds does not write it. */
static void what_a_failed_sync_left_is_read_until_a_crash(void **state)
{
    struct disk *disk = open_with(&(struct disk_settings){.size = SIZE, .fails = EACH}, 3);
    char text[] = "gone", back[sizeof text];
    (void)do_one(disk, DISK_WRITE, 0, text, sizeof text);
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), -EIO);
    disk_end(disk); /* the process ends, the machine goes on */
    disk_set(disk, &(struct disk_settings){.size = SIZE});
    assert_int_equal(open_one(disk, "image", false, &image), sizeof text);
    assert_int_equal(do_one(disk, DISK_READ, 0, back, sizeof back), sizeof text);
    assert_memory_equal(back, text, sizeof text);
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), 0);
    assert_int_equal(power_cycle(disk), 0);
    disk_close(disk);
}

static void appends_follow_each_other_and_truncation_is_durable(void **state)
{
    struct disk *disk = open_with(&(struct disk_settings){.size = 100, .lost = EACH}, 3);
    char text[] = "0123456789", back[30];
    assert_int_equal(do_one(disk, DISK_APPEND, 0, text, 10), 0);
    assert_int_equal(do_one(disk, DISK_APPEND, 0, text, 5), 10);
    assert_int_equal(do_one(disk, DISK_APPEND, 0, text, 86), -ENOSPC);
    assert_int_equal(do_one(disk, DISK_TRUNCATE, 12, NULL, 0), 0);
    assert_int_equal(power_cycle(disk), 12);
    assert_int_equal(do_one(disk, DISK_READ, 0, back, sizeof back), 12);
    assert_memory_equal(back, "012345678901", 12);
    assert_int_equal(do_one(disk, DISK_TRUNCATE, 101, NULL, 0), -ENOSPC);
    assert_int_equal(do_one(disk, DISK_TRUNCATE, 14, NULL, 0), 0);
    assert_int_equal(do_one(disk, DISK_READ, 0, back, sizeof back), 14);
    assert_memory_equal(back, "012345678901\0\0", 14);
    disk_close(disk);
}

static int64_t names(struct disk *disk, enum disk_kind kind, const char *name, const char *to)
{
    struct disk_operation operation = {.kind = kind};
    strcpy(operation.name, name);
    strcpy(operation.to, to);
    return do_it(disk, &operation);
}

/* Returns the names after `after` in a folder, separated by spaces. */
static const char *listing(struct disk *disk, const char *folder, const char *after, uint32_t most)
{
    static char text[300];
    struct weft_file_entry entries[4] = {0};
    struct disk_operation operation = {
        .kind = DISK_LIST, .folder = folder, .bytes = entries, .size = most};
    strcpy(operation.name, after);
    int64_t count = do_it(disk, &operation);
    text[0] = 0;
    for (int64_t i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%s:%u", i ? " " : "", entries[i].name,
                (unsigned)entries[i].size);
    return text;
}

static void names_are_durable_and_belong_to_their_service(void **state)
{
    struct disk *disk = open_with(&(struct disk_settings){.size = SIZE, .lost = EACH}, 3);
    struct disk_file file;
    assert_int_equal(open_one(disk, "missing", false, &file), -ENOENT);
    assert_int_equal(open_one(disk, "b", true, &file), 0);
    assert_int_equal(do_it(disk,
                           &(struct disk_operation){
                               .kind = DISK_APPEND, .bytes = "xyz", .size = 3, .file = &file}),
                     0);
    assert_int_equal(open_one(disk, "c", true, &file), 0);
    struct disk_operation other = {
        .kind = DISK_OPEN, .create = true, .file = &file, .folder = "zz"};
    strcpy(other.name, "b");
    assert_int_equal(do_it(disk, &other), 0);
    assert_string_equal(listing(disk, "service", "", 4), "b:3 c:0 image:0");
    assert_string_equal(listing(disk, "service", "b", 1), "c:0");
    assert_string_equal(listing(disk, "service", "bb", 4), "c:0 image:0");
    assert_string_equal(listing(disk, "zz", "", 4), "b:0");
    assert_string_equal(listing(disk, "none", "", 4), "");
    assert_int_equal(names(disk, DISK_RENAME, "b", "c"), 0); /* replaces c */
    assert_int_equal(names(disk, DISK_RENAME, "b", "d"), -ENOENT);
    assert_int_equal(names(disk, DISK_REMOVE, "b", ""), -ENOENT);
    assert_string_equal(listing(disk, "service", "", 4), "c:3 image:0");
    disk_end(disk);
    disk_crash(disk); /* the new name is durable, the data was not synced */
    assert_string_equal(listing(disk, "service", "", 4), "c:0 image:0");
    assert_int_equal(names(disk, DISK_REMOVE, "c", ""), 0);
    assert_string_equal(listing(disk, "service", "", 4), "image:0");
    disk_erase(disk);
    assert_string_equal(listing(disk, "zz", "", 4), "");
    disk_close(disk);
}

/* Of the operations that were pending when a server ended, the disk has done the first few. */
static void pending_operations_may_have_been_done_when_a_server_ends(void **state)
{
    unsigned sizes[4] = {0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct disk *disk = open_with(&(struct disk_settings){.size = SIZE}, seed);
        struct result pending[3];
        for (unsigned i = 0; i < 3; i++) {
            pending[i] = (struct result){
                .operation = {
                    .kind = DISK_APPEND, .bytes = "x", .size = 1, .file = &image, .done = done}};
            disk_submit(disk, (psec)now_psec, &pending[i].operation);
        }
        int64_t size = power_cycle(disk);
        assert_in_range(size, 0, 3);
        sizes[size]++;
        assert_false(pending[0].done || pending[1].done || pending[2].done);
        disk_close(disk);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_true(sizes[i] > 0);
}

static void other_operations_pass_a_late_read(void **state)
{
    const struct disk_settings settings = {
        .size = SIZE, .delay = 1000, .late = EACH, .lateness = 1000000};
    struct disk *disk = open_with(&settings, 1);
    char text[] = "somewhere", back[sizeof text];
    now_psec = 1000;
    assert_int_equal(do_one(disk, DISK_WRITE, 0, text, sizeof text), sizeof text);
    struct result read = {
        .operation = {
            .kind = DISK_READ, .bytes = back, .size = sizeof back, .file = &image, .done = done}};
    disk_submit(disk, (psec)now_psec, &read.operation);
    assert_int_equal(do_one(disk, DISK_WRITE, SIZE / 2, text, sizeof text), sizeof text);
    assert_int_equal(do_one(disk, DISK_SYNC, 0, NULL, 0), 0);
    assert_true(now_psec == 1000 + 4 * 1000); /* the read takes its turn, and ends later */
    assert_false(read.done);
    assert_true(disk_next(disk) > (psec)now_psec && disk_next(disk) <= 3000 + 1000000);
    disk_run(disk, disk_next(disk));
    assert_true(read.done && read.operation.result == sizeof back);
    assert_memory_equal(back, text, sizeof text);
    disk_close(disk);
}

static void rot_flips_one_bit_permanently(void **state)
{
    struct disk *disk = open_with(&(struct disk_settings){.size = SIZE, .rot = EACH}, 3);
    uint8_t first[DISK_SECTOR] = {0}, second[DISK_SECTOR];
    unsigned ones = 0, turned = 0;
    (void)do_one(disk, DISK_WRITE, 0, first, sizeof first);
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
    static uint8_t images[3][SIZE];
    for (unsigned i = 0; i < 3; i++) {
        const struct disk_settings settings = {
            .size = SIZE, .lost = EACH / 3, .torn = EACH / 3, .jitter = 5000};
        struct disk *disk = open_with(&settings, i == 2 ? 8 : 7);
        uint8_t block[4 * DISK_SECTOR];
        for (unsigned turn = 0; turn < 30; turn++) {
            memset(block, (int)turn + 1, sizeof block);
            (void)do_one(disk, DISK_WRITE, turn * 1000, block, sizeof block);
        }
        (void)power_cycle(disk);
        (void)do_one(disk, DISK_READ, 0, images[i], SIZE);
        disk_close(disk);
    }
    assert_memory_equal(images[0], images[1], SIZE);
    assert_memory_not_equal(images[0], images[2], SIZE);
}

TEST_MAIN(TEST(written_data_is_read_back_and_operations_take_time),
          TEST(a_crash_loses_only_unsynced_data), TEST(without_a_sync_all_data_may_be_lost),
          TEST(a_failed_sync_makes_nothing_durable_and_is_not_repaired_by_another),
          TEST(what_a_failed_sync_left_is_read_until_a_crash),
          TEST(appends_follow_each_other_and_truncation_is_durable),
          TEST(names_are_durable_and_belong_to_their_service),
          TEST(pending_operations_may_have_been_done_when_a_server_ends),
          TEST(other_operations_pass_a_late_read), TEST(rot_flips_one_bit_permanently),
          TEST(a_seed_determines_the_outcome))
