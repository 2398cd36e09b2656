#include "os/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "node/configuration/parameter.h"

#define SERVICE_ID_MIN 256 /* ids below are reserved for weft */

/* As its symbol says. */
size_t plugin_symbol_size(const void *symbol)
{
    Dl_info info;
    ElfW(Sym) *entry = NULL;
    return dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) && entry ? entry->st_size : 0;
}

static enum err service_check(const struct weft_service *service, const char *path, struct why *why)
{
    size_t size = plugin_symbol_size(service);
    if (size && size < sizeof service->version)
        return why_fail(why, ERR_INPUT, "%s: its weft_service is not a struct weft_service", path);
    if (service->version != WEFT_SERVICE_VERSION)
        return why_fail(
            why, ERR_INPUT,
            "%s: built for version %u of weft/service.h, but this is version %d; compile it "
            "again",
            path, service->version, WEFT_SERVICE_VERSION);
    if (size && size < sizeof *service)
        return why_fail(why, ERR_INPUT,
                        "%s: its weft_service has %zu bytes; struct weft_service has %zu", path,
                        size, sizeof *service);
    if (!service->name || !service->name[0] || !service->ops)
        return why_fail(why, ERR_INPUT, "%s: its weft_service has no name or no functions", path);
    if (service->id < SERVICE_ID_MIN)
        return why_fail(why, ERR_INPUT,
                        "%s: its service has the id %u; ids below %d are reserved for weft", path,
                        service->id, SERVICE_ID_MIN);
    struct why reason = {0};
    if (parameters_check(service, &reason))
        return why_fail(why, ERR_INPUT, "%s: %s", path, reason.text);
    return OK;
}

/* The loader searches for a name without a slash, so a file in this folder needs one. */
void *plugin_open(const char *path, struct why *why)
{
    char here[PATH_MAX];
    bool is_name = !strchr(path, '/') && realpath(path, here);
    void *handle = dlopen(is_name ? here : path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        (void)!why_fail(why, ERR_INPUT, "%s", dlerror());
    return handle;
}

enum err plugins_add(struct plugins *plugins, const char *path, struct why *why)
{
    if (plugins->count == PLUGINS_MAX)
        return why_fail(why, ERR_USAGE, "%s: too many services to load; at most %d", path,
                        PLUGINS_MAX);
    void *handle = plugin_open(path, why);
    if (!handle)
        return ERR_INPUT;
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
