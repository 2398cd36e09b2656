/* A service for tests/os_weftd.py; macros make it valid or invalid. */
#include <weft/service.h>

static void done(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static const struct weft_service_ops ops = {.deliver = done};

WEFT_API const struct weft_service weft_service;
const struct weft_service weft_service = {
    .version = PLUGIN_VERSION,
    .name = "plugged",
    .id = PLUGIN_ID,
    .ops = &ops,
};
