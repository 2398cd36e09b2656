/* mistake: what a service did wrong. The call is refused and counted, and the first mistake of each
 * kind is reported, so that the author of the service finds it in the server's log. */

#include "base/hash.h"
#include "node/core/node_impl.h"

static uint64_t text_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = hash_mix(hash ^ (uint8_t)*text);
    return hash;
}

/* True: this kind has been reported already, or too many other kinds have. */
static bool is_known(struct weft_self *self, uint16_t kind)
{
    for (unsigned i = 0; i < self->mistake_kinds; i++)
        if (self->mistakes_known[i] == kind)
            return true;
    if (self->mistake_kinds == MISTAKE_KINDS_MAX)
        return true;
    self->mistakes_known[self->mistake_kinds++] = kind;
    return false;
}

void service_mistake(struct weft_self *self, const char *function, const char *reason)
{
    self->mistakes++;
    struct node_watcher *watcher = self->node->config.watcher;
    uint16_t kind = (uint16_t)text_hash(text_hash(1, function), reason);
    if (!is_known(self, kind) && watcher && watcher->mistake)
        watcher->mistake(watcher, self->node->self, self->service->name, function, reason);
}
