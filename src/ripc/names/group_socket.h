#pragma once
/* group_socket: two sockets on one interface: one hears what is said to an
 * IPv4 group, the other speaks, to the group or to one, and hears answers. */

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define GROUP_SOCKET_DEFAULT "239.255.87.70:17700"

struct group_socket {
    struct sockaddr_in group;
    int hear_fd; /* owned, both */
    int talk_fd;
};

/* `group` is ADDRESS:PORT. The interface is the one with that address of ours,
 * or the loopback (NULL). */
MUST_CHECK int group_socket_open(struct group_socket *sockets, const char *group,
                                 const char *address, struct why *why);
void group_socket_close(struct group_socket *sockets);

/* To one, or to the group (NULL). A datagram that the system refuses is lost, as any may be. */
void group_socket_send(const struct group_socket *sockets, const struct sockaddr_in *to,
                       const void *data, size_t size);
