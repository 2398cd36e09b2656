#include "topology/generate/finite_field.h"

#include "base/check.h"

/* Sets order, characteristic and degree; false if the order is not a prime power. */
static bool order_split(struct finite_field *field, uint32_t order)
{
    if (order < 2 || order > FINITE_FIELD_ORDER_MAX)
        return false;
    uint32_t prime = 2;
    while (order % prime)
        prime++;
    *field = (struct finite_field){.order = order, .characteristic = prime};
    for (; order % prime == 0; order /= prime)
        field->degree++;
    return order == 1;
}

/* Digit by digit in base p: a + factor * b. */
static uint32_t combine(const struct finite_field *field, uint32_t a, uint32_t b, uint32_t factor)
{
    uint32_t p = field->characteristic, sum = 0;
    for (uint32_t unit = 1; unit < field->order; unit *= p) {
        sum += (a % p + factor * (b % p)) % p * unit;
        a /= p;
        b /= p;
    }
    return sum;
}

/* x times a, where x to the power of the degree equals `tail`: a digit that overflows at the top is
 * replaced by that many tails. */
static uint32_t times_x(const struct finite_field *field, uint32_t a, uint32_t tail)
{
    uint32_t top = field->order / field->characteristic;
    return combine(field, a % top * field->characteristic, tail, a / top);
}

/* Fills the tables if x is primitive for this tail. */
static bool tables_fill(struct finite_field *field, uint32_t tail)
{
    uint32_t at = 1;
    for (uint32_t i = 0; i < field->order - 1; i++) {
        if (at == 0 || (i > 0 && at == 1))
            return false;
        field->power[i] = (uint16_t)at;
        field->logarithm[at] = (uint16_t)i;
        at = times_x(field, at, tail);
    }
    return at == 1;
}

enum err finite_field_init(struct finite_field *field, uint32_t order, struct why *why)
{
    if (!order_split(field, order))
        return why_fail(
            why, ERR_USAGE,
            "there is no finite field of order %u: the order must be a prime power up to %u", order,
            FINITE_FIELD_ORDER_MAX);
    for (uint32_t tail = 1; tail < order; tail++)
        if (tables_fill(field, tail))
            return OK;
    assert_unreachable(); /* every finite field has a primitive polynomial */
}

uint32_t finite_field_add(const struct finite_field *field, uint32_t a, uint32_t b)
{
    assert(a < field->order && b < field->order);
    return combine(field, a, b, 1);
}

uint32_t finite_field_subtract(const struct finite_field *field, uint32_t a, uint32_t b)
{
    assert(a < field->order && b < field->order);
    return combine(field, a, b, field->characteristic - 1);
}

uint32_t finite_field_multiply(const struct finite_field *field, uint32_t a, uint32_t b)
{
    assert(a < field->order && b < field->order);
    if (a == 0 || b == 0)
        return 0;
    return field->power[(field->logarithm[a] + field->logarithm[b]) % (field->order - 1)];
}

uint32_t finite_field_divide(const struct finite_field *field, uint32_t a, uint32_t b)
{
    assert(a < field->order && b > 0 && b < field->order);
    if (a == 0)
        return 0;
    uint32_t turn = field->order - 1;
    return field->power[(field->logarithm[a] + turn - field->logarithm[b]) % turn];
}

uint32_t finite_field_raise(const struct finite_field *field, uint32_t a, uint32_t exponent)
{
    assert(a < field->order);
    if (a == 0)
        return exponent == 0;
    uint64_t logarithm = (uint64_t)field->logarithm[a] * exponent;
    return field->power[logarithm % (field->order - 1)];
}
