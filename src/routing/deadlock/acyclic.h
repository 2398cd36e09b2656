#pragma once
/* acyclic: a directed graph that is kept free of cycles while edges are added.
 *
 * Each vertex has a position in an order in which all edges lead forward. An edge that fits this
 * order costs nothing; any other edge only moves vertices between its ends (Pearce and Kelly, ACM
 * JEA 11, 2006). Edges are removed in reverse order of insertion, which never disturbs the
 * order. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/intern.h"

struct acyclic {
    uint32_t vertex_count;
    struct intern edges; /* of uint32_t[2]: from, to */
    uint32_t *next_out;  /* per edge: the next that leaves the same vertex, or INTERN_NONE */
    uint32_t *next_in;   /* per edge: the next that enters the same vertex */
    size_t out_capacity, in_capacity;
    uint32_t *first_out, *first_in; /* per vertex */
    uint32_t *position;             /* per vertex: its place in the order */
    uint32_t *work;                 /* 3 per vertex */
    bool *seen;                     /* per vertex; all false between calls */
};

MUST_CHECK enum err acyclic_init(struct acyclic *acyclic, uint32_t vertex_count, struct why *why);
void acyclic_fini(struct acyclic *acyclic);

/* Adds an edge unless that closes a cycle: then *closes is true and nothing changes. Adding an edge
 * again has no effect. */
MUST_CHECK enum err acyclic_add(struct acyclic *acyclic, uint32_t from, uint32_t to, bool *closes,
                                struct why *why);

/* Removes the most recent edges until `count` are left. */
void acyclic_cut(struct acyclic *acyclic, uint32_t count);
