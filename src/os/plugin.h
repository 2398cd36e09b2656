#pragma once
/* plugin: services from shared objects. Each exports one `const struct weft_service weft_service`.
 * A file that is not such an object, is built for another version of the header or uses an id
 * reserved for weft is refused, with the reason. */

#include <weft/service.h>

#include "base/err.h"

#define PLUGINS_MAX 16

struct plugins {
    unsigned count;
    void *handles[PLUGINS_MAX];
    const struct weft_service *services[PLUGINS_MAX];
};

/* The path is used as it is, without a search. */
MUST_CHECK enum err plugins_add(struct plugins *plugins, const char *path, struct why *why);
/* The two parts of plugins_add, for objects that export something else: opens a shared object, and
 * returns its handle for dlsym and dlclose, or NULL; the size of a variable of an object, 0 if
 * unknown. */
void *plugin_open(const char *path, struct why *why);
size_t plugin_symbol_size(const void *symbol);
void plugins_fini(struct plugins *plugins); /* call it after the nodes that run them are closed */
