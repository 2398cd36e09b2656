#pragma once
/* finite_field: arithmetic in GF(q), for the graphs of field_graph.h.
 *
 * An element is a number below q whose digits in base p are the coefficients of a polynomial over
 * Z_p; the numbers 0 and 1 are the elements 0 and 1. Multiplication uses logarithms to the base x,
 * a primitive element. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define FINITE_FIELD_ORDER_MAX 256

struct finite_field {
    uint32_t order;          /* q = characteristic to the power of the degree */
    uint32_t characteristic; /* p */
    uint32_t degree;
    uint16_t power[FINITE_FIELD_ORDER_MAX];     /* [i]: x to the i, for i below q - 1 */
    uint16_t logarithm[FINITE_FIELD_ORDER_MAX]; /* inverse of power; [0] is not used */
};

/* Refuses an order that is not a prime power from 2 to FINITE_FIELD_ORDER_MAX. */
MUST_CHECK enum err finite_field_init(struct finite_field *field, uint32_t order, struct why *why);

uint32_t finite_field_add(const struct finite_field *field, uint32_t a, uint32_t b);
uint32_t finite_field_subtract(const struct finite_field *field, uint32_t a, uint32_t b);
uint32_t finite_field_multiply(const struct finite_field *field, uint32_t a, uint32_t b);
uint32_t finite_field_divide(const struct finite_field *field, uint32_t a, uint32_t b); /* b != 0 */
uint32_t finite_field_raise(const struct finite_field *field, uint32_t a, uint32_t exponent);
