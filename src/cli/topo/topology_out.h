#pragma once
/* topology_out: writes a topology to a file or to standard output, for every
 * command that has the options --out and --format. */

#include "base/err.h"
#include "cli/core/call.h"
#include "topology/format/format.h"
#include "topology/topology.h"

/* The values of the option --format. */
#define FORMAT_CHOICES "json|edgelist|dot|graphml|anynet"

/* Finds the format: of --format, else of the ending of --out, else `fallback`. Refuses an ending of
 * --out that no format has. */
MUST_CHECK enum err topology_out_format(const struct call *call, enum format fallback,
                                        enum format *format, struct why *why);

/* Writes a file. */
MUST_CHECK enum err topology_out_file(const char *path, const struct topology *topology,
                                      enum format format, struct why *why);

/* Runs a whole command: loads the topology of the first argument, writes it to
 * --out and reports that in one line, or in one object with --json. Without --out
 * (or with "-") the file itself is the output. */
MUST_CHECK enum err topology_out_run(struct call *call, struct why *why);
