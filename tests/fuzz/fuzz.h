#pragma once
/* fuzz: what the fuzz targets share.
 *
 * A target is one file fuzz_NAME.c that defines LLVMFuzzerTestOneInput, a folder corpus/NAME with
 * at least one file, and NAME in meson.build. With -Dfuzz=true and clang it becomes a libFuzzer
 * program; otherwise replay.c runs it, as a test, on the corpus and on seeded mutations of it. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "topology/format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A refusal must give its reason in one line. */
static inline void fuzz_check_why(const struct why *why)
{
    assert(why->text[0]);
    assert(!strchr(why->text, '\n'));
}

static inline bool fuzz_same_topology(const struct topology *one, const struct topology *other)
{
    char left[NODE_NAME_SIZE], right[NODE_NAME_SIZE];
    if (one->kind != other->kind || strcmp(one->spec, other->spec) != 0 ||
        one->direct != other->direct || one->server_count != other->server_count ||
        one->axis_count != other->axis_count || !graph_equal(&one->graph, &other->graph) ||
        memcmp(one->axis_size, other->axis_size, one->axis_count * sizeof *one->axis_size) != 0 ||
        memcmp(one->sites, other->sites, one->graph.node_count * sizeof *one->sites) != 0)
        return false;
    for (uint32_t v = 0; v < one->graph.node_count; v++)
        if (strcmp(topology_name(one, v, left), topology_name(other, v, right)) != 0)
            return false;
    return true;
}
