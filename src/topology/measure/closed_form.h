#pragma once
/* closed_form: mean path and diameter of the regular networks by counting, not by searching a
 * graph. They are the oracle of the distance code, and the formulas of papers are compared with
 * them. */

#include <stdint.h>

#include "base/err.h"

/* An odd NovaCube needs tables of k^2 pairs. */
#define CLOSED_FORM_ODD_MAX 255

struct closed_form {
    double mean_path; /* over pairs of distinct nodes; NaN for a single node */
    uint32_t diameter;
};

/* For the k-ary n-torus; k and n are at least 1, k^n is at most GRAPH_NODE_MAX. */
MUST_CHECK enum err closed_form_torus(uint32_t k, uint32_t n, struct closed_form *form,
                                      struct why *why);

/* For the k-ary n-NovaCube as novacube.h builds it; an odd k is at most CLOSED_FORM_ODD_MAX. */
MUST_CHECK enum err closed_form_novacube(uint32_t k, uint32_t n, struct closed_form *form,
                                         struct why *why);
