#pragma once
/* generators: the list of all generators, and topology_build (topology.h), which
 * finds the generator that a spec names. */

#include <stddef.h>

/* The generator names that may come before the colon of a spec, by index; NULL after the last. */
const char *generator_name(size_t index);
