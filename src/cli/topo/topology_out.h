#pragma once
/* topology_out: a topology leaves the program, as a file or on standard
 * output: for every command that has the options --out and --format. */

#include "base/err.h"
#include "cli/core/call.h"
#include "topology/format/format.h"
#include "topology/topology.h"

/* What the option --format takes. */
#define FORMAT_CHOICES "json|edgelist|dot|graphml|anynet"

/* The format of --format, else of the ending of --out, else `fallback`. Refuses an ending of --out
 * that stands for no format. */
MUST_CHECK enum err topology_out_format(const struct call *call, enum format fallback,
                                        enum format *format, struct why *why);

/* Writes a file. */
MUST_CHECK enum err topology_out_file(const char *path, const struct topology *topology,
                                      enum format format, struct why *why);

/* A whole command: loads the topology of the first word, writes it to --out and
 * reports in one line, or in one object with --json; without --out (or with
 * "-") the file itself is the output. */
MUST_CHECK enum err topology_out_run(struct call *call, struct why *why);
