/* budget: the memory of services.
 *
 * A service takes all its memory before its server's first step: the instance itself, and pieces
 * in start(). Large pieces are mappings, which occupy memory only where the service writes. So a
 * service may ask for far more than it uses at first, and the amounts are checked here: they are
 * promises that the system would not check. */

#include <stdio.h>

#include "base/check.h"
#include "node/core/node_impl.h"

void *budget_take(struct weft_self *self, uint64_t size)
{
    struct node *node = self->node;
    uint64_t machine = node->config.machine_memory ? node->config.machine_memory : UINT64_MAX;
    void *memory = NULL;
    if (node->arena.sealed)
        return NULL;
    if (size <= machine && node->services_memory <= machine - size && size <= SIZE_MAX)
        memory = arena_map(&node->arena, size ? (size_t)size : 1);
    if (!memory) {
        self->memory_refused = size ? size : 1;
        return NULL;
    }
    self->memory_taken += size;
    node->services_memory += size;
    return memory;
}

/* Writes an amount with one digit after the point: "23.5 GiB". */
static void amount_write(char text[24], uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    double amount = (double)bytes;
    while (amount >= 1024 && unit < 6) {
        amount /= 1024;
        unit++;
    }
    snprintf(text, 24, amount == (uint64_t)amount ? "%.0f %s" : "%.1f %s", amount, units[unit]);
}

enum err budget_fail(const struct weft_self *self, struct why *why)
{
    const struct node *node = self->node;
    uint64_t machine = node->config.machine_memory;
    char asked[24], before[40] = "", most[24];
    amount_write(asked, self->memory_refused);
    if (node->services_memory) {
        char taken[24];
        amount_write(taken, node->services_memory);
        snprintf(before, sizeof before, " on top of %s", taken);
    }
    if (machine && self->memory_refused > machine - node->services_memory) {
        amount_write(most, machine);
        return why_fail(why, ERR_MEMORY,
                        "service %s: asked for %s of memory%s, but this machine has %s",
                        self->service->name, asked, before, most);
    }
    return why_fail(why, ERR_MEMORY,
                    "service %s: asked for %s of memory%s, which the system refused; see ulimit "
                    "-v and the limits of the container",
                    self->service->name, asked, before);
}

void *weft_memory(struct weft_self *self)
{
    return self->memory;
}

void *weft_allocate(struct weft_self *self, uint64_t size)
{
    return budget_take(self, size);
}
