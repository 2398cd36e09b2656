#pragma once
/* socket: IP addresses as a person writes them, as a context_address carries them, and
 * as the system wants them. */

#include <stdbool.h>
#include <sys/socket.h>

#include "transport/lifeline/lifeline.h"

struct socket_address {
    struct sockaddr_storage storage;
    socklen_t size;
};

/* Port 0. -EINVAL: not an IP address of one interface (names and "any" are not). */
MUST_CHECK int socket_parse(const char *text, struct socket_address *out);

/* -EINVAL: it has none. */
MUST_CHECK int socket_of_address(const struct context_address *address, struct socket_address *out);
void socket_to_address(const struct socket_address *from, struct context_address *out);

/* Address and port. */
bool socket_same(const struct socket_address *one, const struct socket_address *other);

/* The address a descriptor is bound to. */
MUST_CHECK int socket_local(int fd, struct socket_address *out);
