/* budget: the memory of services.
 *
 * A service takes all its memory before its server's first step: the instance itself, and pieces
 * in start(). Large pieces are mappings, which occupy memory only where the service writes. So a
 * service may ask for far more than it uses at first, and the amounts are checked here, against the
 * budget that the operator gave the service and against the memory of the machine: the system would
 * not check such promises. */

#include <stdio.h>

#include "base/check.h"
#include "node/configuration/configuration.h"
#include "node/core/node_impl.h"

enum err budget_init(struct weft_self *self, struct why *why)
{
    union parameter_value value;
    enum err err =
        configuration_read(self->node->config.configuration, self->service,
                           parameter_find(self->service, parameter_memory.name), &value, why);
    self->budget = err ? 0 : value.size;
    return err;
}

/* What all services of the server may still take; unlimited if the machine's memory is unknown. */
static uint64_t machine_left(const struct node *node)
{
    uint64_t machine = node->config.machine_memory;
    return machine ? machine - node->services_memory : UINT64_MAX;
}

uint64_t weft_memory_left(const struct weft_self *self)
{
    return self->budget - self->memory_taken;
}

void *budget_take(struct weft_self *self, uint64_t size)
{
    struct node *node = self->node;
    void *memory = NULL;
    if (node->arena.sealed)
        return NULL;
    if (size <= machine_left(node) && size <= weft_memory_left(self) && size <= SIZE_MAX)
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

/* Writes " on top of 5 GiB", or nothing. */
static void before_write(char text[40], uint64_t taken)
{
    char amount[24];
    amount_write(amount, taken);
    text[0] = '\0';
    if (taken)
        snprintf(text, 40, " on top of %s", amount);
}

/* The budget that would suffice, in whole mebibytes, as an operator writes it. */
static void budget_write(char text[PARAMETER_TEXT_SIZE], const struct weft_self *self)
{
    const uint64_t step = UINT64_C(1) << 20;
    uint64_t need, most = INT64_MAX / step * step;
    if (__builtin_add_overflow(self->memory_taken, self->memory_refused, &need) || need > most)
        need = most;
    const union parameter_value value = {.size = (need + step - 1) / step * step};
    parameter_write(&parameter_memory, &value, text);
}

enum err budget_fail(const struct weft_self *self, struct why *why)
{
    const struct node *node = self->node;
    const char *name = self->service->name;
    char asked[24], before[40], most[24], enough[PARAMETER_TEXT_SIZE];
    amount_write(asked, self->memory_refused);
    before_write(before, node->services_memory);
    amount_write(most, node->config.machine_memory);
    if (self->memory_refused > machine_left(node))
        return why_fail(why, ERR_MEMORY,
                        "service %s: asked for %s of memory%s, but this machine has %s", name,
                        asked, before, most);
    if (self->memory_refused <= weft_memory_left(self))
        return why_fail(why, ERR_MEMORY,
                        "service %s: asked for %s of memory%s, which the system refused; see "
                        "ulimit -v and the limits of the container",
                        name, asked, before);
    before_write(before, self->memory_taken);
    amount_write(most, self->budget);
    budget_write(enough, self);
    return why_fail(why, ERR_USAGE,
                    "service %s: asked for %s of memory%s, but its budget is %s; raise it with "
                    "--set %s.memory=%s",
                    name, asked, before, most, name, enough);
}

void *weft_memory(struct weft_self *self)
{
    return self->memory;
}

void *weft_allocate(struct weft_self *self, uint64_t size)
{
    if (self->node->arena.sealed)
        service_mistake(self, "weft_allocate", "memory is allocated only in start()");
    return budget_take(self, size);
}
