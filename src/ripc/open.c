/* open: opening a context, from its settings to its threads, and closing it. The events between its
 * parts are in the table of ripc/events.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "ripc/core/remote.h"
#include "ripc/core/settings.h"
#include "ripc/core/waiting.h"
#include "ripc/events.h"
#include "ripc/memory/grant.h"
#include "ripc/message/mark.h"
#include "ripc/message/notice.h"
#include "transport/routed/routed.h"
#include "transport/wake/wait.h"

#define CONTEXT_TRIES 8

/* ---- opening ---- */

/* Appends a transport to our card: name and description, each preceded by its length. */
static int context_describe(struct ripc *ripc, struct transport *transport)
{
    uint8_t description[160];
    int size = transport->ops->describe(transport, description, sizeof description);
    if (size < 0)
        return size;
    size_t name_size = strlen(transport->ops->name);
    struct writer out =
        writer_make(ripc->card + ripc->card_size, sizeof ripc->card - ripc->card_size);
    write_u8(&out, (uint8_t)name_size);
    write_bytes(&out, transport->ops->name, name_size);
    write_u8(&out, (uint8_t)size);
    write_bytes(&out, description, (size_t)size);
    if (out.failed)
        return -EMSGSIZE;
    ripc->card_size = sizeof ripc->card - out.left;
    return 0;
}

static int context_describe_all(struct ripc *ripc)
{
    int result = 0;
    ripc->card_size = 0;
    for (unsigned i = 0; i < ripc->transport_count && !result; i++)
        result = context_describe(ripc, ripc->transports[i]);
    return result;
}

/* The connection to our server's node is lost, or is back with a new address. Peers that reached us
 * by the old address, or may try it, have to connect again. */
static void context_turned(void *owner, bool up)
{
    struct ripc *ripc = owner;
    unsigned index = 0;
    while (ripc->transports[index]->ops != &transport_routed)
        index++;
    ripc->adrift = !up;
    peers_part(ripc, index);
    if (up) {
        size_t size = ripc->card_size;
        int result = context_describe_all(ripc);
        assert(result == 0 && ripc->card_size == size); /* only the address inside has changed */
        lifelines_renew(ripc->lines, &ripc->address);
    }
    names_move(ripc->names, up ? &ripc->address : NULL);
    context_wake(ripc);
}

/* A link can be used now, or cannot: calls that wait for one try again. */
static void context_settled(void *owner)
{
    context_wake(owner);
}

/* Opens transports in the order of the table, which is by cost. A transport whose library is not
 * installed is left out, as if it were not built in, unless the program asked for it or for one of
 * its providers. */
static int context_open_transports(struct ripc *ripc, const struct settings *settings,
                                   struct why *why)
{
    struct transport_config config = {
        .poller = ripc->poller,
        .address = settings->address,
        .provider = settings->provider,
        .node = settings->node,
        .ring_slots = settings->ring_slots,
        .ring_bytes = settings->ring_bytes,
        .bells = &ripc->bells,
        .turned = context_turned,
        .settled = context_settled,
        .owner = ripc,
    };
    for (unsigned i = 0; transports[i]; i++) {
        if (!settings_has_transport(settings, transports[i]->name))
            continue;
        assert(ripc->transport_count < CONTEXT_TRANSPORT_MAX);
        struct transport **transport = &ripc->transports[ripc->transport_count];
        int result = transports[i]->open(transport, &config, why);
        if (result == -ENOPKG && !settings->transports && !settings->provider) {
            why->text[0] = '\0';
            continue;
        }
        if (result)
            return result;
        ripc->transport_count++;
    }
    return context_describe_all(ripc);
}

static int context_open_parts(struct ripc *ripc, const struct settings *settings, struct why *why)
{
    struct lifelines_config lines = {
        .folder = ripc->folder,
        .address = settings->address,
        .port = settings->port,
        .context = ripc->address.context,
        .card = ripc->card,
        .key = ripc->has_key ? ripc->key : NULL,
        .events = &peer_events,
        .owner = ripc,
    };
    struct names_config names = {
        .services = settings->names,
        .folder = ripc->folder,
        .domain = settings->domain,
        .node = settings->node,
        .address = settings->address,
        .key = ripc->has_key ? ripc->key : NULL,
        .events = &service_names_events,
        .owner = ripc,
    };
    int result = poller_open(&ripc->poller, &ripc->lock);
    if (result == 0)
        result = remotes_timer_open(ripc);
    if (result == 0)
        result = pool_open(&ripc->pool, &context_pool_events, ripc);
    ripc->windows.pool = ripc->pool;
    if (result == 0)
        result = context_open_transports(ripc, settings, why);
    lines.poller = names.poller = ripc->poller;
    for (unsigned i = 0; i < ripc->transport_count; i++)
        if (ripc->transports[i]->ops == &transport_routed)
            lines.attachment = routed_attachment(ripc->transports[i]);
    lines.fabric_only = settings_fabric_only(settings);
    lines.card_size = ripc->card_size;
    if (result == 0)
        result = lifelines_open(&ripc->lines, &lines, &ripc->address, why);
    if (result == 0)
        result = names_open(&ripc->names, &names, why);
    if (result == 0 && trace_open(&ripc->trace, ripc->folder, ripc->address.context) < 0)
        ripc->trace = NULL; /* no room for the file: the context works, but cannot be traced */
    return result;
}

static void *context_keep(void *argument)
{
    struct ripc *ripc = argument;
    lock_take(&ripc->lock);
    lock_rare(&ripc->lock);
    lock_drop(&ripc->lock);
    for (;;) {
        poller_step(ripc->poller, NSEC_NEVER);
        lock_take(&ripc->lock);
        bool closing = ripc->closing;
        lock_drop(&ripc->lock);
        if (closing)
            return NULL;
    }
}

static void context_free(struct ripc *ripc)
{
    if (ripc->names)
        names_close(ripc->names);
    lifelines_close(ripc->lines);
    peer_free_all(ripc);
    windows_fini(&ripc->windows);
    if (ripc->pool)
        pool_close(ripc->pool);
    marks_close(ripc);
    while (ripc->transport_count > 0) {
        struct transport *transport = ripc->transports[--ripc->transport_count];
        transport->ops->close(transport);
    }
    if (ripc->trace)
        trace_close(ripc->trace);
    if (ripc->poller) {
        poller_unset(ripc->poller, &ripc->resolve_timer);
        poller_close(ripc->poller);
    }
    id_map_fini(&ripc->services);
    if (ripc->folder[0])
        domain_leave(ripc->folder);
    free(ripc);
}

static int context_try(struct ripc **out, const struct settings *settings, struct why *why)
{
    struct ripc *ripc = calloc(1, sizeof *ripc);
    if (!ripc)
        return -ENOMEM;
    if (owner_make(&ripc->owner)) {
        free(ripc);
        return -ENOMEM;
    }
    ripc->events = &ripc_events;
    list_init(&ripc->peers);
    list_init(&ripc->bells);
    list_init(&ripc->notices_due);
    ripc->address.context = entropy_u64();
    ripc->manual = settings->flags & RIPC_MANUAL;
    ripc->spin = settings->spin;
    ripc->yield = settings->yield;
    ripc->has_key = settings->has_key;
    memcpy(ripc->key, settings->key, sizeof ripc->key);
    int result = domain_open(ripc->folder, settings->domain, why);
    if (result == 0) {
        domain_clean(ripc->folder);
        lock_take(&ripc->lock); /* the parts and their callbacks expect it */
        result = context_open_parts(ripc, settings, why);
        lock_drop(&ripc->lock);
    }
    if (result == 0 && !ripc->manual)
        result = thread_start(&ripc->keeper, "weft-ripc", context_keep, ripc);
    if (result) {
        lock_take(&ripc->lock);
        context_free(ripc);
        return result;
    }
    *out = ripc;
    return 0;
}

/* Retries because the last context to leave a domain removes its folder, perhaps just now. */
static int context_open(struct ripc **out, const struct settings *settings, struct why *why)
{
    int result = -ENOENT;
    for (unsigned try = 0; try < CONTEXT_TRIES && result == -ENOENT; try++)
        result = context_try(out, settings, why);
    return result;
}

int ripc_open(const struct ripc_config *config, struct ripc **ripc)
{
    static const struct ripc_config defaults;
    struct settings settings;
    struct why why = {0};
    if (!config)
        config = &defaults;
    int result = settings_read(&settings, config, &why);
    if (result == 0)
        result = context_open(ripc, &settings, &why);
    settings_fini(&settings);
    if (config->reason)
        snprintf(config->reason, RIPC_REASON_MAX, "%s",
                 result ? (why.text[0] ? why.text : ripc_strerror(result)) : "");
    return result;
}

/* ---- closing ---- */

static void context_finish(struct ripc *ripc, int64_t deadline)
{
    while (ripc->stats.operations > 0) {
        size_t cursor = 0;
        struct ripc_service *service;
        while ((service = id_map_next(&ripc->services, &cursor)))
            remotes_collect(service);
        waiting_progress(ripc);
        if (ripc->stats.operations == 0 || clock_now() >= deadline)
            return;
        waiting_pause(ripc);
    }
}

int ripc_close(struct ripc *ripc, int64_t deadline)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    assert(!ripc->reach_count && list_is_empty(&ripc->bells)); /* the layer above closes them
                                                                * first */
    context_finish(ripc, deadline);
    int result = service_drain(ripc, NULL, deadline);
    if (ripc->stats.operations)
        result = -ETIMEDOUT;
    notices_close(ripc);
    size_t cursor = 0;
    struct ripc_service *service;
    while ((service = id_map_next(&ripc->services, &cursor))) {
        service_close(service);
        cursor = 0;
    }
    grants_drop_all(ripc);
    ripc->closing = true;
    lock_drop(&ripc->lock);
    poller_wake(ripc->poller);
    thread_join(&ripc->keeper);
    lock_take(&ripc->lock);
    context_free(ripc);
    return result;
}

int ripc_clean(const char *domain)
{
    char folder[DOMAIN_PATH_MAX];
    struct why why;
    const char *chosen = domain ? domain : settings_domain();
    int result = domain_open(folder, chosen, &why);
    if (result)
        return result;
    for (unsigned i = 0; transports[i]; i++)
        if (transports[i]->clean)
            transports[i]->clean();
    result = domain_clean(folder);
    domain_leave(folder);
    return result;
}
