#include "services/services.h"

#include "base/check.h"
#include "services/control.h"

const struct weft_service *const services[] = {
    &service_control,
    NULL,
};
static_assert(sizeof services / sizeof *services <= SERVICES_OWN_MAX + 1, "there is room for all");
