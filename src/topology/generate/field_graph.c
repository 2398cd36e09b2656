/* field_graph: nodes are the points of a geometry. A polarity, which swaps points and lines,
 * defines the neighbours of a point: the points on the line that the polarity assigns to it. A
 * point on its own line has one neighbour less. */
#include "topology/generate/field_graph.h"

#include "topology/generate/finite_field.h"

#define POLYGON_COORDINATES_MAX 5

/* Each pair is visited from both ends. */
static void meet(struct link_list *list, uint32_t point, uint32_t other)
{
    if (point < other)
        link_list_add(list, point, other);
}

/* Points of the plane by their first coordinate that is not 0, made 1:
 * (1,v,w) is v q + w, (0,1,w) is q^2 + w, (0,0,1) is q^2 + q. */
static void plane_coordinates(uint32_t q, uint32_t point, uint32_t at[3])
{
    at[0] = point < q * q;
    at[1] = point < q * q ? point / q : point < q * q + q;
    at[2] = point < q * q + q ? point % q : 1;
}

/* The points (1,v,w) orthogonal to p: p0 + p1 v + p2 w = 0. */
static void plane_meet(struct link_list *list, const struct finite_field *field, uint32_t point)
{
    uint32_t q = field->order, p[3];
    plane_coordinates(q, point, p);
    for (uint32_t v = 0; v < q; v++) {
        uint32_t rest = finite_field_subtract(
            field, 0, finite_field_add(field, p[0], finite_field_multiply(field, p[1], v)));
        if (p[2])
            meet(list, point, v * q + finite_field_divide(field, rest, p[2]));
        else if (rest == 0)
            for (uint32_t w = 0; w < q; w++)
                meet(list, point, v * q + w);
    }
    /* (0,1,w): p1 + p2 w = 0; then (0,0,1): p2 = 0. */
    if (p[2])
        meet(list, point,
             q * q + finite_field_divide(field, finite_field_subtract(field, 0, p[1]), p[2]));
    else if (p[1] == 0)
        for (uint32_t w = 0; w < q; w++)
            meet(list, point, q * q + w);
    if (p[2] == 0)
        meet(list, point, q * q + q);
}

enum err field_graph_plane(struct link_list *list, uint32_t q, struct why *why)
{
    struct finite_field field;
    enum err err = finite_field_init(&field, q, why);
    if (err)
        return err;
    uint32_t points = q * q + q + 1;
    for (uint32_t point = 0; point < points; point++) {
        plane_meet(list, &field, point);
        uint32_t p[3];
        plane_coordinates(q, point, p);
        /* In characteristic 2 the square of a sum is the sum of the squares:
         * the absolute points are those of the line x + y + z = 0. */
        if (field.characteristic == 2 &&
            finite_field_add(&field, finite_field_add(&field, p[0], p[1]), p[2]) == 0)
            link_list_add(list, point, points);
    }
    return OK;
}

/* Points of a generalized polygon have 0 to `most` coordinates; those with fewer coordinates come
 * first. These are Hanssens and Van Maldeghem's coordinates: consecutive elements of a flag,
 * alternately of a point and of a line. */
static uint32_t polygon_point(uint32_t q, const uint32_t *at, uint32_t count)
{
    uint32_t first = 0, power = 1, number = 0;
    for (uint32_t i = 0; i < count; i++) {
        first += power;
        power *= q;
        number = number * q + at[i];
    }
    return first + number;
}

static uint32_t polygon_coordinates(uint32_t q, uint32_t point, uint32_t *at)
{
    uint32_t count = 0, power = 1;
    for (; point >= power; power *= q, count++)
        point -= power;
    for (uint32_t i = count; i-- > 0; point /= q)
        at[i] = point % q;
    return count;
}

/* Common to all polygons: a line with fewer coordinates than the maximum contains the points that
 * have one coordinate more, of which the last is free, and the point with all coordinates but the
 * last (if there are none: the point at infinity). */
static void polygon_short_line(uint32_t q, const uint32_t *line, uint32_t count, uint32_t *on_line)
{
    uint32_t at[POLYGON_COORDINATES_MAX];
    assert(count < POLYGON_COORDINATES_MAX);
    for (uint32_t i = 0; i < count; i++)
        at[i] = line[i];
    for (at[count] = 0; at[count] < q; at[count]++)
        on_line[at[count]] = polygon_point(q, at, count + 1);
    on_line[q] = polygon_point(q, line, count > 0 ? count - 1 : 0);
}

/* W(q) in characteristic 2: point (a,l,a') is on line [k,b,k'] if and only if k' = a^2 k + l and b
 * = a k + a'. With s such that s(s(x)) = x^2, the polarity maps the coordinates of a point to those
 * of a line by s, and every second one by the inverse of s. Writes the q + 1 points on the line of
 * a point. */
static void quadrangle_line(const struct finite_field *field, uint32_t point, uint32_t *on_line)
{
    uint32_t up = 1u << (field->degree + 1) / 2, down = 1u << field->degree / 2;
    uint32_t q = field->order, line[3], count = polygon_coordinates(q, point, line);
    for (uint32_t i = 0; i < count; i++)
        line[i] = finite_field_raise(field, line[i], (count - i) % 2 ? up : down);
    if (count < 3) {
        polygon_short_line(q, line, count, on_line);
        return;
    }
    for (uint32_t a = 0; a < q; a++) {
        uint32_t ak = finite_field_multiply(field, a, line[0]);
        uint32_t aak = finite_field_multiply(field, a, ak);
        uint32_t at[3] = {a, finite_field_subtract(field, line[2], aak),
                          finite_field_subtract(field, line[1], ak)};
        on_line[a] = polygon_point(q, at, 3);
    }
    on_line[q] = polygon_point(q, line, 2);
}

enum err field_graph_quadrangle(struct link_list *list, uint32_t q, uint32_t copies,
                                struct why *why)
{
    struct finite_field field;
    uint32_t on_line[FINITE_FIELD_ORDER_MAX + 1] = {0};
    enum err err = finite_field_init(&field, q, why);
    if (err)
        return err;
    if (field.characteristic != 2 || field.degree % 2 == 0)
        return why_fail(why, ERR_USAGE, "W(%u) has no polarity: q must be 2, 8, 32, ...", q);
    uint32_t points = q * q * q + q * q + q + 1, copy = points;
    for (uint32_t point = 0; point < points; point++) {
        bool absolute = false;
        quadrangle_line(&field, point, on_line);
        for (uint32_t i = 0; i <= q; i++) {
            meet(list, point, on_line[i]);
            absolute |= on_line[i] == point;
        }
        for (uint32_t made = 0; absolute && made < copies; made++, copy++)
            for (uint32_t i = 0; i <= q; i++)
                link_list_add(list, copy, on_line[i]);
    }
    return OK;
}

/* H(3): point (a,l,a',l',a'') is on line [k,b,k',b',k''] if and only if b = a'' - a k, k'' = a^3 k
 * + l, b' = a^2 k + a' + a a'' and k' = a^3 k^2 + l' - k l (De Smet and Van Maldeghem, in
 * characteristic 3). Over GF(3) the polarity does not change the coordinates. */
static void hexagon_line(uint32_t point, uint32_t on_line[4])
{
    uint32_t line[POLYGON_COORDINATES_MAX], count = polygon_coordinates(3, point, line);
    if (count < 5) {
        polygon_short_line(3, line, count, on_line);
        return;
    }
    uint32_t k = line[0];
    for (uint32_t a = 0; a < 3; a++) { /* -1 is 2, and a^3 is a */
        uint32_t at[5] = {a};
        at[4] = (line[1] + a * k) % 3;
        at[1] = (line[4] + 2 * a * k) % 3;
        at[2] = (line[3] + 2 * a * a * k + 2 * a * at[4]) % 3;
        at[3] = (line[2] + 2 * a * k * k + k * at[1]) % 3;
        on_line[a] = polygon_point(3, at, 5);
    }
    on_line[3] = polygon_point(3, line, 4);
}

void field_graph_hexagon(struct link_list *list)
{
    for (uint32_t point = 0; point < 364; point++) {
        uint32_t on_line[4];
        hexagon_line(point, on_line);
        for (uint32_t i = 0; i < 4; i++)
            meet(list, point, on_line[i]);
    }
}

/* Nodes (0,x,y) and (1,m,c), in Hafner's notation: two nodes of the first half in the same column
 * are joined if their difference is an even power of the primitive element, in the second half if
 * it is an odd power; (0,x,y) and (1,m,c) are joined if y = m x + c. */
enum err field_graph_mms(struct link_list *list, uint32_t q, struct why *why)
{
    struct finite_field field;
    enum err err = finite_field_init(&field, q, why);
    if (err)
        return err;
    if (q < 4 || q % 4 > 1)
        return why_fail(why, ERR_USAGE,
                        "there is no such graph over GF(%u): q must be 0 or 1 mod 4", q);
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t node = half * q * q; node < (half + 1) * q * q; node++) {
            uint32_t column = node - node % q;
            for (uint32_t i = half; i < q - 1 + half; i += 2) {
                uint32_t step = field.power[i % (q - 1)];
                meet(list, node, column + finite_field_add(&field, node % q, step));
            }
        }
    }
    for (uint32_t x = 0; x < q; x++)
        for (uint32_t m = 0; m < q; m++)
            for (uint32_t c = 0; c < q; c++) {
                uint32_t y = finite_field_add(&field, finite_field_multiply(&field, m, x), c);
                link_list_add(list, x * q + y, q * q + m * q + c);
            }
    return OK;
}
