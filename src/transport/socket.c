#include "transport/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

static void address_set4(struct socket_address *out, struct in_addr address, uint16_t port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address};
    memset(out, 0, sizeof *out);
    memcpy(&out->storage, &name, sizeof name);
    out->size = sizeof name;
}

static void address_set6(struct socket_address *out, struct in6_addr address, uint16_t port)
{
    struct sockaddr_in6 name = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = address};
    memset(out, 0, sizeof *out);
    memcpy(&out->storage, &name, sizeof name);
    out->size = sizeof name;
}

int socket_parse(const char *text, struct socket_address *out)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, text, &four) == 1 && four.s_addr != htonl(INADDR_ANY)) {
        address_set4(out, four, 0);
        return 0;
    }
    if (inet_pton(AF_INET6, text, &six) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&six)) {
        address_set6(out, six, 0);
        return 0;
    }
    return -EINVAL;
}

void socket_set_port(struct socket_address *address, uint16_t port)
{
    uint16_t there = htons(port);
    bool four = address->storage.ss_family == AF_INET;
    size_t offset =
        four ? offsetof(struct sockaddr_in, sin_port) : offsetof(struct sockaddr_in6, sin6_port);
    memcpy((uint8_t *)&address->storage + offset, &there, sizeof there);
}

int socket_of_address(const struct context_address *address, struct socket_address *out)
{
    if (address->family == AF_INET) {
        struct in_addr four;
        memcpy(&four, address->address, sizeof four);
        address_set4(out, four, address->port);
        return 0;
    }
    if (address->family == AF_INET6) {
        struct in6_addr six;
        memcpy(&six, address->address, sizeof six);
        address_set6(out, six, address->port);
        return 0;
    }
    return -EINVAL;
}

void socket_to_address(const struct socket_address *from, struct context_address *out)
{
    memset(out->address, 0, sizeof out->address);
    out->family = (uint8_t)from->storage.ss_family;
    if (out->family == AF_INET) {
        struct sockaddr_in name;
        memcpy(&name, &from->storage, sizeof name);
        memcpy(out->address, &name.sin_addr, sizeof name.sin_addr);
        out->port = ntohs(name.sin_port);
    } else {
        struct sockaddr_in6 name;
        memcpy(&name, &from->storage, sizeof name);
        memcpy(out->address, &name.sin6_addr, sizeof name.sin6_addr);
        out->port = ntohs(name.sin6_port);
    }
}

bool socket_same(const struct socket_address *one, const struct socket_address *other)
{
    struct context_address left = {0}, right = {0};
    if (one->storage.ss_family != other->storage.ss_family)
        return false;
    socket_to_address(one, &left);
    socket_to_address(other, &right);
    return left.port == right.port && memcmp(left.address, right.address, sizeof left.address) == 0;
}

int socket_local(int fd, struct socket_address *out)
{
    out->size = sizeof out->storage;
    return getsockname(fd, (struct sockaddr *)&out->storage, &out->size) ? -errno : 0;
}
