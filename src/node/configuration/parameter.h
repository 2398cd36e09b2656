#pragma once
/* parameter: the parameters of services (weft/service.h): which values they accept, and how values
 * are written.
 *
 * A value is a text, as the operator writes it, until it is read into the field of a service. Each
 * reason of a refusal is the rest of a line: the caller writes before it where the value is from.
 *
 * Besides its own parameters every service has `memory`, its budget, and each one that uses
 * weft/work.h has `work`. Pure. */

#include <weft/service.h>

#include "base/err.h"

#define PARAMETER_NAME_MAX 32 /* letters */

/* Room for the text of any value, with its end. */
#define PARAMETER_TEXT_SIZE (WEFT_TEXT_MAX + 1)

union parameter_value {
    bool flag;        /* BOOL */
    int64_t number;   /* INTEGER, DURATION */
    uint64_t size;    /* SIZE */
    uint32_t choice;  /* CHOICE */
    const char *text; /* TEXT; borrowed */
};

extern const char *const parameter_type_names[]; /* by type: "bool", ... */
/* The budget, and the calls of weft/work.h under way; neither has a field. */
extern const struct weft_parameter parameter_memory, parameter_work;

/* Refuses a table that a service must not have. The reason names the service. */
MUST_CHECK enum err parameters_check(const struct weft_service *service, struct why *why);

/* The parameters of a service, first its own, then `memory`, if that is not among these, and
 * `work`; NULL: there are no more. */
const struct weft_parameter *parameter_at(const struct weft_service *service, unsigned index);
/* Is it one that the service lists? */
bool parameter_is_own(const struct weft_service *service, const struct weft_parameter *parameter);
/* By name; NULL: there is none. */
const struct weft_parameter *parameter_find(const struct weft_service *service, const char *name);

/* Reads a value and checks it against the bounds. */
MUST_CHECK enum err parameter_read(const struct weft_parameter *parameter, const char *text,
                                   union parameter_value *value, struct why *why);
/* Writes a value in its usual form, which parameter_read accepts: 2G, not 2048M. */
void parameter_write(const struct weft_parameter *parameter, const union parameter_value *value,
                     char text[PARAMETER_TEXT_SIZE]);
/* Stores a value into the field of an instance. */
void parameter_store(const struct weft_parameter *parameter, const union parameter_value *value,
                     void *instance);
