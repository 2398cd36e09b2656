#include "cli/show/bracket_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Tolerance of bounds: 0.2 that was computed as slightly less is still printed as 0.2. */
static const double rounding = 1e-9;

enum { NUMBER_SIZE = 32, DIGITS_MAX = 12 };

/* Returns the value of the last of that many digits of a number above 0. */
static double last_digit(double value, int digits)
{
    return pow(10, floor(log10(value)) + 1 - digits);
}

static void print_down(char out[NUMBER_SIZE], double value, int digits)
{
    snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
    if (strtod(out, NULL) > value * (1 + rounding))
        snprintf(out, NUMBER_SIZE, "%.*g", digits, value - last_digit(value, digits));
}

static void print_up(char out[NUMBER_SIZE], double value, int digits)
{
    snprintf(out, NUMBER_SIZE, "%.*g", digits, value);
    if (strtod(out, NULL) < value * (1 - rounding))
        snprintf(out, NUMBER_SIZE, "%.*g", digits, value + last_digit(value, digits));
}

void bracket_text(struct text *out, double lower, double upper, int digits)
{
    char low[NUMBER_SIZE], high[NUMBER_SIZE];
    if (upper - lower <= rounding * upper) {
        text_printf(out, "%.*g", digits, upper);
        return;
    }
    while (digits < DIGITS_MAX && upper - lower <= 2 * last_digit(upper, digits))
        digits++;
    print_down(low, lower, digits);
    print_up(high, upper, digits);
    text_printf(out, "%s to %s", low, high);
}

void bracket_text_upper(struct text *out, double upper, int digits)
{
    char high[NUMBER_SIZE];
    print_up(high, upper, digits);
    text_puts(out, high);
}
