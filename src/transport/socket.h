#pragma once
/* socket: IP addresses as a person writes them, as a context_address carries them, and as the
 * system calls expect them. */

#include <stdbool.h>
#include <sys/socket.h>

#include "transport/lifeline/lifeline.h"

struct socket_address {
    struct sockaddr_storage storage;
    socklen_t size;
};

/* Sets port 0. -EINVAL: not an IP address of one interface (host names and "any" are refused). */
MUST_CHECK int socket_parse(const char *text, struct socket_address *out);
void socket_set_port(struct socket_address *address, uint16_t port);

/* -EINVAL: the context_address has no IP address. */
MUST_CHECK int socket_of_address(const struct context_address *address, struct socket_address *out);
void socket_to_address(const struct socket_address *from, struct context_address *out);

/* Compares address and port. */
bool socket_same(const struct socket_address *one, const struct socket_address *other);

/* Writes the address that a descriptor is bound to. */
MUST_CHECK int socket_local(int fd, struct socket_address *out);
