#pragma once
/* says: a number as the paper states it: its relation to the true number, its rounding, and its
 * unit. */

/* What the paper states about the true number: it equals the printed one, is above it, ... */
enum relation {
    RELATION_EQUAL,
    RELATION_ABOVE,
    RELATION_BELOW,
    RELATION_AT_MOST,
    RELATION_BETWEEN,
};

struct says {
    enum relation relation;
    double number;    /* as printed; the low end of RELATION_BETWEEN */
    double high;      /* the high end of RELATION_BETWEEN */
    double tolerance; /* absolute: by how much the printed number may be rounded */
    const char *unit; /* "%", "hops"; NULL for a plain number */
};

static inline struct says says_equal(double number, double tolerance, const char *unit)
{
    return (struct says){RELATION_EQUAL, number, 0, tolerance, unit};
}

static inline struct says says_above(double number, const char *unit)
{
    return (struct says){RELATION_ABOVE, number, 0, 0, unit};
}

static inline struct says says_below(double number, const char *unit)
{
    return (struct says){RELATION_BELOW, number, 0, 0, unit};
}

static inline struct says says_at_most(double number, const char *unit)
{
    return (struct says){RELATION_AT_MOST, number, 0, 0, unit};
}

static inline struct says says_between(double number, double high, const char *unit)
{
    return (struct says){RELATION_BETWEEN, number, high, 0, unit};
}

/* The same with a tolerance. */
static inline struct says says_about(struct says says, double tolerance)
{
    says.tolerance = tolerance;
    return says;
}
