#pragma once
/* load: the SPEC|FILE word of a command as a topology. */

#include "base/err.h"
#include "topology/topology.h"

MUST_CHECK enum err load_topology(struct topology *topology, const char *word, struct why *why);
