/* camcube: figures of Costa, Donnelly, O'Shea, Rowstron, "CamCubeOS: A
 * Key-based Network Stack for 3D Torus Cluster Topologies" (HPDC 2013). */
#include <stdio.h>

#include "paper/figures.h"

static const struct figure_column hops_columns[] = {
    {"torus", ""},
    {"servers", ""},
    {"diameter", "hops"},
    {"mean_path", "hops"},
    {"mean_with_self", "hops"},
    {0},
};

/* The servers' distances in a cube, and the same as a row. The paper's 7.5 is
 * the mean with every server's distance to itself counted as a pair. */
static enum err hops_row(struct figure_result *result, struct figure_table *table,
                         const struct figure_call *call, uint32_t k,
                         struct figure_distances *distances, struct why *why)
{
    char spec[48];
    snprintf(spec, sizeof spec, "torus:%ux%ux%u", k, k, k);
    enum err err = figure_measure_spec(call, spec, distances, why);
    if (err)
        return err;
    double servers = distances->nodes;
    figure_row(result, table,
               (struct figure_cell[]){figure_word(spec), figure_number(servers),
                                      figure_number(distances->diameter),
                                      figure_number(distances->mean),
                                      figure_number(distances->mean * (servers - 1) / servers)});
    return OK;
}

static enum err hops_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table = figure_table_add(result, "hops", hops_columns);
    struct figure_distances at[13] = {0};
    uint32_t last = call->quick ? 10 : 12;
    for (uint32_t k = 2; k <= last; k++) {
        enum err err = hops_row(result, table, call, k, &at[k], why);
        if (err)
            return err;
        figure_progress(call, k, last);
    }
    char reason[320];
    snprintf(reason, sizeof reason,
             "those are the hops of a 4x4x4 torus (maximum %u, mean %.4g); an axis of 8 is up to "
             "4 hops across, not 2",
             at[4].diameter, at[4].mean);
    struct claim claim = {.where = "section 4.2.2", .unit = "hops"};

    snprintf(claim.reason, sizeof claim.reason, "measured over all pairs of servers");
    snprintf(claim.what, sizeof claim.what, "10x10x10: maximum");
    claim.paper = 15, claim.found = at[10].diameter;
    figure_claim(result, claim);
    snprintf(claim.what, sizeof claim.what, "10x10x10: mean");
    claim.paper = 7.5, claim.found = at[10].mean, claim.tolerance = 0.05;
    figure_claim(result, claim);

    snprintf(claim.reason, sizeof claim.reason, "%s", reason);
    snprintf(claim.what, sizeof claim.what, "8x8x8: maximum");
    claim.paper = 6, claim.found = at[8].diameter, claim.tolerance = 0;
    figure_claim(result, claim);
    snprintf(claim.what, sizeof claim.what, "8x8x8: mean");
    claim.paper = 3, claim.found = at[8].mean, claim.tolerance = 0.05;
    figure_claim(result, claim);
    return OK;
}

static const struct figure_series hops_series[] = {
    {"maximum", "servers", "diameter", NULL, NULL, STYLE_BOTH},
    {"mean", "servers", "mean_path", NULL, NULL, STYLE_BOTH},
    {0},
};

static const struct figure_plot hops_plot = {
    .table = "hops",
    .x_label = "servers",
    .y_label = "hops",
    .series = hops_series,
};

const struct figure figure_cam_hops = {
    .name = "cam-hops",
    .paper = "CamCubeOS",
    .what = "hops between two servers of a cube",
    .size = "cubes of 2 to 12 servers a side",
    .size_quick = "cubes of 2 to 10 servers a side",
    .seconds = 0.1,
    .seconds_quick = 0.1,
    .plot = &hops_plot,
    .run = hops_run,
};
