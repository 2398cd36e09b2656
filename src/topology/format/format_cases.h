#pragma once
/* format_cases: a table of files with the result of reading each, for the tests of the formats. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "topology/format/format.h"

/* `outcome` is the reason of the error, or "ok: " and a summary: nodes, servers, d(irect) or
 * s(witched), then the links as name-name and their ports. */
struct format_case {
    const char *file;
    const char *outcome;
};

static inline void format_summary(const struct topology *topology, struct text *out)
{
    char one[NODE_NAME_SIZE], other[NODE_NAME_SIZE];
    text_printf(out, "ok: %u %u %c", topology->graph.node_count, topology->server_count,
                topology->direct ? 'd' : 's');
    for (uint32_t e = 0; e < topology->graph.link_count; e++) {
        const struct link *link = &topology->graph.links[e];
        text_printf(out, " %s-%s:%u-%u", topology_name(topology, link->a, one),
                    topology_name(topology, link->b, other), link->a_port, link->b_port);
    }
}

static inline void format_cases_check(enum format format, const struct format_case *cases,
                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct topology topology;
        struct why why = {""};
        struct text out = {0};
        size_t size = strlen(cases[i].file);
        /* exactly as large as the file, so that a sanitizer finds a read beyond its end */
        char *data = malloc(size ? size : 1);
        assert_non_null(data);
        memcpy(data, cases[i].file, size);
        enum err err = format_read(&topology, format, "x", data, size, &why);
        free(data);
        if (err)
            text_puts(&out, strncmp(why.text, "x: ", 3) == 0 ? why.text + 3 : why.text);
        else
            format_summary(&topology, &out);
        if (!err)
            topology_fini(&topology);
        assert_string_equal(out.data, cases[i].outcome);
        text_fini(&out);
    }
}
