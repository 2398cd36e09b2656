#include "routing/deadlock/acyclic.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

enum err acyclic_init(struct acyclic *acyclic, uint32_t vertex_count, struct why *why)
{
    *acyclic = (struct acyclic){
        .vertex_count = vertex_count,
        .edges.size = 2 * sizeof(uint32_t),
        .first_out = array_new(vertex_count, sizeof *acyclic->first_out),
        .first_in = array_new(vertex_count, sizeof *acyclic->first_in),
        .position = array_new(vertex_count, sizeof *acyclic->position),
        .work = array_new(3 * (size_t)vertex_count, sizeof *acyclic->work),
        .seen = array_new(vertex_count, sizeof *acyclic->seen),
    };
    if (!acyclic->first_out || !acyclic->first_in || !acyclic->position || !acyclic->work ||
        !acyclic->seen) {
        acyclic_fini(acyclic);
        return why_memory(why);
    }
    for (uint32_t v = 0; v < vertex_count; v++) {
        acyclic->first_out[v] = acyclic->first_in[v] = INTERN_NONE;
        acyclic->position[v] = v;
    }
    return OK;
}

void acyclic_fini(struct acyclic *acyclic)
{
    intern_fini(&acyclic->edges);
    free(acyclic->next_out);
    free(acyclic->next_in);
    free(acyclic->first_out);
    free(acyclic->first_in);
    free(acyclic->position);
    free(acyclic->work);
    free(acyclic->seen);
    *acyclic = (struct acyclic){0};
}

static const uint32_t *edge_ends(const struct acyclic *acyclic, uint32_t edge)
{
    return intern_record(&acyclic->edges, edge);
}

/* Collects the vertices reachable from `root`, forward up to positions before `limit` or backward
 * to positions behind it; marks them seen and returns their number. */
static uint32_t collect(struct acyclic *acyclic, uint32_t root, bool forward, uint32_t limit,
                        uint32_t *list)
{
    const uint32_t *first = forward ? acyclic->first_out : acyclic->first_in;
    const uint32_t *next = forward ? acyclic->next_out : acyclic->next_in;
    uint32_t count = 0;
    list[count++] = root;
    acyclic->seen[root] = true;
    for (uint32_t done = 0; done < count; done++) {
        for (uint32_t e = first[list[done]]; e != INTERN_NONE; e = next[e]) {
            uint32_t v = edge_ends(acyclic, e)[forward];
            bool within = forward ? acyclic->position[v] <= limit : acyclic->position[v] >= limit;
            if (within && !acyclic->seen[v]) {
                acyclic->seen[v] = true;
                list[count++] = v;
            }
        }
    }
    return count;
}

static void forget(struct acyclic *acyclic, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        acyclic->seen[list[i]] = false;
}

/* Sorts by position; the range between the two ends of an edge is short. */
static void sort_by_position(const struct acyclic *acyclic, uint32_t *list, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) { /* Shell's sort */
        for (uint32_t i = gap; i < count; i++) {
            uint32_t v = list[i], j = i;
            for (; j >= gap && acyclic->position[list[j - gap]] > acyclic->position[v]; j -= gap)
                list[j] = list[j - gap];
            list[j] = v;
        }
    }
}

/* Distributes the positions of both sets again: the lower ones to the vertices before the edge, the
 * higher ones to those behind it. Each set keeps its order. */
static void reorder(struct acyclic *acyclic, uint32_t *before, uint32_t before_count,
                    uint32_t *behind, uint32_t behind_count, uint32_t *positions)
{
    sort_by_position(acyclic, before, before_count);
    sort_by_position(acyclic, behind, behind_count);
    uint32_t i = 0, j = 0, count = 0;
    while (i < before_count || j < behind_count) {
        bool take = j == behind_count || (i < before_count && acyclic->position[before[i]] <
                                                                  acyclic->position[behind[j]]);
        positions[count++] = acyclic->position[take ? before[i++] : behind[j++]];
    }
    for (i = 0; i < before_count; i++)
        acyclic->position[before[i]] = positions[i];
    for (j = 0; j < behind_count; j++)
        acyclic->position[behind[j]] = positions[before_count + j];
}

/* Moves vertices so that an edge leads forward; false if the edge closes a cycle. */
static bool make_way(struct acyclic *acyclic, uint32_t from, uint32_t to)
{
    uint32_t high = acyclic->position[from], low = acyclic->position[to];
    if (high < low)
        return true;
    uint32_t *behind = acyclic->work, *before = behind + acyclic->vertex_count;
    uint32_t *positions = before + acyclic->vertex_count;
    uint32_t behind_count = collect(acyclic, to, true, high, behind);
    bool closes = acyclic->seen[from];
    forget(acyclic, behind, behind_count);
    if (closes)
        return false;
    /* the two sets have no vertex in common, else there would be a path from `to` to `from` */
    uint32_t before_count = collect(acyclic, from, false, low, before);
    forget(acyclic, before, before_count);
    assert(behind_count + before_count <= acyclic->vertex_count);
    reorder(acyclic, before, before_count, behind, behind_count, positions);
    return true;
}

enum err acyclic_add(struct acyclic *acyclic, uint32_t from, uint32_t to, bool *closes,
                     struct why *why)
{
    assert(from < acyclic->vertex_count && to < acyclic->vertex_count);
    uint32_t ends[2] = {from, to}, edge;
    bool new;
    *closes = false;
    if (intern_find(&acyclic->edges, ends) != INTERN_NONE)
        return OK;
    if (!make_way(acyclic, from, to)) {
        *closes = true;
        return OK;
    }
    size_t count = (size_t)acyclic->edges.count + 1;
    if (!array_reserve(&acyclic->next_out, &acyclic->out_capacity, count,
                       sizeof *acyclic->next_out) ||
        !array_reserve(&acyclic->next_in, &acyclic->in_capacity, count, sizeof *acyclic->next_in) ||
        !intern_add(&acyclic->edges, ends, &edge, &new))
        return why_memory(why);
    acyclic->next_out[edge] = acyclic->first_out[from];
    acyclic->first_out[from] = edge;
    acyclic->next_in[edge] = acyclic->first_in[to];
    acyclic->first_in[to] = edge;
    return OK;
}

void acyclic_cut(struct acyclic *acyclic, uint32_t count)
{
    while (acyclic->edges.count > count) {
        uint32_t edge = acyclic->edges.count - 1;
        const uint32_t *ends = edge_ends(acyclic, edge);
        assert(acyclic->first_out[ends[0]] == edge && acyclic->first_in[ends[1]] == edge);
        acyclic->first_out[ends[0]] = acyclic->next_out[edge];
        acyclic->first_in[ends[1]] = acyclic->next_in[edge];
        intern_pop(&acyclic->edges);
    }
}
