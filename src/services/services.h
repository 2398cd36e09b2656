#pragma once
/* services: the services that are compiled in, in the order of their ids. */

#include <weft/service.h>

/* Each server of a cluster, real or simulated, runs these, and plug-ins in addition. */
extern const struct weft_service *const services_all[]; /* ends with NULL */
/* Entries of services_all, without the NULL. */
extern const unsigned services_count;

/* These run only in clusters that name them: weft up --service NAME. */
extern const struct weft_service *const services_optional[]; /* ends with NULL */

/* NULL: there is none. */
const struct weft_service *services_optional_find(const char *name);
