#include "transport/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/wake/thread.h"

#define SIZE 10000

static void both_sides_see_the_same_memory(void **state)
{
    struct memfile ours;
    struct memfile theirs;
    assert_int_equal(memfile_open(&ours, "test", SIZE), 0);
    assert_int_equal(memfile_map(&theirs, memfile_share(&ours, 1), SIZE, 1), 0);
    uint8_t *here = ours.base;
    uint8_t *there = theirs.base;
    assert_ptr_not_equal(here, there);
    for (unsigned i = 0; i < SIZE; i++)
        assert_int_equal(here[i], 0);
    here[0] = 1;
    there[SIZE - 1] = 2;
    assert_int_equal(there[0], 1);
    assert_int_equal(here[SIZE - 1], 2);
    memfile_close(&ours);
    assert_int_equal(there[0], 1); /* the memory exists as long as one side maps it */
    memfile_close(&theirs);
    memfile_close(&theirs); /* harmless */
}

static void a_read_only_share_cannot_be_mapped_for_writing(void **state)
{
    struct memfile ours;
    struct memfile theirs;
    assert_int_equal(memfile_open(&ours, "test", SIZE), 0);
    assert_int_equal(memfile_map(&theirs, memfile_share(&ours, 0), SIZE, 1), -EPROTO);
    assert_int_equal(memfile_map(&theirs, memfile_share(&ours, 0), SIZE, 0), 0);
    assert_int_equal(memfile_share(&theirs, 1), -EACCES);
    int again = memfile_share(&theirs, 0);
    assert_true(again >= 0);
    close(again);
    memfile_close(&theirs);
    memfile_close(&ours);
}

static void a_sealed_file_cannot_be_resized(void **state)
{
    struct memfile ours;
    assert_int_equal(memfile_open(&ours, "test", SIZE), 0);
    assert_int_equal(ftruncate(ours.fd, 0), -1);
    assert_int_equal(ftruncate(ours.fd, 2 * SIZE), -1);
    memfile_close(&ours);
}

static void refuse(int fd, size_t size)
{
    struct memfile file;
    assert_true(fd >= 0);
    assert_int_equal(memfile_map(&file, fd, size, 0), -EPROTO);
    assert_null(file.base);
    assert_int_equal(file.fd, -1);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* memfile_map has closed it */
}

static void files_that_are_not_sealed_memory_are_refused(void **state)
{
    struct memfile ours;
    assert_int_equal(memfile_open(&ours, "test", SIZE), 0);
    refuse(memfile_share(&ours, 1), SIZE - 1);
    refuse(memfile_share(&ours, 1), SIZE + 1);
    refuse(memfile_share(&ours, 1), 0);
    memfile_close(&ours);

    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    refuse(pipe_ends[0], SIZE);
    close(pipe_ends[1]);
    refuse(open("/dev/zero", O_RDWR), SIZE);

    int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(unsealed, SIZE), 0);
    assert_int_equal(fcntl(unsealed, F_ADD_SEALS, F_SEAL_GROW), 0);
    refuse(unsealed, SIZE);

    struct memfile file;
    assert_int_equal(memfile_map(&file, -1, SIZE, 0), -EPROTO);
}

static void impossible_sizes_are_refused(void **state)
{
    struct memfile file;
    assert_int_equal(memfile_open(&file, "test", 0), -EINVAL);
    assert_int_equal(memfile_open(&file, "test", SIZE_MAX), -EINVAL);
    assert_true(memfile_open(&file, "test", (size_t)1 << 62) < 0);
    memfile_close(&file);
}

/* ---- other memory at the same address ---- */

static void fill(uint8_t *bytes, unsigned seed)
{
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8) + seed);
}

static void earlier_mappings_do_not_reach_the_replacement(void **state)
{
    uint8_t expected[SIZE];
    fill(expected, 1);
    for (int keep = 0; keep < 2; keep++) {
        struct memfile ours, theirs, by;
        assert_int_equal(memfile_open(&ours, "test", SIZE), 0);
        assert_int_equal(memfile_open(&by, "test", SIZE), 0);
        assert_int_equal(memfile_map(&theirs, memfile_share(&ours, 1), SIZE, 1), 0);
        uint8_t *here = ours.base, *there = theirs.base;
        fill(here, 1);
        assert_int_equal(memfile_replace(&ours, &by, keep), 0);
        assert_ptr_equal(ours.base, here);
        assert_int_equal(by.fd, -1);
        assert_null(by.base);
        if (keep)
            assert_memory_equal(here, expected, SIZE);
        for (unsigned i = 0; i < SIZE && !keep; i++)
            assert_int_equal(here[i], 0);
        assert_memory_equal(there, expected, SIZE); /* the peer's copy is unchanged, ... */
        there[3] = 99;                              /* ... and separate from ours */
        assert_int_not_equal(here[3], 99);
        memfile_close(&theirs);
        assert_int_equal(memfile_map(&theirs, memfile_share(&ours, 1), SIZE, 1), 0);
        here[4] = 44;
        assert_int_equal(((uint8_t *)theirs.base)[4], 44); /* the new memory is shared now */
        memfile_close(&theirs);
        memfile_close(&ours);
    }
}

struct reading {
    const _Atomic uint64_t *word;
    _Atomic bool stop;
    _Atomic uint64_t strange; /* values that were in neither file */
};

static void *read_on(void *argument)
{
    struct reading *reading = argument;
    while (!atomic_load_explicit(&reading->stop, memory_order_relaxed)) {
        uint64_t word = atomic_load_explicit(reading->word, memory_order_relaxed);
        if (word != 0 && word != 5)
            atomic_fetch_add_explicit(&reading->strange, 1, memory_order_relaxed);
    }
    return NULL;
}

static void readers_do_not_notice_a_replacement(void **state)
{
    struct memfile file;
    assert_int_equal(memfile_open(&file, "test", SIZE), 0);
    _Atomic uint64_t *word = file.base;
    struct reading reading = {.word = word};
    struct thread reader = {0};
    assert_int_equal(thread_start(&reader, "read", read_on, &reading), 0);
    for (unsigned i = 0; i < 1000; i++) {
        struct memfile by;
        assert_int_equal(memfile_open(&by, "test", SIZE), 0);
        atomic_store(word, 5);
        assert_int_equal(memfile_replace(&file, &by, i % 2), 0);
        assert_int_equal(atomic_load(word), i % 2 ? 5 : 0);
    }
    atomic_store(&reading.stop, true);
    thread_join(&reader);
    assert_int_equal(reading.strange, 0);
    memfile_close(&file);
}

static void reserved_pages_are_allocated(void **state)
{
    struct memfile file;
    struct stat status;
    assert_int_equal(memfile_open(&file, "test", 1 << 20), 0);
    assert_int_equal(fstat(file.fd, &status), 0);
    assert_int_equal(status.st_blocks, 0);
    assert_int_equal(memfile_reserve(&file), 0);
    assert_int_equal(fstat(file.fd, &status), 0);
    assert_true(status.st_blocks * 512 >= 1 << 20);
    memfile_close(&file);
    /* More than any machine has: refused without allocating anything. */
    int result = memfile_open(&file, "test", (size_t)1 << 45);
    if (result == 0) { /* else there is no room even to map it */
        result = memfile_reserve(&file);
        assert_int_equal(fstat(file.fd, &status), 0);
        assert_int_equal(status.st_blocks, 0);
    }
    assert_int_equal(result, -ENOMEM);
    memfile_close(&file);
}

/* Was the kernel advised to use huge pages for the memory of this file? */
static bool is_advised(const struct memfile *file)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool ours = false, advised = false;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long start;
        char dash;
        if (sscanf(line, "%lx%c", &start, &dash) == 2 && dash == '-')
            ours = start == (uintptr_t)file->base;
        if (ours && strncmp(line, "VmFlags:", 8) == 0)
            advised = strstr(line, " hg") != NULL;
    }
    fclose(maps);
    return advised;
}

static void only_large_files_ask_for_huge_pages(void **state)
{
    enum { HUGE = 2 << 20 };
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
        skip(); /* a kernel without huge pages */
    static const struct {
        size_t size;
        bool advised;
    } cases[] = {{HUGE / 2, false}, {HUGE - 4096, false}, {HUGE, true}, {2 * HUGE, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memfile file;
        assert_int_equal(memfile_open(&file, "test", cases[i].size), 0);
        assert_int_equal(is_advised(&file), cases[i].advised);
        memfile_close(&file);
    }
}

static void memory_of_a_label_is_found(void **state)
{
    struct memfile files[3];
    struct memfile_range *ranges;
    assert_int_equal(memfiles_mapped("weft-label", &ranges), 0);
    assert_null(ranges);
    assert_int_equal(memfile_open(&files[0], "weft-label", SIZE), 0);
    assert_int_equal(memfile_open(&files[1], "weft-label-2", SIZE), 0);
    assert_int_equal(memfile_open(&files[2], "weft-labe", SIZE), 0);
    assert_int_equal(memfiles_mapped("weft-label", &ranges), 1);
    assert_int_equal(ranges[0].begin, (uintptr_t)files[0].base);
    assert_true(ranges[0].end - ranges[0].begin >= SIZE);
    free(ranges);
    for (unsigned i = 0; i < 3; i++)
        memfile_close(&files[i]);
}

TEST_MAIN(TEST(memory_of_a_label_is_found), TEST(only_large_files_ask_for_huge_pages),
          TEST(both_sides_see_the_same_memory),
          TEST(a_read_only_share_cannot_be_mapped_for_writing),
          TEST(a_sealed_file_cannot_be_resized), TEST(files_that_are_not_sealed_memory_are_refused),
          TEST(impossible_sizes_are_refused), TEST(earlier_mappings_do_not_reach_the_replacement),
          TEST(readers_do_not_notice_a_replacement), TEST(reserved_pages_are_allocated))
