#pragma once
/* services: those that are compiled in, in the order of their ids. */

#include <weft/service.h>

extern const struct weft_service *const services[]; /* ends with NULL */
#define SERVICES_OWN_MAX 16                         /* of them */
