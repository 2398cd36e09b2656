/* Tests topology specifications: a spec is refused in one line, or its topology is built correctly
 * and is the same after it was written to a file and read again. */
#include "fuzz.h"

enum {
    LINKS_MAX = 20000, /* of a topology that is written and read again: k=84 of a fat tree is small,
                        * but means 300,000 links */
};

/* Keeps a run short: accepts numbers whose product is moderate, or that are so large that they are
 * refused or are seeds. */
static bool small(const char *spec)
{
    uint64_t product = 1;
    for (const char *at = spec; *at;) {
        if (*at < '0' || *at > '9') {
            at++;
            continue;
        }
        uint64_t number = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            number = number < UINT32_MAX ? number * 10 + (uint64_t)(*at - '0') : number;
        if (number > 1000 && number <= GRAPH_NODE_MAX)
            return false;
        if (number && number <= 1000)
            product *= number;
        if (product > 20000)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char spec[SPEC_SIZE + 8];
    struct topology topology, back;
    struct why why = {""};
    struct text text = {0};
    if (size >= sizeof spec)
        return 0;
    memcpy(spec, data, size);
    spec[size] = '\0';
    if (!small(spec))
        return 0;
    if (topology_build(&topology, spec, &why)) {
        fuzz_check_why(&why);
        return 0;
    }
    topology_check(&topology);
    assert(topology_is_spec(topology.spec));
    if (topology.graph.link_count > LINKS_MAX) {
        topology_fini(&topology);
        return 0;
    }
    assert(format_write(&text, FORMAT_JSON, &topology, &why) == OK);
    assert(format_read(&back, FORMAT_JSON, "again", text.data, text.size, &why) == OK);
    assert(fuzz_same_topology(&topology, &back));
    topology_fini(&back);
    topology_fini(&topology);
    text_fini(&text);
    return 0;
}
