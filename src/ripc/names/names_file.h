#pragma once
/* names_file: the text in which an operator says where ids are.
 *
 *     ID ADDRESS:PORT            a service
 *     ID ADDRESS:PORT MEMBER     a member of a group
 *
 * Ids are decimal, or hexadecimal after 0x; an IPv6 address stands in brackets;
 * # begins a comment. Which context is there is not known until it is asked. */

#include <stddef.h>

#include "base/err.h"
#include "ripc/names/names.h"

#define NAMES_FILE_SIZE_MAX (16u << 20)

struct names_file {
    struct claim *claims; /* owned; by id, then by member; context and incarnation are 0 */
    size_t count;
};

/* -EINVAL with the line, -ENOMEM. The text need not end in a zero byte. */
MUST_CHECK int names_file_read(struct names_file *file, const char *text, size_t size,
                               const char *name, struct why *why);
void names_file_fini(struct names_file *file);

/* The index of the first claim of an id, or of the next higher one, or count. */
size_t names_file_find(const struct names_file *file, uint64_t id);
