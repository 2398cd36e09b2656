#pragma once
/* services: the services that are compiled in, in the order of their ids. Each server of a cluster,
 * real or simulated, runs them, and plug-ins in addition. */

#include <weft/service.h>

extern const struct weft_service *const services_all[]; /* ends with NULL */
/* Entries of services_all, without the NULL. */
extern const unsigned services_count;
