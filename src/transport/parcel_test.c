#include <fcntl.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/transport.h"

static void only_descriptors_that_were_not_taken_are_closed(void **state)
{
    struct parcel parcel = {.fd_count = 2, .size = 7};
    assert_int_equal(pipe(parcel.fds), 0);
    int kept = parcel.fds[0];
    int left = parcel.fds[1];
    parcel.fds[0] = -1;
    parcel_fini(&parcel);
    assert_int_not_equal(fcntl(kept, F_GETFD), -1);
    assert_int_equal(fcntl(left, F_GETFD), -1);
    assert_int_equal(parcel.fd_count, 0);
    parcel_fini(&parcel);
    close(kept);
}

TEST_MAIN(TEST(only_descriptors_that_were_not_taken_are_closed))
