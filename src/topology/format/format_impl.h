#pragma once
/* format_impl: the code that the five formats share. Never included outside topology.
 *
 * A reader fills a draft: nodes by name, links with their line in the file, and attributes.
 * draft_finish turns names into ids, pairs arcs, checks the meaning and makes the topology, so that
 * every format reports the same mistake with the same text. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/name_index.h"
#include "base/text.h"
#include "topology/topology.h"

#define DRAFT_PORT_MAX 65535 /* unless the node has more links than that */

/* The attributes of a node; fields that are not set keep the network's default. */
struct draft_site {
    struct site site;
    bool has_servers;
};

struct draft_node {
    struct draft_site site;
    uint32_t declared; /* line that declares it as a node; 0: only links name it */
    uint32_t named;    /* line that names it first */
};

struct draft_link {
    struct link link;
    uint32_t line;
};

/* The meaning of two links between the same nodes. */
enum draft_repeat {
    REPEAT_PARALLEL, /* two cables */
    REPEAT_SAME,     /* one cable, listed twice */
    REPEAT_REFUSED,
};

struct draft {
    const char *name; /* borrowed: name of the file */
    struct why *why;  /* borrowed */
    struct name_index names;
    struct draft_node *nodes; /* one per name */
    size_t node_capacity;
    struct draft_link *links;
    size_t link_capacity;
    uint32_t link_count;
    bool directed; /* each cable is two arcs */
    bool declare;  /* a link may only name declared nodes */
    enum draft_repeat repeat;
    bool direct_said, direct;
    char spec[SPEC_SIZE];
    uint32_t axis_count;
    uint32_t axis_size[AXIS_MAX];
};

void draft_fini(struct draft *draft);

/* Fails with ERR_INPUT and names the line. */
#define draft_fail(draft, line, ...) why_fail_line((draft)->why, (draft)->name, line, __VA_ARGS__)

/* Finds or adds the node with that name. draft_declare refuses a node that is declared already. */
MUST_CHECK enum err draft_mention(struct draft *draft, const char *name, size_t size, uint32_t line,
                                  uint32_t *node);
MUST_CHECK enum err draft_declare(struct draft *draft, const char *name, size_t size, uint32_t line,
                                  uint32_t *node);

MUST_CHECK enum err draft_add_link(struct draft *draft, const struct link *link, uint32_t line);

/* A link without port numbers yet. */
#define DRAFT_LINK_NEW ((struct link){.a_port = PORT_ANY, .b_port = PORT_ANY})

/* A site without any attribute set. */
#define DRAFT_SITE_NEW ((struct draft_site){.site = {.group = GROUP_NONE}})

/* Sets an attribute that weft knows and ignores any other. Values are text, as in all formats but
 * JSON. */
MUST_CHECK enum err draft_set_graph(struct draft *draft, const char *key, const char *value,
                                    uint32_t line);
MUST_CHECK enum err draft_set_site(const struct draft *draft, struct draft_site *site,
                                   const char *key, const char *value, uint32_t line);
MUST_CHECK enum err draft_set_link(const struct draft *draft, struct link *link, const char *key,
                                   const char *value, uint32_t line);

/* Makes the topology. `line` is the last line of the file, for errors about missing parts. */
MUST_CHECK enum err draft_finish(struct draft *draft, uint32_t line, struct topology *out);

/* If building `spec` gives exactly this topology, sets the topology's kind and spec; else does
 * nothing. Fails only for lack of memory. */
MUST_CHECK enum err format_trust_spec(struct topology *topology, const char *spec, struct why *why);

/* Do two nodes have more than one cable between them? */
MUST_CHECK enum err format_find_parallel(const struct topology *topology, bool *parallel,
                                         struct why *why);

/* "3x3x3" */
#define FORMAT_AXES_SIZE (AXIS_MAX * 11)
void format_print_axes(const struct topology *topology, char buffer[FORMAT_AXES_SIZE]);

/* A reader and a writer per format. The data of readers need not end in a zero byte. */
MUST_CHECK enum err json_format_read(struct draft *draft, const char *data, size_t size,
                                     uint32_t *line);
MUST_CHECK enum err json_format_write(struct text *out, const struct topology *topology,
                                      struct why *why);
MUST_CHECK enum err edgelist_format_read(struct draft *draft, const char *data, size_t size,
                                         uint32_t *line);
MUST_CHECK enum err edgelist_format_write(struct text *out, const struct topology *topology,
                                          struct why *why);
MUST_CHECK enum err dot_format_read(struct draft *draft, const char *data, size_t size,
                                    uint32_t *line);
MUST_CHECK enum err dot_format_write(struct text *out, const struct topology *topology,
                                     struct why *why);
MUST_CHECK enum err graphml_format_read(struct draft *draft, const char *data, size_t size,
                                        uint32_t *line);
MUST_CHECK enum err graphml_format_write(struct text *out, const struct topology *topology,
                                         struct why *why);
MUST_CHECK enum err anynet_format_read(struct draft *draft, const char *data, size_t size,
                                       uint32_t *line);
MUST_CHECK enum err anynet_format_write(struct text *out, const struct topology *topology,
                                        struct why *why);
