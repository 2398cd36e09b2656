#include "cli/sim/sim_guests.h"

#include <ctype.h>
#include <dlfcn.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/service/service_realm.h"
#include "cli/service/service_values.h"

#define STEADY_NSEC_MAX   60000000000ll
#define NAME_MAX_SIZE     32
#define LIMIT_SECONDS     60
#define LIMIT_SECONDS_MAX 86400

/* ---- services ---- */

static enum err no_such_service(const struct service_realm *realm, const char *word,
                                struct why *why)
{
    struct text all = {0};
    struct nearest nearest = nearest_make(word, strlen(word));
    for (unsigned i = 0; i < realm->count; i++) {
        text_printf(&all, "%s%s", i ? ", " : "", realm->services[i]->name);
        nearest_try(&nearest, realm->services[i]->name);
    }
    enum err err = why_fail(
        why, ERR_USAGE,
        "--service %.80s: no such service%s; expected one of %s, or a file with "
        "its path, as in ./%.80s.so",
        word, nearest_hint(&nearest), text_ok(&all) ? all.data : "those in the manual", word);
    text_fini(&all);
    return err;
}

/* A name is a service of weft; a word with a slash or ending in .so is a file. */
static enum err service_add(struct sim_guests *guests, const char *word, struct why *why)
{
    if (guests->count == SIM_GUESTS_MAX)
        return why_fail(why, ERR_USAGE, "--service %.80s: too many services; at most %d", word,
                        SIM_GUESTS_MAX);
    if (service_is_path(word)) {
        enum err err = plugins_add(&guests->plugins, word, why);
        if (err)
            return err;
        guests->services[guests->count++] = guests->plugins.services[guests->plugins.count - 1];
        return OK;
    }
    struct service_realm realm;
    service_realm_init(&realm);
    service_realm_add_optional(&realm);
    for (unsigned i = 0; i < realm.count; i++) {
        if (strcmp(realm.services[i]->name, word) == 0) {
            guests->services[guests->count++] = realm.services[i];
            return OK;
        }
    }
    return no_such_service(&realm, word, why);
}

/* ---- the checker ---- */

static bool name_is_good(const char *name)
{
    size_t size = name ? strnlen(name, NAME_MAX_SIZE + 1) : 0;
    for (size_t i = 0; i < size; i++)
        if (name[i] != '-' && name[i] != '_' && !isalnum((unsigned char)name[i]))
            return false;
    return size > 0 && size <= NAME_MAX_SIZE;
}

static enum err checker_check(const struct weft_checker *checker, const char *path, struct why *why)
{
    size_t size = plugin_symbol_size(checker);
    if (size && size < sizeof checker->version)
        return why_fail(why, ERR_INPUT, "%s: its weft_checker is not a struct weft_checker", path);
    if (checker->version != WEFT_SIMULATION_VERSION)
        return why_fail(why, ERR_INPUT,
                        "%s: built for version %u of weft/simulation.h, but this is version %d; "
                        "compile it again",
                        path, checker->version, WEFT_SIMULATION_VERSION);
    if (size && size < sizeof *checker)
        return why_fail(why, ERR_INPUT,
                        "%s: its weft_checker has %zu bytes; struct weft_checker has %zu", path,
                        size, sizeof *checker);
    if (!checker->ops)
        return why_fail(why, ERR_INPUT, "%s: its weft_checker has no functions", path);
    if (!name_is_good(checker->name))
        return why_fail(why, ERR_INPUT,
                        "%s: the name of its checker is not one of 1 to %d letters, digits, - "
                        "and _",
                        path, NAME_MAX_SIZE);
    if (checker->steady_nsec < 0 || checker->steady_nsec > STEADY_NSEC_MAX)
        return why_fail(why, ERR_INPUT, "%s: its steady_nsec is not from 0 to a minute", path);
    return OK;
}

static enum err checker_load(struct sim_guests *guests, const char *path, struct why *why)
{
    guests->handle = plugin_open(path, why);
    if (!guests->handle)
        return ERR_INPUT;
    guests->checker = dlsym(guests->handle, "weft_checker");
    if (!guests->checker)
        return why_fail(why, ERR_INPUT, "%s: exports no weft_checker; see docs/guide/checker.md",
                        path);
    return checker_check(guests->checker, path, why);
}

/* ---- the options ---- */

enum err sim_guests_read(struct sim_guests *guests, const struct call *call, struct why *why)
{
    const char *checker = call_option(call, "checker");
    enum err err = OK;
    guests->limit_seconds = LIMIT_SECONDS;
    guests->history = call_has(call, "history");
    for (int i = 0; !err && i < call->option_count; i++)
        if (strcmp(call->options[i].option->name, "service") == 0)
            err = service_add(guests, call->options[i].value, why);
    if (!err)
        err = service_values_read(call, &guests->values, why);
    if (!err)
        err = configuration_check(&guests->values, guests->services, why);
    if (!err && checker)
        err = checker_load(guests, checker, why);
    return err ? err : call_uint(call, "limit", 1, LIMIT_SECONDS_MAX, &guests->limit_seconds, why);
}

void sim_guests_fini(struct sim_guests *guests)
{
    configuration_fini(&guests->values);
    plugins_fini(&guests->plugins);
    if (guests->handle)
        dlclose(guests->handle);
    guests->handle = NULL;
}

bool sim_guests_are_foreign(const struct sim_guests *guests)
{
    return guests->plugins.count || guests->checker;
}

void sim_guests_history_put(const struct simulation_record *record, struct result *result)
{
    result_array(result, "history");
    for (uint32_t at = 0; at < record->size;) {
        const char *line = record->history + at;
        const char *end = memchr(line, '\n', record->size - at);
        uint32_t size = end ? (uint32_t)(end - line) : record->size - at;
        text_add(result_words(result, NULL), line, size);
        at += size + 1;
    }
    result_end(result);
    result_uint(result, "history_left_out", record->lines_out);
}

void sim_guests_quote(struct text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        text_puts(out, word);
        return;
    }
    text_puts(out, "'");
    for (const char *at = word; *at; at++)
        if (*at == '\'')
            text_puts(out, "'\\''");
        else
            text_add(out, at, 1);
    text_puts(out, "'");
}

void sim_guests_options_write(const struct call *call, struct text *out)
{
    static const char *const names[] = {"service", "set", "config", "checker", "limit", NULL};
    for (int i = 0; i < call->option_count; i++) {
        const char *name = call->options[i].option->name;
        for (const char *const *each = names; *each; each++) {
            if (strcmp(name, *each) != 0)
                continue;
            text_printf(out, " --%s ", name);
            sim_guests_quote(out, call->options[i].value);
        }
    }
}
