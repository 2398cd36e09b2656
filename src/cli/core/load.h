#pragma once
/* load: the SPEC|FILE word of a command as a topology. */

#include "base/err.h"
#include "topology/topology.h"

/* Words such as torus:3x3x3 are built; anything else is the path of a file in
 * one of the formats of weft-topology-file(5), "-" being standard input. The
 * ending of the path says which format, or else the content does. The caller
 * calls topology_fini. */
MUST_CHECK enum err load_topology(struct topology *topology, const char *word, struct why *why);

/* Passes on a refusal of the topology that this word named, with the word
 * before the reason; a shortage of memory is none of its making. */
MUST_CHECK enum err load_refuse(const char *word, enum err err, const struct why *reason,
                                struct why *why);
