#pragma once
/* cable_cost: the prices and dimensions that the cost of a topology is computed from.
 *
 * The defaults are those of the Jellyfish paper (section 6) where it gives a value, and our own
 * assumptions elsewhere; weft-cost(5) says which is which. A model is a plain value and owns
 * nothing. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

#define RACK_UNIT_M 0.04445 /* EIA-310: the height of one rack unit */

struct cable_cost {
    /* the floor, in metres */
    double rack_width_m;
    double row_pitch_m;     /* from the front of one row to the front of the next */
    double tray_height_m;   /* of the overhead trays, above the floor */
    double slack_m;         /* added to every cable that leaves its rack */
    double rack_slack_m;    /* added to a cable inside one rack */
    double container_gap_m; /* between two containers, both ways */

    /* capacities */
    uint32_t rack_units;
    uint32_t switch_units;
    uint32_t server_units;
    uint32_t servers_per_rack;
    uint32_t switches_per_rack; /* in a rack that holds switches only */
    uint32_t container_racks;   /* in one row of a container */
    uint32_t container_servers; /* if the topology defines no containers */

    /* prices */
    double copper_limit_m; /* a longer cable is optical */
    double copper_metre;
    double optical_metre;
    double copper_end;   /* one connector; a cable has two */
    double transceiver;  /* one; an optical cable has two */
    double labour_share; /* of the whole cabling cost, labour included */
    double switch_port;  /* price of a switch, per port; 0: switches are not priced */
};

struct cable_cost cable_cost_default(void);

/* Reads `key = value` lines; keys that are not given keep their defaults. `name` is the file name
 * for the error "name: line N: reason". */
MUST_CHECK enum err cable_cost_read(struct cable_cost *cost, const char *data, size_t size,
                                    const char *name, struct why *why);

/* Writes a complete file with comments, from which cable_cost_read reads the same model. */
void cable_cost_write(const struct cable_cost *cost, struct text *out);
