#include "node/configuration/configuration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/nearest.h"

#define SERVICE_NAME_MAX 64
#define WORD_MAX         (SERVICE_NAME_MAX + PARAMETER_NAME_MAX + WEFT_TEXT_MAX + 16)
#define EXPECTED         "expected SERVICE.NAME=VALUE, as in ping.memory=64M"

void configuration_fini(struct configuration *settings)
{
    for (size_t i = 0; i < settings->count; i++)
        free(settings->items[i].service);
    free(settings->items);
    *settings = (struct configuration){0};
}

/* ---- adding ---- */

struct piece {
    const char *data;
    size_t size;
};

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r';
}

static struct piece trimmed(const char *data, size_t size)
{
    while (size && is_blank(data[size - 1]))
        size--;
    while (size && is_blank(*data)) {
        data++;
        size--;
    }
    return (struct piece){data, size};
}

static char *piece_copy(char *at, struct piece piece)
{
    memcpy(at, piece.data, piece.size);
    at[piece.size] = '\0';
    return at + piece.size + 1;
}

static enum err setting_store(struct configuration *settings, const char *origin,
                              struct piece service, struct piece name, struct piece value,
                              struct why *why)
{
    struct piece from = {origin, strlen(origin)};
    char *memory = malloc(service.size + name.size + value.size + from.size + 4);
    if (!memory || !array_reserve(&settings->items, &settings->capacity, settings->count + 1,
                                  sizeof *settings->items)) {
        free(memory);
        return why_memory(why);
    }
    struct setting *setting = &settings->items[settings->count++];
    setting->service = memory;
    memory = piece_copy(memory, service);
    setting->name = memory;
    memory = piece_copy(memory, name);
    setting->value = memory;
    memory = piece_copy(memory, value);
    setting->origin = memory;
    piece_copy(memory, from);
    return OK;
}

static enum err word_add(struct configuration *settings, const char *origin, struct piece word,
                         struct why *why)
{
    const char *equals = memchr(word.data, '=', word.size);
    size_t left = equals ? (size_t)(equals - word.data) : 0;
    const char *dot = equals ? memchr(word.data, '.', left) : NULL;
    if (!dot)
        return why_fail(why, ERR_USAGE, "%.120s: " EXPECTED, origin);
    struct piece service = trimmed(word.data, (size_t)(dot - word.data));
    struct piece name = trimmed(dot + 1, (size_t)(equals - dot - 1));
    struct piece value = trimmed(equals + 1, word.size - left - 1);
    if (!service.size || !name.size || service.size > SERVICE_NAME_MAX ||
        name.size > PARAMETER_NAME_MAX)
        return why_fail(why, ERR_USAGE, "%.120s: " EXPECTED, origin);
    return setting_store(settings, origin, service, name, value, why);
}

enum err configuration_add(struct configuration *settings, const char *origin, const char *word,
                           struct why *why)
{
    return word_add(settings, origin, (struct piece){word, strlen(word)}, why);
}

enum err configuration_append(struct configuration *settings, const struct configuration *more,
                              struct why *why)
{
    enum err err = OK;
    for (size_t i = 0; !err && i < more->count; i++) {
        const struct setting *from = &more->items[i];
        err = setting_store(settings, from->origin,
                            (struct piece){from->service, strlen(from->service)},
                            (struct piece){from->name, strlen(from->name)},
                            (struct piece){from->value, strlen(from->value)}, why);
    }
    return err;
}

/* Finds another setting of the same parameter among those from `first` on. */
static const struct setting *setting_twin(const struct configuration *settings, size_t first,
                                          const struct setting *setting)
{
    for (size_t i = first; i < settings->count; i++) {
        const struct setting *other = &settings->items[i];
        if (other != setting && strcmp(other->service, setting->service) == 0 &&
            strcmp(other->name, setting->name) == 0)
            return other;
    }
    return NULL;
}

static enum err line_parse(struct configuration *settings, size_t first, const char *origin,
                           struct piece line, struct why *why)
{
    if (!line.size || *line.data == '#')
        return OK;
    if (line.size > WORD_MAX)
        return why_fail(why, ERR_INPUT, "%s: the line is too long", origin);
    if (memchr(line.data, '\0', line.size))
        return why_fail(why, ERR_INPUT, "%s: the line has a zero byte", origin);
    enum err err = word_add(settings, origin, line, why);
    if (err)
        return err == ERR_USAGE ? ERR_INPUT : err;
    const struct setting *added = &settings->items[settings->count - 1];
    const struct setting *twin = setting_twin(settings, first, added);
    if (twin)
        return why_fail(why, ERR_INPUT, "%s: %s.%s is set already: %s", origin, added->service,
                        added->name, twin->origin);
    return OK;
}

enum err configuration_parse(struct configuration *settings, const char *file, const char *data,
                             size_t size, struct why *why)
{
    size_t first = settings->count;
    enum err err = OK;
    unsigned long line = 1;
    for (const char *at = data, *end = data + size; !err && at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
        char origin[160];
        snprintf(origin, sizeof origin, "%.120s: line %lu", file, line);
        err = line_parse(settings, first, origin, trimmed(at, length), why);
        at += length + 1;
    }
    return err;
}

void configuration_compact(struct configuration *settings)
{
    size_t kept = 0;
    for (size_t i = 0; i < settings->count; i++) {
        struct setting *setting = &settings->items[i];
        if (setting_twin(settings, i + 1, setting))
            free(setting->service);
        else
            settings->items[kept++] = *setting;
    }
    settings->count = kept;
}

/* ---- checking and reading ---- */

static enum err unknown_service(const struct setting *setting,
                                const struct weft_service *const *services, struct why *why)
{
    char all[160] = "";
    size_t used = 0;
    struct nearest nearest = nearest_make(setting->service, strlen(setting->service));
    for (unsigned i = 0; services[i]; i++) {
        nearest_try(&nearest, services[i]->name);
        int more =
            snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", services[i]->name);
        used = (size_t)more < sizeof all - used ? used + (size_t)more : sizeof all - 1;
    }
    return why_fail(why, ERR_USAGE, "%.120s: no service '%.40s'%s; there are %s", setting->origin,
                    setting->service, nearest_hint(&nearest), all);
}

static enum err unknown_parameter(const struct setting *setting, const struct weft_service *service,
                                  struct why *why)
{
    const struct weft_parameter *parameter;
    struct nearest nearest = nearest_make(setting->name, strlen(setting->name));
    for (unsigned i = 0; (parameter = parameter_at(service, i)); i++)
        nearest_try(&nearest, parameter->name);
    return why_fail(why, ERR_USAGE,
                    "%.120s: service %s has no parameter '%s'%s; 'weft service show' lists them",
                    setting->origin, service->name, setting->name, nearest_hint(&nearest));
}

static enum err setting_read(const struct setting *setting, const struct weft_parameter *parameter,
                             union parameter_value *value, struct why *why)
{
    struct why reason = {0};
    enum err err = parameter_read(parameter, setting->value, value, &reason);
    if (err)
        return why_fail(why, err, "%.120s: %s.%s: %s", setting->origin, setting->service,
                        setting->name, reason.text);
    return OK;
}

static enum err setting_check(const struct setting *setting,
                              const struct weft_service *const *services, struct why *why)
{
    union parameter_value value;
    unsigned i = 0;
    while (services[i] && strcmp(services[i]->name, setting->service) != 0)
        i++;
    if (!services[i])
        return unknown_service(setting, services, why);
    const struct weft_parameter *parameter = parameter_find(services[i], setting->name);
    if (!parameter)
        return unknown_parameter(setting, services[i], why);
    return setting_read(setting, parameter, &value, why);
}

enum err configuration_check(const struct configuration *settings,
                             const struct weft_service *const *services, struct why *why)
{
    enum err err = OK;
    for (size_t i = 0; !err && i < settings->count; i++)
        err = setting_check(&settings->items[i], services, why);
    return err;
}

enum err configuration_read(const struct configuration *settings,
                            const struct weft_service *service,
                            const struct weft_parameter *parameter, union parameter_value *value,
                            struct why *why)
{
    for (size_t i = settings ? settings->count : 0; i-- > 0;) {
        const struct setting *setting = &settings->items[i];
        if (strcmp(setting->service, service->name) == 0 &&
            strcmp(setting->name, parameter->name) == 0)
            return setting_read(setting, parameter, value, why);
    }
    return parameter_read(parameter, parameter->value, value, why);
}
