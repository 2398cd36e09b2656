#pragma once
/* format: topologies as files, in five formats that other programs also use.
 *
 * Reading and writing are pure functions of memory; the command line does the I/O. A reader accepts
 * any bytes: it returns a topology or the error `NAME: line N: reason`. weft-topology-file(5) lists
 * what each format keeps. */

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

/* The values of --format in the order of the enum, ended by NULL. */
extern const char *const format_words[FORMAT_COUNT + 1];

/* All endings of file names that belong to a format, such as ".json"; NULL ends the list. */
extern const char *const format_endings[];

/* Finds the format by the ending of a file name; returns false if no format has this ending. */
bool format_of_name(const char *name, enum format *format);

/* Guesses the format from the content. Content that looks like no other format is an edge list,
 * whose reader reports what is wrong. */
enum format format_of_content(const char *data, size_t size);

/* Makes a topology from the bytes; `name` begins the errors. The caller frees *out with
 * topology_fini. On failure nothing is kept. */
MUST_CHECK enum err format_read(struct topology *out, enum format format, const char *name,
                                const char *data, size_t size, struct why *why);

/* Appends the whole file to `out`. Refuses a topology that the format cannot express. */
MUST_CHECK enum err format_write(struct text *out, enum format format,
                                 const struct topology *topology, struct why *why);
