/* degree_sequence: the criterion of Erdős and Gallai (1960), the construction of Havel (1955) and
 * Hakimi (1962).
 *
 * Both need the vertices in order of decreasing degree. If the sum is odd, one port must stay free.
 * It is taken from the first vertex in that order: of all sequences with one port less, this is the
 * most even one, and making a sequence more even never makes a possible one impossible. */
#include "topology/generate/degree_sequence.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

/* One vertex during the construction. */
struct want {
    uint32_t vertex;
    uint32_t left; /* neighbours that are still missing */
};

/* The vertices by decreasing degree, then number, with an even sum; NULL if memory is short.
 * Degrees are below count. */
static struct want *wants_make(const uint32_t *degree, uint32_t count)
{
    struct want *wants = array_new(count, sizeof *wants);
    uint32_t *start = array_new((size_t)count + 1, sizeof *start);
    if (!wants || !start) {
        free(wants);
        free(start);
        return NULL;
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        assert(degree[i] < count);
        start[count - degree[i]]++; /* the highest degree first */
        sum += degree[i];
    }
    for (uint32_t i = 0; i < count; i++)
        start[i + 1] += start[i];
    for (uint32_t i = 0; i < count; i++)
        wants[start[count - degree[i] - 1]++] = (struct want){.vertex = i, .left = degree[i]};
    free(start);
    if (sum % 2) {
        uint32_t last = 0; /* of the highest degree: shortening it keeps the order */
        while (last + 1 < count && wants[last + 1].left == wants[0].left)
            last++;
        wants[last].left--;
    }
    return wants;
}

enum err degree_sequence_possible(const uint32_t *degree, uint32_t count, bool *possible,
                                  struct why *why)
{
    *possible = false;
    for (uint32_t i = 0; i < count; i++)
        if (degree[i] >= count)
            return OK;
    struct want *wants = wants_make(degree, count);
    if (!wants)
        return why_memory(why);
    /* Edges among the first k vertices account for at most k(k-1) of their degrees; each other
     * vertex accounts for at most k, and at most its own degree. */
    uint64_t head = 0, tail = 0; /* sums of the first k degrees, and of the degrees below k */
    uint32_t many = count;       /* how many vertices have degree k or more */
    *possible = true;
    for (uint32_t k = 1; k <= count && *possible; k++) {
        head += wants[k - 1].left;
        while (many > 0 && wants[many - 1].left < k)
            tail += wants[--many].left;
        if (many < k)
            break; /* from here on the right side grows at least as fast as the left */
        *possible = head <= (uint64_t)k * (k - 1) + (uint64_t)k * (many - k) + tail;
    }
    free(wants);
    return OK;
}

/* Joins the first vertex to the next `first.left` ones. Of those that tie with the last one taken,
 * it takes the ones at the end of the tie: this keeps the order by decreasing degree without
 * sorting. */
static uint32_t want_serve(struct want *wants, uint32_t count, struct link *links)
{
    uint32_t take = wants[0].left, made = 0;
    if (take == 0)
        return 0;
    assert(take < count);
    uint32_t level = wants[take].left, begin = take, end = take + 1;
    while (begin > 1 && wants[begin - 1].left == level)
        begin--;
    while (end < count && wants[end].left == level)
        end++;
    uint32_t tied = take + 1 - begin; /* how many vertices of the tie are taken */
    for (uint32_t i = 1; i < end; i++) {
        if (i >= begin && i < end - tied)
            continue;
        assert(wants[i].left > 0);
        wants[i].left--;
        links[made++] = (struct link){
            .a = wants[0].vertex, .b = wants[i].vertex, .a_port = PORT_ANY, .b_port = PORT_ANY};
    }
    assert(made == take);
    return made;
}

enum err degree_sequence_links(const uint32_t *degree, uint32_t count, struct link *links,
                               uint32_t *link_count, struct why *why)
{
    struct want *wants = wants_make(degree, count);
    if (!wants)
        return why_memory(why);
    *link_count = 0;
    for (uint32_t i = 0; i < count; i++)
        *link_count += want_serve(wants + i, count - i, links + *link_count);
    free(wants);
    return OK;
}
