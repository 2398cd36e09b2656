/* A service for tests/os_weftd.py; macros make it valid or invalid. */
#include <stddef.h>
#include <weft/service.h>

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION WEFT_SERVICE_VERSION
#endif
#ifndef PLUGIN_ID
#define PLUGIN_ID 300
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "plugged"
#endif
#ifndef PLUGIN_OPS
#define PLUGIN_OPS &ops
#endif
#ifndef PLUGIN_KEEP
#define PLUGIN_KEEP 0
#endif
#ifndef PLUGIN_START
#define PLUGIN_START 0
#endif

#ifdef PLUGIN_SHORT
/* The right name and version, and nothing more. */
WEFT_API const uint32_t weft_service[2];
const uint32_t weft_service[2] = {PLUGIN_VERSION, 0};
#else
static int start(struct weft_self *self)
{
    return PLUGIN_START;
}

static void done(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static const struct weft_service_ops ops
    __attribute__((unused)) = {.start = start, .deliver = done};

WEFT_API const struct weft_service weft_service;
const struct weft_service weft_service = {
    .version = PLUGIN_VERSION,
    .name = PLUGIN_NAME,
    .id = PLUGIN_ID,
    .keep_packets = PLUGIN_KEEP,
    .ops = PLUGIN_OPS,
};
#endif
