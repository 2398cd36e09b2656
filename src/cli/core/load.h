#pragma once
/* load: reads the argument SPEC|FILE of a command as a topology. */

#include "base/err.h"
#include "topology/topology.h"

/* Builds a SPEC such as torus:3x3x3; any other word is the path of a file in one
 * of the formats of weft-topology-file(5), and "-" is standard input. The ending
 * of the path or else the content determines the format. The caller calls
 * topology_fini. */
MUST_CHECK enum err load_topology(struct topology *topology, const char *word, struct why *why);

/* Reports a failure about the topology of this argument as `word: reason`. If
 * memory ran out, the word is left out. */
MUST_CHECK enum err load_refuse(const char *word, enum err err, const struct why *reason,
                                struct why *why);
