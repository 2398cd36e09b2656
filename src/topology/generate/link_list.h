#pragma once
/* link_list: cables as a generator finds them, all at whatever port is free.
 * The caller owns the room and knows how many there can be. */

#include <stdint.h>

#include "base/check.h"
#include "topology/graph.h"

struct link_list {
    struct link *links;
    uint32_t count;
    uint32_t capacity;
};

static inline void link_list_add(struct link_list *list, uint32_t a, uint32_t b)
{
    assert(list->count < list->capacity);
    list->links[list->count++] =
        (struct link){.a = a, .b = b, .a_port = PORT_ANY, .b_port = PORT_ANY};
}
