#include "transport/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/test.h"

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
    assert_int_equal(there[0], 1); /* it lives as long as one has it */
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

static void nobody_can_resize_it(void **state)
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
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* taken over, and closed */
}

static void what_a_peer_should_not_send_is_refused(void **state)
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

static void no_memory_is_an_error(void **state)
{
    struct memfile file;
    assert_int_equal(memfile_open(&file, "test", 0), -EINVAL);
    assert_int_equal(memfile_open(&file, "test", SIZE_MAX), -EINVAL);
    assert_true(memfile_open(&file, "test", (size_t)1 << 62) < 0);
    memfile_close(&file);
}

TEST_MAIN(TEST(both_sides_see_the_same_memory),
          TEST(a_read_only_share_cannot_be_mapped_for_writing), TEST(nobody_can_resize_it),
          TEST(what_a_peer_should_not_send_is_refused), TEST(no_memory_is_an_error))
