#include "services/services.h"

#include <stddef.h>
#include <string.h>

#include "services/bench/bench.h"
#include "services/control/control.h"
#include "services/directory/directory.h"
#include "services/ping/ping.h"
#include "services/relay/relay.h"
#include "services/store/service/store.h"

const struct weft_service *const services_all[] = {
    &service_control, &service_ping, &service_bench, &service_directory, &service_relay, NULL,
};

const unsigned services_count = sizeof services_all / sizeof services_all[0] - 1;

const struct weft_service *const services_optional[] = {&store_service, NULL};

const struct weft_service *services_optional_find(const char *name)
{
    const struct weft_service *const *service = services_optional;
    while (*service && strcmp((*service)->name, name) != 0)
        service++;
    return *service;
}
