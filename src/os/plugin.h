#pragma once
/* plugin: services from shared objects. Each exports one `const struct weft_service weft_service`;
 * what is not one, is made for another version of the header or takes an id of weft's own is
 * refused with a line that says so. */

#include <weft/service.h>

#include "base/err.h"

#define PLUGINS_MAX 16

struct plugins {
    unsigned count;
    void *handles[PLUGINS_MAX];
    const struct weft_service *services[PLUGINS_MAX];
};

/* The path is taken as it is: no search. */
MUST_CHECK enum err plugins_add(struct plugins *plugins, const char *path, struct why *why);
void plugins_fini(struct plugins *plugins); /* after the nodes that run them */
