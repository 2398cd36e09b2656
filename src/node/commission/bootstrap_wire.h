#pragma once
/* bootstrap_wire: what servers without coordinates tell each other, as bytes, and the text in which
 * a server keeps its coordinate. Pure. docs/protocol.md has the layouts. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/commission/placement.h"

enum bootstrap_type { BOOTSTRAP_HELLO = 1, BOOTSTRAP_ROW };

/* Over a cable to whoever is there. */
struct bootstrap_hello {
    uint64_t serial;
    uint32_t port;   /* the one that this left by */
    uint64_t digest; /* of the rows that the sender has, with their versions */
};

/* What one server hears; it is passed on by all. */
struct bootstrap_row {
    struct placement_report report;
    uint64_t version; /* the owner counts; the highest holds */
    uint64_t agreed; /* digest of all reports, once the owner thinks that it has them; 0: not yet */
};

#define BOOTSTRAP_HELLO_SIZE 32
#define BOOTSTRAP_ROW_HEAD   44
#define BOOTSTRAP_ROW_PORT   9
#define BOOTSTRAP_SIZE_MAX   (BOOTSTRAP_ROW_HEAD + PORT_MAX * BOOTSTRAP_ROW_PORT)

void bootstrap_hello_write(const struct bootstrap_hello *hello, uint8_t out[BOOTSTRAP_HELLO_SIZE]);
size_t bootstrap_row_write(const struct bootstrap_row *row, uint8_t out[BOOTSTRAP_SIZE_MAX]);

/* The type of a message that is whole; 0: damaged, or of another kind or version. */
unsigned bootstrap_type(const uint8_t *bytes, size_t size);
/* Of such a message of that type; false: its numbers cannot be. */
bool bootstrap_hello_read(struct bootstrap_hello *hello, const uint8_t *bytes, size_t size);
bool bootstrap_row_read(struct bootstrap_row *row, const uint8_t *bytes, size_t size);

/* The file in which a server keeps its coordinate for life: four lines, the last a check. */
#define BOOTSTRAP_TEXT_SIZE 128
size_t bootstrap_text_write(uint64_t serial, node_id server, char out[BOOTSTRAP_TEXT_SIZE]);
/* Refuses what is damaged, another server's, or outside a plan of that many servers. */
MUST_CHECK enum err bootstrap_text_read(node_id *server, uint64_t serial, uint32_t server_count,
                                        const char *text, size_t size, struct why *why);
