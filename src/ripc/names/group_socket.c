#include "ripc/names/group_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/fork/descriptor.h"

/* Reads ADDRESS:PORT of an IPv4 group. */
static int group_read(struct sockaddr_in *group, const char *text, struct why *why)
{
    char address[INET_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    unsigned long port = 0;
    *group = (struct sockaddr_in){.sin_family = AF_INET};
    if (colon && colon[1] >= '0' && colon[1] <= '9')
        port = strtoul(colon + 1, &end, 10);
    if (!end || *end || port == 0 || port > UINT16_MAX || colon - text >= INET_ADDRSTRLEN)
        return why_fail(why, -EINVAL, "bad group '%s': expected ADDRESS:PORT, such as %s", text,
                        GROUP_SOCKET_DEFAULT);
    memcpy(address, text, (size_t)(colon - text));
    address[colon - text] = '\0';
    if (inet_pton(AF_INET, address, &group->sin_addr) != 1 ||
        !IN_MULTICAST(ntohl(group->sin_addr.s_addr)))
        return why_fail(why, -EINVAL, "bad group '%s': %s is not an IPv4 multicast address", text,
                        address);
    group->sin_port = htons((uint16_t)port);
    return 0;
}

/* True if the interface has the wanted address; NULL: loopback. */
static bool interface_matches(const struct ifaddrs *entry, const char *address)
{
    uint8_t wanted[16];
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
        return false;
    int family = entry->ifa_addr->sa_family;
    if (!address)
        return family == AF_INET && entry->ifa_flags & IFF_LOOPBACK;
    if ((family != AF_INET && family != AF_INET6) || inet_pton(family, address, wanted) != 1)
        return false;
    const void *own =
        family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr
            : (const void *)&((const struct sockaddr_in6 *)(const void *)entry->ifa_addr)
                  ->sin6_addr;
    return memcmp(own, wanted, family == AF_INET ? 4 : 16) == 0;
}

/* Returns the interface's index and the IPv4 address to send from (any, if the wanted address is
 * not IPv4). */
static int interface_find(const char *address, struct in_addr *from, struct why *why)
{
    struct ifaddrs *entries;
    int index = 0;
    from->s_addr = htonl(INADDR_ANY);
    descriptor_begin(); /* the C library opens a socket for a moment, here and below */
    int failed = getifaddrs(&entries);
    descriptor_end(-1);
    if (failed)
        return why_fail(why, -errno, "cannot list the interfaces: %s", strerror(errno));
    for (const struct ifaddrs *entry = entries; entry && !index; entry = entry->ifa_next) {
        if (!interface_matches(entry, address))
            continue;
        descriptor_begin();
        index = (int)if_nametoindex(entry->ifa_name);
        descriptor_end(-1);
        if (entry->ifa_addr->sa_family == AF_INET)
            *from = ((const struct sockaddr_in *)(const void *)entry->ifa_addr)->sin_addr;
    }
    freeifaddrs(entries);
    if (!index)
        return why_fail(why, -EADDRNOTAVAIL, "no active interface has the address %s",
                        address ? address : "of the loopback");
    return index;
}

static bool option_set(int fd, int level, int option, const void *value, size_t size)
{
    return setsockopt(fd, level, option, value, (socklen_t)size) == 0;
}

/* Many processes of this host share the port, and each receives all datagrams. */
static int hear_open(const struct sockaddr_in *group, int index)
{
    const int on = 1, off = 0;
    struct ip_mreqn join = {.imr_multiaddr = group->sin_addr, .imr_ifindex = index};
    int fd = DESCRIPTOR_OPEN(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -errno;
    /* Without MULTICAST_ALL, only datagrams from our interface are received. */
    if (option_set(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) &&
        option_set(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off) &&
        bind(fd, (const struct sockaddr *)group, sizeof *group) == 0 &&
        option_set(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof join))
        return fd;
    int error = errno;
    descriptor_close(fd);
    return -error;
}

static int talk_open(struct in_addr from, int index)
{
    const int on = 1;
    struct ip_mreqn out = {.imr_ifindex = index};
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = from};
    int fd = DESCRIPTOR_OPEN(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&own, sizeof own) == 0 &&
        option_set(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof out) &&
        option_set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &on, sizeof on) &&
        option_set(fd, IPPROTO_IP, IP_MULTICAST_TTL, &on, sizeof on))
        return fd;
    int error = errno;
    descriptor_close(fd);
    return -error;
}

int group_socket_open(struct group_socket *sockets, const char *group, const char *address,
                      struct why *why)
{
    struct in_addr from;
    *sockets = (struct group_socket){.hear_fd = -1, .talk_fd = -1};
    int result = group_read(&sockets->group, group, why);
    if (result < 0)
        return result;
    int index = interface_find(address, &from, why);
    if (index < 0)
        return index;
    sockets->hear_fd = hear_open(&sockets->group, index);
    if (sockets->hear_fd < 0)
        return why_fail(why, sockets->hear_fd, "cannot join the group %s: %s", group,
                        strerror(-sockets->hear_fd));
    sockets->talk_fd = talk_open(from, index);
    if (sockets->talk_fd >= 0)
        return 0;
    result = why_fail(why, sockets->talk_fd, "cannot open a socket to send to the group %s: %s",
                      group, strerror(-sockets->talk_fd));
    group_socket_close(sockets);
    return result;
}

void group_socket_close(struct group_socket *sockets)
{
    if (sockets->hear_fd >= 0)
        descriptor_close(sockets->hear_fd);
    if (sockets->talk_fd >= 0)
        descriptor_close(sockets->talk_fd);
    sockets->hear_fd = sockets->talk_fd = -1;
}

void group_socket_send(const struct group_socket *sockets, const struct sockaddr_in *to,
                       const void *data, size_t size)
{
    if (!to)
        to = &sockets->group;
    (void)!sendto(sockets->talk_fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)to, sizeof *to);
}
