#pragma once
/* service_values: values of parameters on the command line and in results. */

#include "cli/core/call.h"
#include "node/configuration/configuration.h"

/* The options of commands that start servers. */
/* clang-format off */
#define SERVICE_VALUE_OPTIONS                                                                      \
    {"set", "SERVICE.NAME=VALUE",                                                                  \
     "set a parameter of a service; may be repeated (weft service show lists them)"},              \
    {"config", "FILE", "a file with parameters of services; --set replaces its values"}
/* clang-format on */

/* Reads --config, then --set, which replaces values of the file. */
MUST_CHECK enum err service_values_read(const struct call *call, struct configuration *settings,
                                        struct why *why);

/* Adds a value to a result by its type: a bool, an integer, a size in bytes, a duration in seconds,
 * or a string. */
void service_value_put(struct result *result, const char *key, enum weft_parameter_type type,
                       const char *text);
