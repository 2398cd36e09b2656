/* fabric_link_open: opens a link to a peer, and handles its loss. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

static bool address_is_loopback(const struct fabric *fabric, const uint8_t *address)
{
    if (fabric->info->addr_format == FI_SOCKADDR_IN) {
        struct sockaddr_in at;
        memcpy(&at, address, sizeof at);
        return ntohl(at.sin_addr.s_addr) >> 24 == 127;
    }
    if (fabric->info->addr_format == FI_SOCKADDR_IN6) {
        struct sockaddr_in6 at;
        memcpy(&at, address, sizeof at);
        return IN6_IS_ADDR_LOOPBACK(&at.sin6_addr);
    }
    return false;
}

/* Copies the peer's endpoint from its description, padded with zeros so that the provider finds
 * what its format requires. -EHOSTUNREACH: this transport cannot reach the peer. */
static int description_read(const struct fabric *fabric, const struct context_address *peer,
                            const uint8_t *description, size_t size,
                            uint8_t out[FABRIC_ADDRESS_MAX + 1])
{
    const char *provider = fabric->info->fabric_attr->prov_name;
    size_t name_size = strlen(provider) + 1;
    if (size <= name_size || memcmp(description, provider, name_size) != 0)
        return -EHOSTUNREACH;
    const uint8_t *address = description + name_size;
    size -= name_size;
    if (size > FABRIC_ADDRESS_MAX)
        return -EPROTO;
    memset(out, 0, FABRIC_ADDRESS_MAX + 1);
    memcpy(out, address, size);
    if (fabric->info->addr_format == FI_ADDR_STR)
        return context_address_is_here(peer) ? 0 : -EHOSTUNREACH;
    sa_family_t ours, theirs;
    memcpy(&ours, fabric->address, sizeof ours);
    memcpy(&theirs, out, sizeof theirs);
    bool is_socket =
        fabric->info->addr_format == FI_SOCKADDR_IN || fabric->info->addr_format == FI_SOCKADDR_IN6;
    if (size != fabric->address_size || (is_socket && ours != theirs))
        return -EHOSTUNREACH;
    bool far = address_is_loopback(fabric, out) || address_is_loopback(fabric, fabric->address);
    return far && !context_address_is_here(peer) ? -EHOSTUNREACH : 0;
}

int fabric_link_open(struct transport *transport, struct lifeline *line,
                     const struct context_address *peer, const uint8_t *description, size_t size,
                     struct transport_link **out)
{
    struct fabric *fabric = container_of(transport, struct fabric, transport);
    uint8_t address[FABRIC_ADDRESS_MAX + 1];
    int result = description_read(fabric, peer, description, size, address);
    if (result)
        return result;
    struct fabric_link *link = array_new(1, sizeof *link);
    if (!link)
        return -ENOMEM;
    if (fi_av_insert(fabric->av, address, 1, &link->address, 0, NULL) != 1) {
        free(link);
        return -EHOSTUNREACH;
    }
    link->link.ops = transport->ops;
    link->fabric = fabric;
    link->line = line;
    list_init(&link->unsent);
    list_init(&link->jobs);
    list_init(&link->waiting);
    list_append(&fabric->links, &link->node);
    *out = &link->link;
    return 0;
}

/* Once done() was called the caller may reuse its memory, but a live peer may still be answering a
 * read, and no provider lets us stop that. So we wait a moment for the answers. They arrive at once
 * from a live peer, and a dead peer's connection fails at once; bytes may arrive later only from a
 * hung peer, or across a network that went silent. */
static void link_drain(struct fabric_link *link)
{
    struct fabric *fabric = link->fabric;
    nsec until = clock_after(FABRIC_DRAIN_NSEC);
    fabric->draining = true;
    while (fabric_jobs_fail(link) && clock_now() < until)
        fabric_poll(fabric);
    fabric->draining = false;
}

void fabric_link_lost(struct transport_link *base)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    link->line = NULL;
    link->broken = true;
    fabric_link_drop_unsent(link);
    if (fabric_jobs_fail(link) && !link->fabric->depth)
        link_drain(link);
    fabric_jobs_tell(link->fabric, link);
    fabric_jobs_abandon(link);
}

void fabric_link_close(struct transport_link *base)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    fabric_link_lost(base);
    link->closed = true;
    fabric_links_reap(link->fabric);
}
