/* fabric_provider: chooses one of libfabric's providers and opens it.
 *
 * We request only what the transport needs: messages in order, remote reads and writes, and writes
 * in the order in which they were made (unless we request that, the shm provider takes a path that
 * does not even check keys). We accept any memory registration mode that the provider requires, and
 * do what it needs. All calls are made under one lock, so the provider needs none of its own; and
 * we drive its progress ourselves, so it needs no threads. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fabric/fabric_impl.h"
#include "transport/fork/descriptor.h"

#define FABRIC_VERSION FI_VERSION(1, 11)
#define FABRIC_MR_MODES                                                                            \
    (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT)
#define FABRIC_CQ_SIZE 4096

enum { KEY_TRIES = 4 }; /* one random key may be taken already, but not four */

/* The name that a person uses for a provider, and libfabric's name. */
struct provider {
    const char *word;
    const char *name;
    bool networked; /* bound to an IP address */
    bool loopback;  /* to 127.0.0.1 if no address is given */
    bool adapter;   /* the adapter itself writes into memory; with the others, software does */
    bool sticky;    /* its descriptor stays readable for ever once something has arrived */
};

/* In the order in which they are tried if none is named: hardware first. `net` is faster than `tcp`
 * in libfabric 1.17 but was merged into it in 1.18; `shm` exists for comparison, and is not
 * tried. */
static const struct provider providers[] = {
    {"efa", "efa", false, false, false, false},
    {"verbs", "verbs;ofi_rxm", true, false, true, false},
    {"tcp", "tcp;ofi_rxm", true, true, false, false},
    {"net", "net", true, true, false, true},
    {"shm", "shm", false, false, false, false},
};
enum { PROVIDER_COUNT = sizeof providers / sizeof *providers, PROVIDER_DEFAULT_COUNT = 3 };

int fabric_error(long error)
{
    if (error < 0)
        error = -error;
    switch (error) {
    case FI_EKEYREJECTED:
    case FI_ENOKEY:
    case FI_EACCES:
    case FI_EPERM:
        return -EACCES;
    case FI_ENOMEM:
        return -ENOMEM;
    default:
        return error > 0 && error < FI_ERRNO_OFFSET ? -(int)error : -EIO;
    }
}

bool fabric_wants(const struct fabric *fabric, int mr_mode)
{
    return (fabric->info->domain_attr->mr_mode & mr_mode) != 0;
}

static struct fi_info *hints_make(const struct fabric_library *library,
                                  const struct provider *provider, uint64_t flags)
{
    struct fi_info *hints = library->dupinfo(NULL);
    if (!hints)
        return NULL;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAW;
    hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_WAW;
    hints->tx_attr->op_flags = flags;
    hints->domain_attr->mr_mode = FABRIC_MR_MODES;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->fabric_attr->prov_name = strdup(provider->name);
    if (!hints->fabric_attr->prov_name) {
        library->freeinfo(hints);
        return NULL;
    }
    return hints;
}

/* ---- files of the shm provider ---- */

#define SHM_FOLDER "/dev/shm"
#define SHM_PREFIX "weft-fabric."

/* The provider makes a file for each endpoint, which a killed process leaves behind. So we put our
 * process number into the name of our endpoints, and remove the files of dead processes. */
void fabric_clean(void)
{
    DIR *folder = descriptor_folder(SHM_FOLDER);
    if (!folder)
        return;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        int pid;
        if (sscanf(entry->d_name, SHM_PREFIX "%d.", &pid) == 1 && pid > 0 && kill(pid, 0) != 0 &&
            errno == ESRCH)
            (void)unlinkat(dirfd(folder), entry->d_name, 0); /* fails for another user's file */
    }
    descriptor_folder_close(folder);
}

static int shm_name(struct fi_info *info)
{
    char *name;
    if (asprintf(&name, "fi_shm://" SHM_PREFIX "%d.%" PRIx64, (int)getpid(), entropy_u64()) < 0)
        return -ENOMEM;
    free(info->src_addr);
    info->src_addr = name;
    info->src_addrlen = strlen(name) + 1;
    return 0;
}

/* ---- choosing ---- */

/* Returns the first offer of exactly this provider, or NULL; the caller frees it. */
static struct fi_info *provider_find(const struct fabric_library *library,
                                     const struct provider *provider, const char *address,
                                     uint64_t flags)
{
    struct fi_info *hints = hints_make(library, provider, flags);
    if (!hints)
        return NULL;
    const char *node = provider->networked ? address : NULL;
    if (!node && provider->loopback)
        node = "127.0.0.1";
    struct fi_info *offers = NULL, *found = NULL;
    if (library->getinfo(FABRIC_VERSION, node, NULL, node ? FI_SOURCE : 0, hints, &offers) == 0) {
        for (struct fi_info *offer = offers; offer && !found; offer = offer->next)
            if (!strcmp(offer->fabric_attr->prov_name, provider->name))
                found = library->dupinfo(offer);
        library->freeinfo(offers);
    }
    library->freeinfo(hints);
    return found;
}

/* libfabric reads these settings only from the environment, at its first call; we do not override
 * what the user has set.
 *
 * rxm, which makes reliable datagrams of connections, has 4,096 buffers of 16 KiB for what comes
 * unexpected, and touches all of them. Our peers send only what we have posted buffers for: 1,024
 * that hold our largest message are plenty, and fewer are not possible. And rxm looks for
 * connections only every 10 ms, and then accepts one: a queue of connections that were closed again
 * would keep everyone else out for a long time.
 *
 * Verbs: the registration cache registers everything with all rights, so that a peer that may read
 * could write. And with separate receive buffers per connection, rxm posts one to a closed
 * connection when a peer leaves at a bad moment, and crashes; shared buffers outlive the
 * connection. */
static void settings_make(const char *provider)
{
    if (provider && strcmp(provider, "verbs") != 0 && strcmp(provider, "tcp") != 0)
        return;
    static_assert(FABRIC_MESSAGE_MAX + 128 <= 9216, "the sizes below hold it, with rxm's header");
    (void)setenv("FI_OFI_RXM_BUFFER_SIZE", "9216", 0);
    (void)setenv("FI_OFI_RXM_EAGER_LIMIT", "9216", 0);
    (void)setenv("FI_OFI_RXM_MSG_RX_SIZE", "1024", 0);
    (void)setenv("FI_OFI_RXM_CM_PROGRESS_INTERVAL", "50", 0); /* microseconds */
    if (provider && strcmp(provider, "tcp") == 0)
        return;
    (void)setenv("FI_MR_CACHE_MAX_COUNT", "0", 0);
    (void)setenv("FI_OFI_RXM_USE_SRX", "1", 0);
}

static int provider_choose(struct fabric *fabric, const struct transport_config *config,
                           struct why *why)
{
    const struct provider *chosen = NULL;
    bool known = false;
    for (unsigned i = 0; i < PROVIDER_COUNT && !fabric->info; i++) {
        chosen = &providers[i];
        if (config->provider ? strcmp(config->provider, chosen->word) != 0
                             : i >= PROVIDER_DEFAULT_COUNT)
            continue;
        known = true;
        fabric->info = provider_find(fabric->library, chosen, config->address, 0);
    }
    if (!known)
        return why_fail(why, -EINVAL,
                        "fabric: unknown provider \"%s\": use tcp, net, shm, verbs or efa",
                        config->provider);
    if (!fabric->info)
        return why_fail(why, -ENODEV, "fabric: no provider \"%s\" here%s%s; run fi_info -l",
                        config->provider ? config->provider : "tcp",
                        config->address ? " with address " : "",
                        config->address ? config->address : "");
    /* With FI_DELIVERY_COMPLETE a write is done when the target has the bytes. Without it (verbs) a
     * write is done when they have reached the target's adapter, and any message that we send
     * afterwards is received after them. */
    struct fi_info *delivering =
        provider_find(fabric->library, chosen, config->address, FI_DELIVERY_COMPLETE);
    fabric->delivers = delivering != NULL;
    fabric->transport.unseen = chosen->adapter;
    fabric->sticky = chosen->sticky;
    fabric->library->freeinfo(delivering);
    if (fabric->info->addr_format != FI_ADDR_STR)
        return 0;
    fabric_clean();
    return shm_name(fabric->info);
}

static int queue_open(struct fabric *fabric)
{
    struct fi_cq_attr attr = {
        .size = FABRIC_CQ_SIZE,
        .format = FI_CQ_FORMAT_MSG,
        .wait_obj = FI_WAIT_FD,
    };
    int result = fi_cq_open(fabric->domain, &attr, &fabric->cq, NULL);
    if (result) { /* shm and efa have no descriptor: a timer polls */
        attr.wait_obj = FI_WAIT_NONE;
        result = fi_cq_open(fabric->domain, &attr, &fabric->cq, NULL);
    }
    return result;
}

static int endpoint_open(struct fabric *fabric)
{
    int result = fabric->library->fabric(fabric->info->fabric_attr, &fabric->fabric, NULL);
    if (!result)
        result = fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL);
    struct fi_av_attr attr = {.type = FI_AV_UNSPEC, .count = 64};
    if (!result)
        result = fi_av_open(fabric->domain, &attr, &fabric->av, NULL);
    if (!result)
        result = queue_open(fabric);
    if (!result)
        result = fi_endpoint(fabric->domain, fabric->info, &fabric->endpoint, NULL);
    if (!result)
        result = fi_ep_bind(fabric->endpoint, &fabric->av->fid, 0);
    if (!result)
        result = fi_ep_bind(fabric->endpoint, &fabric->cq->fid, FI_TRANSMIT | FI_RECV);
    if (!result)
        result = fi_enable(fabric->endpoint);
    if (!result) {
        fabric->address_size = sizeof fabric->address;
        result = fi_getname(&fabric->endpoint->fid, fabric->address, &fabric->address_size);
    }
    return result;
}

int fabric_provider_open(struct fabric *fabric, const struct transport_config *config,
                         struct why *why)
{
    fabric->library = fabric_library_get(why);
    if (!fabric->library)
        return -ENOPKG;
    settings_make(config->provider);
    int result = provider_choose(fabric, config, why);
    if (result)
        return result;
    result = endpoint_open(fabric);
    if (result)
        return why_fail(why, fabric_error(result), "fabric: provider %s%s%s: %s",
                        fabric->info->fabric_attr->prov_name, config->address ? " at " : "",
                        config->address ? config->address : "", fabric->library->strerror(-result));
    return 0;
}

void fabric_provider_close(struct fabric *fabric)
{
    if (fabric->endpoint)
        fi_close(&fabric->endpoint->fid);
    for (size_t i = 0; i < fabric->slab_count; i++) {
        if (fabric->slabs[i]->mr)
            fi_close(&fabric->slabs[i]->mr->fid);
        fabric->slabs[i]->mr = NULL;
    }
    if (fabric->cq)
        fi_close(&fabric->cq->fid);
    if (fabric->av)
        fi_close(&fabric->av->fid);
    if (fabric->domain)
        fi_close(&fabric->domain->fid);
    if (fabric->fabric)
        fi_close(&fabric->fabric->fid);
    if (fabric->info)
        fabric->library->freeinfo(fabric->info);
    fabric->info = NULL;
}

int fabric_mr_open(struct fabric *fabric, void *base, size_t size, uint64_t access,
                   struct fid_mr **out)
{
    size_t key_size = fabric->info->domain_attr->mr_key_size;
    uint64_t key_mask = key_size < 8 ? (1ULL << 8 * key_size) - 1 : UINT64_MAX;
    int result = -FI_ENOKEY;
    struct fid_mr *mr = NULL;
    for (unsigned i = 0; i < KEY_TRIES && result == -FI_ENOKEY; i++)
        result = fi_mr_reg(fabric->domain, base, size, access, 0, entropy_u64() & key_mask, 0, &mr,
                           NULL);
    if (result)
        return fabric_error(result);
    if (fabric_wants(fabric, FI_MR_ENDPOINT)) {
        result = fi_mr_bind(mr, &fabric->endpoint->fid, 0);
        if (!result)
            result = fi_mr_enable(mr);
        if (result) {
            fi_close(&mr->fid);
            return fabric_error(result);
        }
    }
    *out = mr;
    return 0;
}
