#pragma once
/* serial_file: what a machine without a place in the plan finds and keeps in the run directory.
 *
 *   wiring.json        the cables as they lie: a topology whose nodes are named by serial numbers.
 *                      It stands for the physical world: a machine reads of it what leads where
 *                      from its own ports, to plug them in, and nothing else
 *   serial-S.place     its server number, once found, for life (bootstrap_wire.h)
 *   serial-S.findings  what all found to be wrong with the cables, a line each
 *   serial-S.log       what its process printed */

#include "base/err.h"
#include "os/cluster/cluster_file.h"
#include "os/host/host.h"

#define CLUSTER_WIRING_NAME "wiring.json"
#define SERIAL_MAX          (UINT32_MAX - 2) /* of a machine of a cluster on this one; 0 is none */

struct topology;

/* FOLDER/serial-S.ENDING; the folder was checked. */
void serial_path(char path[CLUSTER_PATH_SIZE], const char *folder, uint32_t serial,
                 const char *ending);
/* The serial number in such a file's name; 0: it is none of that ending (NULL: of any). */
uint32_t serial_of_name(const char *name, const char *ending);

/* A topology in the run directory. */
MUST_CHECK enum err serial_topology_read(struct topology *topology, const char *folder,
                                         const char *name, struct why *why);
/* What is plugged into its ports. Refuses a machine that wiring.json does not have. */
MUST_CHECK enum err serial_cables_read(struct host_machine *machine, const char *folder,
                                       struct why *why);

/* NODE_NONE: there is none yet. Refuses one that is damaged. */
MUST_CHECK enum err serial_place_read(node_id *place, const char *folder, uint32_t serial,
                                      uint32_t server_count, struct why *why);
/* All of it or nothing, also if the machine stops meanwhile. */
MUST_CHECK enum err serial_place_write(const char *folder, uint32_t serial, node_id place,
                                       struct why *why);
MUST_CHECK enum err serial_findings_write(const char *folder, uint32_t serial,
                                          const struct placement *placement, struct why *why);

/* Who is at each place, of all that have one; 0: nobody. */
MUST_CHECK enum err serial_places_find(uint32_t *serials, const char *folder, uint32_t server_count,
                                       struct why *why);
