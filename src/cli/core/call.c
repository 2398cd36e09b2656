#include "cli/core/call.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/nearest.h"
#include "cli/core/page.h"

static const struct option *options_find(const struct option *options, const char *name,
                                         size_t size)
{
    for (; options && options->name; options++)
        if (strlen(options->name) == size && memcmp(options->name, name, size) == 0)
            return options;
    return NULL;
}

static const struct option *command_option(const struct command *command, const char *name,
                                           size_t size)
{
    const struct option *option = options_find(command->options, name, size);
    return option ? option : options_find(common_options, name, size);
}

static enum err option_unknown(const struct command *command, const char *name, size_t size,
                               struct why *why)
{
    struct nearest nearest = nearest_make(name, size);
    nearest.prefix = "--";
    for (const struct option *option = command->options; option && option->name; option++)
        nearest_try(&nearest, option->name);
    for (const struct option *option = common_options; option->name; option++)
        nearest_try(&nearest, option->name);
    return why_fail(why, ERR_USAGE, "%s: no option --%.*s%s; see 'weft help %s'", command->name,
                    (int)size, name, nearest_hint(&nearest), command->name);
}

/* Parses an argument that begins with two dashes, and its value, which may be the next argument. */
static enum err option_parse(struct call *call, int count, char **words, int *at, struct why *why)
{
    const char *name = words[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = command_option(call->command, name, size);
    if (!option)
        return option_unknown(call->command, name, size, why);
    const char *value = NULL;
    if (option->value) {
        if (equals)
            value = equals + 1;
        else if (*at + 1 < count)
            value = words[++*at];
        else
            return why_fail(why, ERR_USAGE, "%s: --%s needs a value: %s", call->command->name,
                            option->name, option->value);
    } else if (equals) {
        return why_fail(why, ERR_USAGE, "%s: --%s takes no value", call->command->name,
                        option->name);
    }
    if (call->option_count == CALL_OPTION_MAX)
        return why_fail(why, ERR_USAGE, "%s: more than %d options", call->command->name,
                        CALL_OPTION_MAX);
    call->options[call->option_count].option = option;
    call->options[call->option_count].value = value;
    call->option_count++;
    return OK;
}

/* Checks the number of arguments against the `arguments` of the command. */
static enum err arguments_count(const struct call *call, struct why *why)
{
    int least = 0, most = 0;
    bool repeats = false;
    const char *at = call->command->arguments;
    while (*at) {
        size_t size = strcspn(at, " ");
        most++;
        least += *at != '[';
        repeats |= size > 3 && memcmp(at + size - 3, "...", 3) == 0;
        repeats |= size > 4 && memcmp(at + size - 4, "...]", 4) == 0;
        at += size + strspn(at + size, " ");
    }
    if (call->argument_count < least)
        return why_fail(why, ERR_USAGE, "%s: expected %s; see 'weft help %s'", call->command->name,
                        call->command->arguments, call->command->name);
    if (call->argument_count > most && !repeats)
        return why_fail(why, ERR_USAGE, "%s: unexpected argument '%s'; see 'weft help %s'",
                        call->command->name, call->arguments[most], call->command->name);
    return OK;
}

enum err call_parse(struct call *call, const struct command_table *table,
                    const struct command *command, int count, char **words, struct why *why)
{
    *call = (struct call){.table = table, .command = command};
    bool only_words = false;
    for (int at = 0; at < count; at++) {
        const char *word = words[at];
        if (!only_words && strcmp(word, "--") == 0) {
            only_words = true;
        } else if (!only_words && strncmp(word, "--", 2) == 0) {
            enum err err = option_parse(call, count, words, &at, why);
            if (err)
                return err;
        } else if (!only_words && strcmp(word, "-h") == 0) {
            call->help = true;
        } else if (!only_words && word[0] == '-' && word[1]) {
            return why_fail(why, ERR_USAGE, "%s: no option %s; see 'weft help %s'", command->name,
                            word, command->name);
        } else if (call->argument_count == CALL_ARGUMENT_MAX) {
            return why_fail(why, ERR_USAGE, "%s: more than %d arguments", command->name,
                            CALL_ARGUMENT_MAX);
        } else {
            call->arguments[call->argument_count++] = word;
        }
    }
    call->json = call_has(call, "json");
    call->help |= call_has(call, "help");
    return call->help ? OK : arguments_count(call, why);
}

struct result *call_result(struct call *call, const char *page)
{
    result_begin(&call->result, page);
    return &call->result;
}

struct result *call_item(struct call *call, const char *page)
{
    if (call->json) {
        result_object(&call->result, NULL);
        return &call->result;
    }
    call->item = (struct result){0};
    result_begin(&call->item, page);
    return &call->item;
}

void call_item_end(struct call *call)
{
    if (call->json) {
        result_end(&call->result);
        return;
    }
    page_print(&call->item, &call->out);
    result_fini(&call->item);
}

enum err call_flush(struct call *call, struct why *why)
{
    if (!text_ok(&call->out))
        return why_memory(why);
    errno = 0;
    if (call->out.size) {
        fwrite(call->out.data, 1, call->out.size, stdout);
        call->out.data[0] = '\0';
        call->out.size = 0;
    }
    if (fflush(stdout) || ferror(stdout))
        return why_fail(why, ERR_SYSTEM, "standard output: %s", strerror(errno));
    return OK;
}

static int option_index(const struct call *call, const char *name)
{
    assert(command_option(call->command, name, strlen(name)));
    for (int i = call->option_count; i-- > 0;)
        if (strcmp(call->options[i].option->name, name) == 0)
            return i;
    return -1;
}

const char *call_option(const struct call *call, const char *name)
{
    int index = option_index(call, name);
    return index < 0 ? NULL : call->options[index].value;
}

bool call_has(const struct call *call, const char *name)
{
    return option_index(call, name) >= 0;
}

enum err call_out_file(const struct call *call, const char *name, const char **path,
                       struct why *why)
{
    *path = call_option(call, name);
    if (*path && strcmp(*path, "-") == 0)
        return why_fail(why, ERR_USAGE, "--%s -: standard output has the report; name a file",
                        name);
    return OK;
}

/* Returns the ending of a path, ".json" of "plans/torus.json"; NULL if there is none. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *dot = strrchr(file, '.');
    return dot && dot > file && dot[1] ? dot : NULL;
}

enum err call_out_ending(const struct call *call, const char *name, const char *const *endings,
                         const char *advice, struct why *why)
{
    const char *path = call_option(call, name), *ending = path ? ending_of(path) : NULL;
    struct stat info;
    if (!ending || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return OK;
    char all[128] = "";
    size_t used = 0;
    for (int i = 0; endings[i]; i++) {
        if (strcasecmp(endings[i], ending) == 0)
            return OK;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", endings[i]);
        assert(used < sizeof all);
    }
    struct nearest nearest = nearest_make(ending, strlen(ending));
    nearest_try_all(&nearest, endings);
    return why_fail(why, ERR_USAGE, "--%s %.120s: cannot write %.20s%s; this command writes %s%s",
                    name, path, ending, nearest_hint(&nearest), all, advice);
}

enum err call_uint(const struct call *call, const char *name, uint64_t low, uint64_t high,
                   uint64_t *value, struct why *why)
{
    const char *text = call_option(call, name);
    if (!text)
        return OK;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number < low || number > high)
        return why_fail(why, ERR_USAGE, "--%s %s: expected a whole number from %llu to %llu", name,
                        text, (unsigned long long)low, (unsigned long long)high);
    *value = number;
    return OK;
}

enum err call_real(const struct call *call, const char *name, double low, double high,
                   double *value, struct why *why)
{
    const char *text = call_option(call, name);
    if (!text)
        return OK;
    char *end;
    double number = strtod(text, &end);
    if (!*text || *end || !isfinite(number) || number < low || number > high)
        return why_fail(why, ERR_USAGE, "--%s %s: expected a number from %g to %g", name, text, low,
                        high);
    *value = number;
    return OK;
}

enum err call_choice(const struct call *call, const char *name, const char *const *choices,
                     int *value, struct why *why)
{
    const char *text = call_option(call, name);
    if (!text)
        return OK;
    struct text all = {0};
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *value = i;
            text_fini(&all);
            return OK;
        }
        text_printf(&all, "%s%s", i ? ", " : "", choices[i]);
    }
    struct nearest nearest = nearest_make(text, strlen(text));
    nearest_try_all(&nearest, choices);
    enum err err =
        why_fail(why, ERR_USAGE, "--%s %s%s: expected one of %s", name, text,
                 nearest_hint(&nearest), text_ok(&all) ? all.data : "those in the manual");
    text_fini(&all);
    return err;
}
