#pragma once
/* link_list: the cables that a generator has found so far, without port numbers. The caller owns
 * the array and makes it large enough. */

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
