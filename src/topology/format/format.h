#pragma once
/* format: topologies as files, in the five formats others read and write.
 *
 * Reading and writing are pure functions of memory; the command line does the
 * I/O. A reader survives any bytes: it returns a topology or refuses with
 * `NAME: line N: reason`. What each format keeps is in weft-topology-file(5). */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "topology/topology.h"

enum format {
    FORMAT_JSON,     /* node-link JSON, as networkx writes it */
    FORMAT_EDGELIST, /* one link per line, as networkx writes it */
    FORMAT_DOT,      /* graphviz */
    FORMAT_GRAPHML,
    FORMAT_ANYNET, /* BookSim's network_file */
};

#define FORMAT_COUNT 5

/* The words of --format in the order of the enum, ended by NULL. */
extern const char *const format_words[FORMAT_COUNT + 1];

/* The format a file name's ending stands for; false if it stands for none. */
bool format_of_name(const char *name, enum format *format);

/* The format these bytes look like. Always answers: what looks like nothing
 * else is an edge list, whose reader will say what is wrong. */
enum format format_of_content(const char *data, size_t size);

/* Makes a topology of the bytes; `name` begins the messages. The caller frees
 * *out with topology_fini. On failure nothing is kept. */
MUST_CHECK enum err format_read(struct topology *out, enum format format, const char *name,
                                const char *data, size_t size, struct why *why);

/* Appends the whole file to `out`. Refuses a topology that the format cannot
 * hold. */
MUST_CHECK enum err format_write(struct text *out, enum format format,
                                 const struct topology *topology, struct why *why);
