/* degree_diameter_list: the graphs, in order of diameter, then degree.
 *
 * Voltages and generators were found by random search: for a lift, annealing on the number of pairs
 * whose distance exceeds the diameter (the trivial group gives a graph without symmetry); for a
 * Cayley graph, random generators. The generators for 19,383 nodes are Loz's. */
#include "topology/generate/degree_diameter_impl.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct lift_edge edges_10[] = {
    {0, 0, 1},
    {1, 1, 2},
    {0, 1, 0},
};
static const struct lift_graph lift_10 = {5, 2, edges_10, LENGTH(edges_10)};

static const struct lift_edge edges_15[] = {
    {3, 3, 1}, {4, 2, 0}, {1, 4, 2}, {4, 0, 2}, {1, 3, 2},
    {0, 4, 2}, {1, 2, 1}, {0, 2, 0}, {3, 0, 0}, {2, 1, 0},
};
static const struct lift_graph lift_15 = {3, 5, edges_15, LENGTH(edges_15)};

static const struct lift_edge edges_20[] = {
    {1, 1, 1}, {3, 1, 4}, {3, 0, 1}, {3, 2, 3}, {0, 2, 0}, {2, 0, 1},
};
static const struct lift_graph lift_20 = {5, 4, edges_20, LENGTH(edges_20)};

static const struct lift_edge edges_24[] = {
    {2, 5, 2}, {6, 2, 0}, {4, 7, 2}, {2, 5, 1}, {4, 0, 2}, {3, 0, 2}, {3, 1, 2},
    {1, 7, 2}, {7, 1, 0}, {5, 6, 0}, {6, 3, 0}, {0, 6, 2}, {4, 2, 0}, {1, 5, 2},
    {7, 3, 0}, {2, 1, 1}, {4, 5, 0}, {6, 3, 1}, {4, 0, 0}, {7, 0, 2},
};
static const struct lift_graph lift_24 = {3, 8, edges_24, LENGTH(edges_24)};

static const struct lift_edge edges_38[] = {
    {0, 15, 0},  {34, 25, 0}, {10, 5, 0},  {37, 19, 0}, {27, 23, 0}, {37, 32, 0}, {1, 26, 0},
    {16, 5, 0},  {12, 32, 0}, {37, 6, 0},  {24, 6, 0},  {2, 8, 0},   {9, 7, 0},   {2, 22, 0},
    {9, 18, 0},  {27, 13, 0}, {6, 18, 0},  {14, 28, 0}, {0, 17, 0},  {10, 22, 0}, {1, 14, 0},
    {11, 23, 0}, {31, 33, 0}, {3, 4, 0},   {33, 3, 0},  {11, 30, 0}, {1, 13, 0},  {21, 17, 0},
    {36, 28, 0}, {0, 29, 0},  {2, 4, 0},   {36, 18, 0}, {30, 4, 0},  {34, 32, 0}, {15, 24, 0},
    {22, 20, 0}, {21, 31, 0}, {19, 16, 0}, {33, 19, 0}, {11, 34, 0}, {10, 7, 0},  {14, 5, 0},
    {9, 29, 0},  {29, 35, 0}, {15, 25, 0}, {35, 26, 0}, {31, 27, 0}, {30, 28, 0}, {12, 26, 0},
    {24, 8, 0},  {3, 35, 0},  {8, 13, 0},  {21, 20, 0}, {12, 20, 0}, {16, 25, 0}, {7, 23, 0},
    {17, 36, 0},
};
static const struct lift_graph lift_38 = {1, 38, edges_38, LENGTH(edges_38)};

static const struct lift_edge edges_70[] = {
    {4, 0, 5}, {3, 9, 2}, {2, 9, 1}, {8, 5, 2}, {4, 0, 1}, {6, 1, 4}, {3, 4, 1}, {8, 5, 0},
    {3, 8, 3}, {9, 6, 0}, {5, 2, 4}, {7, 2, 4}, {1, 7, 1}, {1, 7, 2}, {6, 0, 2},
};
static const struct lift_graph lift_70 = {7, 10, edges_70, LENGTH(edges_70)};

static const struct lift_edge edges_98[] = {
    {1, 6, 8},  {1, 3, 12}, {6, 5, 4}, {4, 5, 10}, {0, 6, 6},  {5, 2, 8}, {1, 0, 1},
    {4, 3, 13}, {4, 6, 0},  {5, 3, 4}, {1, 2, 13}, {0, 3, 12}, {4, 2, 2}, {0, 2, 7},
};
static const struct lift_graph lift_98 = {14, 7, edges_98, LENGTH(edges_98)};

static const struct cayley_generator generators_253[] = {
    {3, 22},
    {1, 12},
    {3, 21},
    {6, 10},
};
static const struct cayley_graph cayley_253 = {11, 23, 6, generators_253, LENGTH(generators_253)};

static const struct cayley_generator generators_19383[] = {
    {19, 865},
    {7, 330},
    {11, 97},
};
static const struct cayley_graph cayley_19383 = {21, 923, 48, generators_19383,
                                                 LENGTH(generators_19383)};

const struct degree_diameter_entry degree_diameter_list[] = {
    {.size = {10, 3, 2}, .from = FROM_LIFT, .lift = &lift_10},
    {.size = {15, 4, 2}, .from = FROM_LIFT, .lift = &lift_15},
    {.size = {24, 5, 2}, .from = FROM_LIFT, .lift = &lift_24},
    {.size = {32, 6, 2}, .from = FROM_MMS, .q = 4},
    {.size = {50, 7, 2}, .from = FROM_MMS, .q = 5},
    {.size = {57, 8, 2}, .from = FROM_PLANE, .q = 7},
    {.size = {74, 9, 2}, .from = FROM_PLANE, .q = 8},
    {.size = {91, 10, 2}, .from = FROM_PLANE, .q = 9},
    {.size = {133, 12, 2}, .from = FROM_PLANE, .q = 11},
    {.size = {162, 13, 2}, .from = FROM_MMS, .q = 9},
    {.size = {183, 14, 2}, .from = FROM_PLANE, .q = 13},
    {.size = {274, 17, 2}, .from = FROM_PLANE, .q = 16},
    {.size = {307, 18, 2}, .from = FROM_PLANE, .q = 17},
    {.size = {338, 19, 2}, .from = FROM_MMS, .q = 13},
    {.size = {381, 20, 2}, .from = FROM_PLANE, .q = 19},
    {.size = {553, 24, 2}, .from = FROM_PLANE, .q = 23},
    {.size = {578, 25, 2}, .from = FROM_MMS, .q = 17},
    {.size = {651, 26, 2}, .from = FROM_PLANE, .q = 25},
    {.size = {757, 28, 2}, .from = FROM_PLANE, .q = 27},
    {.size = {871, 30, 2}, .from = FROM_PLANE, .q = 29},
    {.size = {993, 32, 2}, .from = FROM_PLANE, .q = 31},
    {.size = {1058, 33, 2}, .from = FROM_PLANE, .q = 32},
    {.size = {20, 3, 3}, .from = FROM_LIFT, .lift = &lift_20},
    {.size = {253, 8, 3}, .from = FROM_CAYLEY, .cayley = &cayley_253},
    {.size = {585, 9, 3}, .from = FROM_QUADRANGLE, .q = 8},
    {.size = {650, 10, 3}, .from = FROM_QUADRANGLE, .q = 8, .copies = 1},
    {.size = {715, 11, 3}, .from = FROM_QUADRANGLE, .q = 8, .copies = 2},
    {.size = {38, 3, 4}, .from = FROM_LIFT, .lift = &lift_38},
    {.size = {98, 4, 4}, .from = FROM_LIFT, .lift = &lift_98},
    {.size = {70, 3, 5}, .from = FROM_LIFT, .lift = &lift_70},
    {.size = {364, 4, 5}, .from = FROM_HEXAGON},
    {.size = {19383, 6, 7}, .from = FROM_CAYLEY, .cayley = &cayley_19383},
};

const size_t degree_diameter_list_count = LENGTH(degree_diameter_list);
