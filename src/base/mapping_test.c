#include "base/mapping.h"

#include <stdint.h>
#include <unistd.h>

#include <sys/mman.h>

#include "base/test.h"

#define SIZE ((size_t)1 << 30)

/* Counts the pages of a range that occupy memory. */
static size_t resident(void *memory, size_t size)
{
    static unsigned char pages[SIZE / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    assert_int_equal(mincore(memory, size, pages), 0);
    for (size_t i = 0; i < size / page; i++)
        count += pages[i] & 1;
    return count * page;
}

static void a_mapping_is_zeroed_and_occupies_memory_only_where_it_was_written(void **state)
{
    unsigned char *memory = mapping_take(SIZE);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % (size_t)sysconf(_SC_PAGESIZE), 0);
    assert_int_equal(resident(memory, SIZE), 0);
    assert_int_equal(memory[SIZE - 1], 0);
    memory[SIZE / 2] = 1;
    assert_in_range(resident(memory, SIZE), 1, 8u << 20); /* two pages, of any size */
    mapping_give(memory, SIZE);
}

static void a_mapping_that_is_too_large_is_refused(void **state)
{
    assert_null(mapping_take(SIZE_MAX / 2));
    assert_null(mapping_take(0));
}

TEST_MAIN(TEST(a_mapping_is_zeroed_and_occupies_memory_only_where_it_was_written),
          TEST(a_mapping_that_is_too_large_is_refused))
