#pragma once
/* configuration: the values of parameters that an operator sets, as texts, with where each is from.
 *
 * They come from the command line (`--set store.copies=3`), from configuration files and from the
 * file of a cluster; a later one replaces an earlier one. configuration_check compares them with
 * the services that will run, so that a wrong one is refused before anything starts; a node reads
 * them when it opens. A configuration file is read by the caller; this code is pure. */

#include <stddef.h>

#include "base/err.h"
#include "node/configuration/parameter.h"

struct setting {
    char *service; /* owned, one piece of memory with the others */
    const char *name, *value;
    const char *origin; /* begins the line of an error: "--set store.copies=x", "f.conf: line 3" */
};

struct configuration {
    struct setting *items; /* owned */
    size_t count, capacity;
};

void configuration_fini(struct configuration *settings);

/* Adds "store.copies=3"; blanks around the name and the value do not count. */
MUST_CHECK enum err configuration_add(struct configuration *settings, const char *origin,
                                      const char *word, struct why *why);
MUST_CHECK enum err configuration_append(struct configuration *settings,
                                         const struct configuration *more, struct why *why);
/* Adds the lines of a configuration file, "store.copies = 3". Empty lines and lines that begin with
 * # are skipped. Refuses a parameter that the file sets twice. */
MUST_CHECK enum err configuration_parse(struct configuration *settings, const char *file,
                                        const char *data, size_t size, struct why *why);

/* Keeps only the last value of each parameter. */
void configuration_compact(struct configuration *settings);

/* Refuses a setting of a service or parameter that does not exist, or of a value that the parameter
 * does not accept. The tables of the services have been checked; the list ends with NULL. */
MUST_CHECK enum err configuration_check(const struct configuration *settings,
                                        const struct weft_service *const *services,
                                        struct why *why);

/* Reads the value in effect: the last one that is set, or the default. `settings` may be NULL. */
MUST_CHECK enum err configuration_read(const struct configuration *settings,
                                       const struct weft_service *service,
                                       const struct weft_parameter *parameter,
                                       union parameter_value *value, struct why *why);
