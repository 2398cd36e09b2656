#include "cli/service/service_realm.h"

#include <string.h>

#include "base/nearest.h"
#include "services/services.h"

void service_realm_init(struct service_realm *realm)
{
    *realm = (struct service_realm){0};
    while (realm->count < services_count) {
        realm->services[realm->count] = services_all[realm->count];
        realm->count++;
    }
}

void service_realm_fini(struct service_realm *realm)
{
    plugins_fini(&realm->plugins);
}

void service_realm_add_optional(struct service_realm *realm)
{
    for (const struct weft_service *const *service = services_optional; *service; service++)
        realm->services[realm->count++] = *service;
}

bool service_is_path(const char *word)
{
    size_t length = strlen(word);
    return strchr(word, '/') || (length > 3 && strcmp(word + length - 3, ".so") == 0);
}

enum err service_realm_load(struct service_realm *realm, const char *word, struct why *why)
{
    if (realm->count == NODE_SERVICES_MAX)
        return why_fail(why, ERR_USAGE, "%s: too many services: a server runs at most %d", word,
                        NODE_SERVICES_MAX);
    const struct weft_service *service = services_optional_find(word);
    if (!service) {
        enum err err = plugins_add(&realm->plugins, word, why);
        if (err)
            return err;
        service = realm->plugins.services[realm->plugins.count - 1];
    }
    realm->services[realm->count++] = service;
    struct why reason = {0};
    enum err err = node_services_check(realm->services, &reason);
    return err ? why_fail(why, err, "%s: %s", word, reason.text) : OK;
}

enum err service_realm_find(struct service_realm *realm, const char *word,
                            const struct weft_service **service, struct why *why)
{
    if (service_is_path(word)) {
        enum err err = service_realm_load(realm, word, why);
        *service = err ? NULL : realm->services[realm->count - 1];
        return err;
    }
    struct nearest nearest = nearest_make(word, strlen(word));
    for (unsigned i = 0; i < realm->count; i++) {
        *service = realm->services[i];
        if (strcmp((*service)->name, word) == 0)
            return OK;
        nearest_try(&nearest, (*service)->name);
    }
    return why_fail(why, ERR_USAGE,
                    "%.80s: no such service%s; 'weft service list' lists them; write the path of a "
                    "plug-in with a slash or .so",
                    word, nearest_hint(&nearest));
}
