#pragma once
/* service_realm: the services of a server as a command needs them before a server runs: those of
 * weft and those of plug-ins, which are loaded into this process to read their tables. */

#include "node/configuration/configuration.h"
#include "node/node.h"
#include "os/plugin.h"

struct service_realm {
    struct plugins plugins;
    const struct weft_service *services[NODE_SERVICES_MAX + 1]; /* ends with NULL */
    unsigned count;
};

/* Lists the services of weft that every server runs. */
void service_realm_init(struct service_realm *realm);
/* Adds those that run only where they are wanted. */
void service_realm_add_optional(struct service_realm *realm);
void service_realm_fini(struct service_realm *realm);
/* Adds an optional service by its name, or that of a shared object; it becomes the last of the
 * list. A server would run all services of the list: one that it would refuse, such as one with the
 * id of another, is refused here. */
MUST_CHECK enum err service_realm_load(struct service_realm *realm, const char *word,
                                       struct why *why);
/* Finds a service by its name, or loads it if the word is a path. */
MUST_CHECK enum err service_realm_find(struct service_realm *realm, const char *word,
                                       const struct weft_service **service, struct why *why);
/* A word with a slash or the ending .so is the path of a shared object. */
bool service_is_path(const char *word);
