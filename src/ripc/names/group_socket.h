#pragma once
/* group_socket: two sockets on one interface. One receives what is sent to an IPv4 group; the other
 * sends to the group or to one address, and receives answers. */

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define GROUP_SOCKET_DEFAULT "239.255.87.70:17700"

struct group_socket {
    struct sockaddr_in group;
    int hear_fd; /* both are owned */
    int talk_fd;
};

/* `group` is ADDRESS:PORT. The interface is the one with that address of ours, or the loopback
 * (NULL). */
MUST_CHECK int group_socket_open(struct group_socket *sockets, const char *group,
                                 const char *address, struct why *why);
void group_socket_close(struct group_socket *sockets);

/* Sends to one address, or to the group (NULL). A datagram that the system refuses is lost, as any
 * datagram may be. */
void group_socket_send(const struct group_socket *sockets, const struct sockaddr_in *to,
                       const void *data, size_t size);
