#include "cli/service/service_values.h"

#include <stdio.h>
#include <string.h>

#include "os/cluster/configuration_file.h"

enum err service_values_read(const struct call *call, struct configuration *settings,
                             struct why *why)
{
    const char *file = call_option(call, "config");
    enum err err = file ? configuration_file_read(settings, file, why) : OK;
    for (int i = 0; !err && i < call->option_count; i++) {
        const char *value = call->options[i].value;
        char origin[128];
        if (strcmp(call->options[i].option->name, "set") != 0)
            continue;
        snprintf(origin, sizeof origin, "--set %.100s", value);
        err = configuration_add(settings, origin, value, why);
    }
    return err;
}

void service_value_put(struct result *result, const char *key, enum weft_parameter_type type,
                       const char *text)
{
    const struct weft_parameter parameter = {.type = type};
    union parameter_value value;
    bool known = type != WEFT_PARAMETER_TEXT && type != WEFT_PARAMETER_CHOICE &&
                 !parameter_read(&parameter, text, &value, NULL);
    if (!known)
        result_string(result, key, text);
    else if (type == WEFT_PARAMETER_BOOL)
        result_bool(result, key, value.flag);
    else if (type == WEFT_PARAMETER_SIZE)
        result_uint(result, key, value.size);
    else if (type == WEFT_PARAMETER_DURATION)
        result_number(result, key, (double)value.number / 1e9);
    else if (value.number >= 0)
        result_uint(result, key, (uint64_t)value.number);
    else
        result_number(result, key, (double)value.number);
}
