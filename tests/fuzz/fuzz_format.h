#pragma once
/* fuzz_format: tests a reader of topology files. Any bytes are refused in one line with a line
 * number, or are a valid topology that is the same after writing and reading it again. */

#include <stdio.h>

#include "fuzz.h"

static inline void fuzz_read_back(const struct topology *topology, enum format format)
{
    struct text text = {0};
    struct topology back;
    struct why why = {""};
    enum err err = format_write(&text, format, topology, &why);
    if (err) {
        fuzz_check_why(&why); /* a name or a cable that the format cannot express */
        text_fini(&text);
        return;
    }
    err = format_read(&back, format, "again", text.data, text.size, &why);
    if (err)
        fprintf(stderr, "%s\n%s", why.text, text.data);
    assert(!err);
    if (format == FORMAT_ANYNET) { /* without ports and names, but the next file is equal */
        struct text again = {0};
        assert(format_write(&again, format, &back, &why) == OK);
        assert(again.size == text.size && memcmp(again.data, text.data, text.size) == 0);
        assert(back.graph.node_count == topology->graph.node_count);
        assert(back.graph.link_count == topology->graph.link_count);
        assert(back.server_count == topology->server_count);
        text_fini(&again);
    } else {
        assert(fuzz_same_topology(topology, &back));
    }
    topology_fini(&back);
    text_fini(&text);
}

static inline int fuzz_format(enum format format, const uint8_t *data, size_t size)
{
    struct topology topology;
    struct why why = {""};
    enum err err = format_read(&topology, format, "input", (const char *)data, size, &why);
    if (err) {
        fuzz_check_why(&why);
        assert(err == ERR_MEMORY || strncmp(why.text, "input: line ", 12) == 0);
        return 0;
    }
    topology_check(&topology);
    fuzz_read_back(&topology, format);
    fuzz_read_back(&topology, FORMAT_JSON);
    topology_fini(&topology);
    return 0;
}
