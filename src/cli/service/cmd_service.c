/* weft service list, weft service show */
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/service/service_realm.h"
#include "cli/service/service_values.h"
#include "services/services.h"

/* Adds a bound; that of a text is a length. */
static void bound_put(struct result *result, const char *key,
                      const struct weft_parameter *parameter, const char *bound)
{
    if (!bound)
        result_null(result, key);
    else
        service_value_put(result, key,
                          parameter->type == WEFT_PARAMETER_TEXT ? WEFT_PARAMETER_INTEGER
                                                                 : parameter->type,
                          bound);
}

/* Writes "1 to 9", "at least 1", "at most 9 bytes", "fast, safe", or nothing. */
static void range_write(struct text *out, const struct weft_parameter *parameter)
{
    const char *unit = parameter->type == WEFT_PARAMETER_TEXT ? " bytes" : "";
    if (parameter->choices)
        for (const char *at = parameter->choices; *at; at++)
            text_printf(out, *at == '|' ? ", " : "%c", *at);
    else if (parameter->minimum && parameter->maximum)
        text_printf(out, "%s to %s%s", parameter->minimum, parameter->maximum, unit);
    else if (parameter->minimum)
        text_printf(out, "at least %s%s", parameter->minimum, unit);
    else if (parameter->maximum)
        text_printf(out, "at most %s%s", parameter->maximum, unit);
}

static void choices_put(struct result *result, const char *choices)
{
    result_array(result_flat(result), "choices");
    for (const char *at = choices; at;) {
        size_t size = strcspn(at, "|");
        text_add(result_words(result, NULL), at, size);
        at = at[size] ? at + size + 1 : NULL;
    }
    result_end(result);
}

static void parameter_put(struct result *result, const struct weft_parameter *parameter)
{
    result_object(result, NULL);
    result_string(result, "name", parameter->name);
    result_string(result, "type", parameter_type_names[parameter->type]);
    service_value_put(result, "default", parameter->type, parameter->value);
    bound_put(result, "minimum", parameter, parameter->minimum);
    bound_put(result, "maximum", parameter, parameter->maximum);
    if (parameter->choices)
        choices_put(result, parameter->choices);
    result_string(result, "help", parameter->help);
    result_string(result_hide(result), "value", parameter->value);
    range_write(result_words(result_hide(result), "range"), parameter);
    result_end(result);
}

static void service_put(struct result *result, const struct weft_service *service)
{
    const struct weft_parameter *parameter;
    result_string(result, "name", service->name);
    result_string(result_hide(result), "service", service->name);
    result_uint(result, "id", service->id);
    result_bool(result, "optional", services_optional_find(service->name) == service);
    result_array(result, "parameters");
    for (unsigned i = 0; (parameter = parameter_at(service, i)); i++)
        parameter_put(result, parameter);
    result_end(result);
}

/* ---- list ---- */

static const char list_page[] =
    "{=<><}service\tid\tparameters\n"
    "{#services}{name}{?optional}, optional{/}\t{id}\t{#parameters|, }{name}{/}\n{/}{/}";

/* Within the list of parameters, `name` is that of a parameter. */
static const char names_page[] = "{#services}{#parameters}{service}.{name}\n{/}{/}";

static enum err list_run(struct call *call, struct why *why)
{
    struct service_realm realm;
    enum err err = OK;
    service_realm_init(&realm);
    service_realm_add_optional(&realm);
    for (int i = 0; !err && i < call->argument_count; i++)
        err = service_realm_load(&realm, call->arguments[i], why);
    if (!err) {
        struct result *result = call_result(call, call_has(call, "names") ? names_page : list_page);
        result_array(result, "services");
        for (unsigned i = 0; i < realm.count; i++) {
            result_object(result, NULL);
            service_put(result, realm.services[i]);
            result_end(result);
        }
        result_end(result);
        /* The result borrows no text of a plug-in, so the plug-ins may go. */
    }
    service_realm_fini(&realm);
    return err;
}

static const struct option list_options[] = {
    {"names", NULL, "print only the parameters, as SERVICE.NAME, for scripts"},
    {0},
};

const struct command command_service_list = {
    .name = "service list",
    .arguments = "[FILE...]",
    .summary = "list the services of a server and their parameters",
    .description =
        "Lists the services that every server runs, the optional ones, which weft up --service "
        "NAME starts, and those of the shared objects that are named, with the parameters that "
        "weft up --set can change. weft service show prints what a parameter means.\n\n"
        "With --json: services, a list of name, id, optional and parameters (as in weft service "
        "show).",
    .options = list_options,
    .examples = "  weft service list\n"
                "  weft service list ./counter.so",
    .run = list_run,
};

/* ---- show ---- */

static const char show_page[] =
    "service {name}, id {id}{?optional}; started by weft up --service {name}{/}\n"
    "{=<<<<<}parameter\ttype\tdefault\tvalues\tmeaning\n"
    "{#parameters}{name}\t{type}\t{value}\t{range}\t{help}\n{/}{/}"
    "set one with: weft up --set {name}.NAME=VALUE\n";

static const struct option show_options[] = {{0}};

static enum err show_run(struct call *call, struct why *why)
{
    struct service_realm realm;
    const struct weft_service *service;
    service_realm_init(&realm);
    service_realm_add_optional(&realm);
    enum err err = service_realm_find(&realm, call->arguments[0], &service, why);
    if (!err)
        service_put(call_result(call, show_page), service);
    service_realm_fini(&realm);
    return err;
}

const struct command command_service_show = {
    .name = "service show",
    .arguments = "NAME|FILE",
    .summary = "print the parameters of a service: types, defaults, bounds and meaning",
    .description =
        "Prints the parameters of a service of weft, or of the service in a shared object (a word "
        "with a slash, or that ends in .so). weft up --set SERVICE.NAME=VALUE changes a parameter "
        "for all servers of a cluster; weft-config(5) describes files of settings. The types "
        "are:\n\n"
        "  bool      true or false; also yes, no, on, off\n"
        "  integer   a whole number\n"
        "  size      bytes: 4096, 64K, 20M, 2G, 1T, in powers of 1,024\n"
        "  duration  with its unit: 500ns, 250us, 10ms, 3s, 5min, 2h\n"
        "  text      printable text of at most 255 bytes\n"
        "  choice    one of the listed words\n\n"
        "Every service has the parameter memory, its budget on each server: its instance and all "
        "that it allocates. A service that asks for more does not start. Memory that a service "
        "never touches costs nothing.\n\n"
        "With --json: name, id and parameters, a list of name, type, default, minimum, maximum, "
        "choices and help. Sizes are bytes, durations are seconds.",
    .options = show_options,
    .examples = "  weft service show directory\n"
                "  weft service show ./counter.so\n"
                "  weft service show ping --json | jq '.parameters[].name'",
    .run = show_run,
};
