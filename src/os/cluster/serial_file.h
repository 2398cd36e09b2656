#pragma once
/* serial_file: the files in the run directory of machines that find their place in the plan by
 * themselves.
 *
 *   wiring.json        the cables as plugged in: a topology whose nodes are named by serial
 *                      numbers. It represents the physical world: a machine reads only the cables
 *                      of its own ports, to plug them in
 *   serial-S.place     its server number, permanent once found (bootstrap_wire.h)
 *   serial-S.findings  what is wrong with the cables, a line each
 *   serial-S.log       output of its process */

#include "base/err.h"
#include "os/cluster/cluster_file.h"
#include "os/host/host.h"

#define CLUSTER_WIRING_NAME "wiring.json"
/* The largest serial number of a machine in a cluster on this host; 0 means none. */
#define SERIAL_MAX (UINT32_MAX - 2)

struct topology;

/* FOLDER/serial-S.ENDING; the folder has been checked. */
void serial_path(char path[CLUSTER_PATH_SIZE], const char *folder, uint32_t serial,
                 const char *ending);
/* The serial number in such a file's name; 0: it is no such name with that ending (NULL: any). */
uint32_t serial_of_name(const char *name, const char *ending);

/* Reads a topology in the run directory. */
MUST_CHECK enum err serial_topology_read(struct topology *topology, const char *folder,
                                         const char *name, struct why *why);
/* Reads which cables are plugged into the machine's ports. Refuses a machine that is not in
 * wiring.json. */
MUST_CHECK enum err serial_cables_read(struct host_machine *machine, const char *folder,
                                       struct why *why);

/* NODE_NONE: it has no place yet. Refuses a damaged file. */
MUST_CHECK enum err serial_place_read(node_id *place, const char *folder, uint32_t serial,
                                      uint32_t server_count, struct why *why);
/* Writes all of the file or nothing, even if the machine stops meanwhile. */
MUST_CHECK enum err serial_place_write(const char *folder, uint32_t serial, node_id place,
                                       struct why *why);
MUST_CHECK enum err serial_findings_write(const char *folder, uint32_t serial,
                                          const struct placement *placement, struct why *why);

/* Finds the serial number at each place; 0: none. */
MUST_CHECK enum err serial_places_find(uint32_t *serials, const char *folder, uint32_t server_count,
                                       struct why *why);
