#include "os/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "node/configuration/parameter.h"

#define SERVICE_ID_MIN 256 /* ids below are reserved for weft */

static enum err service_check(const struct weft_service *service, const char *path, struct why *why)
{
    if (service->version != WEFT_SERVICE_VERSION)
        return why_fail(
            why, ERR_INPUT,
            "%s: built for version %u of weft/service.h, but this is version %d; compile it "
            "again",
            path, service->version, WEFT_SERVICE_VERSION);
    if (!service->name || !service->name[0] || !service->ops)
        return why_fail(why, ERR_INPUT, "%s: its weft_service has no name or no functions", path);
    if (service->id < SERVICE_ID_MIN)
        return why_fail(why, ERR_INPUT,
                        "%s: service %s has the id %u; ids below %d are reserved for weft", path,
                        service->name, service->id, SERVICE_ID_MIN);
    struct why reason = {0};
    if (parameters_check(service, &reason))
        return why_fail(why, ERR_INPUT, "%s: %s", path, reason.text);
    return OK;
}

/* The loader searches for a name without a slash, so a file in this folder needs one. */
static void *object_open(const char *path)
{
    char here[PATH_MAX];
    if (strchr(path, '/') || !realpath(path, here))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

enum err plugins_add(struct plugins *plugins, const char *path, struct why *why)
{
    if (plugins->count == PLUGINS_MAX)
        return why_fail(why, ERR_USAGE, "%s: too many services to load; at most %d", path,
                        PLUGINS_MAX);
    void *handle = object_open(path);
    if (!handle)
        return why_fail(why, ERR_INPUT, "%s", dlerror());
    const struct weft_service *service = dlsym(handle, "weft_service");
    enum err err = service
                       ? service_check(service, path, why)
                       : why_fail(why, ERR_INPUT,
                                  "%s: exports no weft_service; see docs/guide/service.md", path);
    if (err) {
        dlclose(handle);
        return err;
    }
    plugins->handles[plugins->count] = handle;
    plugins->services[plugins->count++] = service;
    return OK;
}

void plugins_fini(struct plugins *plugins)
{
    while (plugins->count > 0)
        dlclose(plugins->handles[--plugins->count]);
}
