#pragma once
/* settings: a configuration that is completed from the environment and the defaults, and
 * checked. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "base/err.h"
#include "transport/clock.h"

struct settings {
    const char *domain;
    const char *names;
    const char *transports; /* NULL: all that apply */
    const char *address;    /* NULL: this host only */
    const char *provider;   /* NULL: the transport chooses */
    const char *node;       /* NULL: this server has no node */
    uint16_t port;          /* 0: any */
    bool has_key;
    uint8_t key[32];
    uint32_t flags;
    uint32_t ring_slots;
    uint32_t ring_bytes;
    nsec spin;
    nsec yield;
};

MUST_CHECK int settings_read(struct settings *settings, const struct ripc_config *config,
                             struct why *why);
void settings_fini(struct settings *settings); /* wipes the key */

/* Is this transport enabled? */
bool settings_has_transport(const struct settings *settings, const char *name);

/* Is the routed transport the only one? */
bool settings_fabric_only(const struct settings *settings);

/* Returns WEFT_DOMAIN or the default. */
const char *settings_domain(void);
