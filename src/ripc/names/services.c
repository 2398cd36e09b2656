/* services: the list of name services, and opening names with those that a configuration lists. A
 * service calls names.c, which does not refer to any service by name. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "ripc/names/names_impl.h"

#define SERVICE_TEXT_MAX 512

static const struct name_service_ops *const services[] = {
    &name_service_host,
    &name_service_multicast,
    &name_service_file,
    &name_service_directory,
};

/* Opens one entry of the list: SERVICE or SERVICE:ARGUMENT. */
static int service_open(struct names *names, char *text, const struct names_config *config,
                        struct why *why)
{
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        if (strcmp(services[i]->word, text) == 0)
            return names_add(names, services[i], colon ? colon + 1 : NULL, config, why);
    return why_fail(why, -EINVAL,
                    "unknown name service '%s': use host, multicast:GROUP:PORT, file:PATH or "
                    "directory",
                    text);
}

static int services_open(struct names *names, const struct names_config *config, struct why *why)
{
    char text[SERVICE_TEXT_MAX];
    const char *list = config->services;
    if (strlen(list) >= sizeof text)
        return why_fail(why, -EINVAL, "the list of name services is longer than %zu bytes",
                        sizeof text - 1);
    strcpy(text, list);
    for (char *word = text, *next; word; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = '\0';
        if (!*word)
            return why_fail(why, -EINVAL, "empty entry in the list of name services '%s'", list);
        int result = service_open(names, word, config, why);
        if (result < 0)
            return result;
    }
    return 0;
}

int names_open(struct names **out, const struct names_config *config, struct why *why)
{
    assert(config->services && config->domain);
    struct names *names = names_new(config);
    if (!names)
        return why_fail(why, -ENOMEM, "not enough memory");
    int result = names_add(names, &name_service_exchange, NULL, config, why);
    if (result >= 0)
        result = services_open(names, config, why);
    if (result < 0) {
        names_close(names);
        return result;
    }
    *out = names;
    return 0;
}
