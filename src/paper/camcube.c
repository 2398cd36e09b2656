/* camcube: figures of Costa, Donnelly, O'Shea, Rowstron, "CamCubeOS: A
 * Key-based Network Stack for 3D Torus Cluster Topologies" (HPDC 2013). */
#include "paper/figures.h"

/* Measures the hops between the servers of a cube, and adds a row. The paper's mean of 7.5 counts
 * each server's distance to itself, 0, as well: the column mean_with_self. */
static enum err hops_row(struct figure_table *table, const struct figure_call *call, uint32_t k,
                         struct figure_distances *distances, struct why *why)
{
    char spec[SPEC_SIZE];
    figure_cube_spec(spec, "torus", k, 3);
    enum err err = figure_measure_spec(call, spec, distances, why);
    if (err)
        return err;
    double servers = distances->nodes;
    figure_row_named(table, spec,
                     (double[]){servers, distances->diameter, distances->mean,
                                distances->mean * (servers - 1) / servers});
    return OK;
}

static enum err hops_run(struct figure_result *result, const struct figure_call *call,
                         struct why *why)
{
    struct figure_table *table = figure_table_add(
        result, "hops", "torus, servers, diameter (hops), mean_path (hops), mean_with_self (hops)");
    struct figure_distances at[13] = {0};
    uint32_t last = call->quick ? 10 : 12;
    for (uint32_t k = 2; k <= last; k++) {
        enum err err = hops_row(table, call, k, &at[k], why);
        if (err)
            return err;
        figure_progress(call, k, last);
    }
    const char *smaller = figure_text(result,
                                      "the printed hops are those of a 4x4x4 torus (maximum %u, "
                                      "mean %.4g)",
                                      at[4].diameter, at[4].mean);
    figure_claim_at(result, "section 4.2.2", "10x10x10: maximum", says_equal(15, 0, "hops"),
                    at[10].diameter, 1000, NULL);
    figure_claim_at(result, "section 4.2.2", "10x10x10: mean", says_equal(7.5, 0.05, "hops"),
                    at[10].mean, 1000, NULL);
    figure_claim_at(result, "section 4.2.2", "8x8x8: maximum", says_equal(6, 0, "hops"),
                    at[8].diameter, 512, smaller);
    figure_claim_at(result, "section 4.2.2", "8x8x8: mean", says_equal(3, 0.05, "hops"), at[8].mean,
                    512, smaller);
    return OK;
}

const struct figure figure_cam_hops = {
    .name = "cam-hops",
    .paper = "CamCubeOS",
    .what = "hops between two servers of a cubic torus",
    .full = {"tori of 2x2x2 to 12x12x12 servers", .seconds = 0.1},
    .quick = {"tori of 2x2x2 to 10x10x10 servers", .seconds = 0.1},
    .plot.table = "hops",
    .plot.x = {.column = "servers", .label = "servers"},
    .plot.y = {.label = "hops"},
    .plot.series =
        {
            {"maximum", "diameter", NULL, NULL, STYLE_BOTH},
            {"mean", "mean_path", NULL, NULL, STYLE_BOTH},
        },
    .run = hops_run,
};
