#pragma once
/* spec: parses a topology specification, `generator:parameters`. Generators read their parameters
 * with these functions. Every error begins with the whole spec, so that a person sees which spec is
 * wrong. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SPEC_VALUE_SIZE 96

/* One `key=value`; the caller fills in the key. */
struct spec_field {
    const char *key;
    bool given;
    char value[SPEC_VALUE_SIZE];
};

/* The text after the colon. */
const char *spec_parameters(const char *spec);

/* Reads `key=value,key=value`. Refuses unknown and repeated keys and empty fields. */
MUST_CHECK enum err spec_fields(const char *spec, struct spec_field *fields, size_t count,
                                struct why *why);

/* Reads the field as a number within the range; *value keeps its default if the field is not
 * given. */
MUST_CHECK enum err spec_uint(const char *spec, const struct spec_field *field, uint64_t low,
                              uint64_t high, uint64_t *value, struct why *why);

/* Fails if the field is not given. */
MUST_CHECK enum err spec_required(const char *spec, const struct spec_field *field,
                                  struct why *why);

/* Reads 1 to `most` sizes, as in "3x4x5", each at least 1, and the fields that may follow them
 * after a comma. Refuses sizes whose product is above GRAPH_NODE_MAX. */
MUST_CHECK enum err spec_sizes(const char *spec, uint32_t *sizes, uint32_t *count, uint32_t most,
                               struct spec_field *fields, size_t field_count, struct why *why);

/* Reads exactly `count` numbers, as in "50,7,2", and the fields that may follow them after a comma.
 * An error says "expected" and then `form`. */
MUST_CHECK enum err spec_numbers(const char *spec, uint32_t *numbers, uint32_t count,
                                 const char *form, struct spec_field *fields, size_t field_count,
                                 struct why *why);

/* Writes "name:3x4x5", the canonical form of sizes, to a buffer of SPEC_SIZE bytes. */
void spec_write_sizes(char *text, const char *name, const uint32_t *sizes, uint32_t count);
