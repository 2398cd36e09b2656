#pragma once
/* names_file: the text file in which an operator writes where ids are.
 *
 *     ID ADDRESS:PORT            a service
 *     ID ADDRESS:PORT MEMBER     a member of a group
 *
 * Ids are decimal, or hexadecimal after 0x. An IPv6 address is in brackets. A comment starts with
 * #. The context at an address is unknown until it is connected. */

#include <stddef.h>

#include "base/err.h"
#include "ripc/names/names.h"

#define NAMES_FILE_SIZE_MAX (16u << 20)

struct names_file {
    struct claim *claims; /* owned; sorted by id, then by member; context and incarnation are 0 */
    size_t count;
};

/* -EINVAL with the line, or -ENOMEM. The text need not end with a zero byte. */
MUST_CHECK int names_file_read(struct names_file *file, const char *text, size_t size,
                               const char *name, struct why *why);
void names_file_fini(struct names_file *file);

/* Returns the index of the first claim of an id, or of the next higher one, or count. */
size_t names_file_find(const struct names_file *file, uint64_t id);
