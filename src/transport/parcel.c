#include <unistd.h>

#include "transport/fork/descriptor.h"
#include "transport/transport.h"

void parcel_fini(struct parcel *parcel)
{
    for (unsigned i = 0; i < parcel->fd_count && i < CONTROL_FD_MAX; i++) {
        if (parcel->fds[i] >= 0)
            descriptor_close(parcel->fds[i]);
        parcel->fds[i] = -1;
    }
    parcel->fd_count = 0;
    parcel->size = 0;
}
