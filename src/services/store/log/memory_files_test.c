/* Checks files in memory: their results are those of weft/disk.h, and what random calls read is
 * what a plain copy of each file has. */
#include "services/store/log/memory_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define SLOT  1000u
#define COUNT 5u

static struct memory_files files;
static void *memory;
static unsigned woken;

static void on_wake(void *owner)
{
    assert_ptr_equal(owner, &files);
    woken++;
}

static int setup(void **state)
{
    (void)state;
    memory = aligned_alloc(16, (memory_files_size(SLOT, COUNT) + 15) / 16 * 16);
    assert_non_null(memory);
    memset(memory, 0xee, memory_files_size(SLOT, COUNT));
    memory_files_init(&files, memory, SLOT, COUNT);
    files.wake = on_wake;
    files.owner = &files;
    woken = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(memory);
    return 0;
}

static void a_full_memory_refuses(void **state)
{
    (void)state;
    struct memory_file *file, *last;
    uint8_t bytes[SLOT + 1] = {0};
    char name[8];
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof name, "%u", i);
        assert_int_equal(memory_open(&files, name, true, &file), 0);
    }
    assert_int_equal(memory_open(&files, "more", true, &last), -ENOSPC);
    assert_null(last);
    assert_int_equal(memory_truncate(&files, file, SLOT + 1), -ENOSPC);
    assert_int_equal(memory_truncate(&files, file, SLOT), 0);
    assert_int_equal(memory_write(&files, file, bytes, 2, SLOT - 1), -ENOSPC);
    assert_int_equal(memory_write(&files, file, bytes, 1, UINT64_MAX), -ENOSPC);
    assert_int_equal(memory_write(&files, file, bytes, SLOT, 0), SLOT);
    assert_int_equal(memory_remove(&files, "2"), 0);
    assert_int_equal(memory_open(&files, "more", true, &last), 0);
}

static void names_that_are_not_there(void **state)
{
    (void)state;
    struct memory_file *file;
    char name[WEFT_DISK_NAME_MAX + 2];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(memory_open(&files, "a", false, &file), -ENOENT);
    assert_int_equal(memory_remove(&files, "a"), -ENOENT);
    assert_int_equal(memory_rename(&files, "a", "b"), -ENOENT);
    assert_int_equal(memory_open(&files, name, true, &file), -EINVAL);
    name[WEFT_DISK_NAME_MAX] = 0;
    assert_int_equal(memory_open(&files, name, true, &file), 0);
}

/* ---- compared with plain copies ---- */

struct plain {
    char name[8];
    uint8_t bytes[SLOT];
    bool known[SLOT]; /* it was written */
    uint64_t size;
};

static struct plain plains[COUNT]; /* sorted by name, those without one are last */

static int compare(const void *a, const void *b)
{
    const struct plain *one = a, *other = b;
    if (!one->name[0] || !other->name[0])
        return !one->name[0] - !other->name[0];
    return strcmp(one->name, other->name);
}

static struct plain *plain_find(const char *name)
{
    for (unsigned i = 0; i < COUNT; i++) {
        if (strcmp(plains[i].name, name) == 0)
            return &plains[i];
    }
    return NULL;
}

static void try_names(struct rng *rng, const char *one, const char *other)
{
    struct memory_file *file;
    struct plain *plain = plain_find(one), *target = plain_find(other), *room = plain_find("");
    switch (rng_below(rng, 3)) {
    case 0:
        assert_int_equal(memory_remove(&files, one), plain ? 0 : -ENOENT);
        if (plain)
            *plain = (struct plain){0};
        break;
    case 1:
        if (plain == target)
            break;
        assert_int_equal(memory_rename(&files, one, other), plain ? 0 : -ENOENT);
        if (plain && target)
            *target = (struct plain){0};
        if (plain)
            strcpy(plain->name, other);
        break;
    default:
        if (plain) {
            assert_int_equal(memory_open(&files, one, true, &file), plain->size);
        } else if (room) {
            assert_int_equal(memory_open(&files, one, true, &file), 0);
            strcpy(room->name, one);
        } else {
            assert_int_equal(memory_open(&files, one, true, &file), -ENOSPC);
        }
    }
    qsort(plains, COUNT, sizeof *plains, compare);
}

static void try_bytes(struct rng *rng, const char *name)
{
    struct memory_file *file;
    struct plain *plain = plain_find(name);
    uint8_t bytes[SLOT];
    if (!plain)
        return;
    assert_int_equal(memory_open(&files, name, false, &file), plain->size);
    uint32_t offset = (uint32_t)rng_below(rng, SLOT),
             size = (uint32_t)rng_below(rng, SLOT - offset);
    if (rng_below(rng, 10) == 0) {
        assert_int_equal(memory_truncate(&files, file, offset), 0);
        plain->size = offset;
        for (uint32_t i = offset; i < SLOT; i++)
            plain->known[i] = false;
    } else if (rng_below(rng, 2)) {
        for (uint32_t i = 0; i < size; i++) {
            plain->bytes[offset + i] = bytes[i] = (uint8_t)rng_next(rng);
            plain->known[offset + i] = true;
        }
        assert_int_equal(memory_write(&files, file, bytes, size, offset), size);
        plain->size = plain->size < offset + size ? offset + size : plain->size;
    } else {
        uint64_t left = plain->size > offset ? plain->size - offset : 0;
        assert_int_equal(memory_read(file, bytes, size, offset), size < left ? size : left);
        for (uint32_t i = 0; i < size && i < left; i++)
            assert_true(!plain->known[offset + i] || bytes[i] == plain->bytes[offset + i]);
    }
}

static void check_list(struct rng *rng)
{
    struct weft_file_entry entries[COUNT];
    const char *after = "";
    uint32_t most = 1 + (uint32_t)rng_below(rng, COUNT), found = 0;
    int64_t count;
    while ((count = memory_list(&files, after, entries, most)) > 0) {
        for (int64_t i = 0; i < count; i++, found++) {
            assert_string_equal(entries[i].name, plains[found].name);
            assert_int_equal(entries[i].size, plains[found].size);
            after = plains[found].name;
        }
    }
    assert_true(found == COUNT || !plains[found].name[0]);
}

static void files_have_what_was_written(void **state)
{
    (void)state;
    const uint64_t seed = 3;
    static const char *const names[] = {"a", "b", "bb", "c", "d", "e", "00"};
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %" PRIu64 "\n", seed);
    memset(plains, 0, sizeof plains);
    for (unsigned i = 0; i < 30000; i++) {
        const char *one = names[rng_below(&rng, 7)], *other = names[rng_below(&rng, 7)];
        if (rng_below(&rng, 8) == 0)
            try_names(&rng, one, other);
        else
            try_bytes(&rng, one);
        if (i % 16 == 0)
            check_list(&rng);
    }
    memory_files_clear(&files);
    struct weft_file_entry entry;
    assert_int_equal(memory_list(&files, NULL, &entry, 1), 0);
}

/* ---- calls ---- */

static void calls_end_in_order(void **state)
{
    (void)state;
    struct weft_call calls[4];
    assert_null(memory_files_next(&files));
    for (unsigned i = 0; i < 3; i++)
        memory_files_done(&files, &calls[i], i);
    assert_int_equal(woken, 1);
    assert_ptr_equal(memory_files_next(&files), &calls[0]);
    memory_files_done(&files, &calls[3], 3); /* while they are being ended */
    for (unsigned i = 1; i < 4; i++) {
        struct weft_call *call = memory_files_next(&files);
        assert_ptr_equal(call, &calls[i]);
        assert_int_equal(call->result, i);
        if (i == 3)
            memory_files_done(&files, &calls[0], 0);
    }
    assert_ptr_equal(memory_files_next(&files), &calls[0]);
    assert_null(memory_files_next(&files));
    assert_int_equal(woken, 1);
    memory_files_done(&files, &calls[0], 0);
    assert_int_equal(woken, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(a_full_memory_refuses), CASE(names_that_are_not_there),
                                       CASE(files_have_what_was_written), CASE(calls_end_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
