#pragma once
/* bootstrap_wire: the messages of servers without coordinates, as bytes, and the text file in which
 * a server saves its coordinate. Pure. docs/protocol.md has the layouts. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/commission/placement.h"

enum bootstrap_type { BOOTSTRAP_HELLO = 1, BOOTSTRAP_ROW };

/* Sent over a cable to the unknown neighbour at its other end. */
struct bootstrap_hello {
    uint64_t serial;
    uint32_t port;   /* by which this message left */
    uint64_t digest; /* of the sender's rows and their versions */
};

/* The hellos that one server receives; all servers pass the row on. */
struct bootstrap_row {
    struct placement_report report;
    uint64_t version; /* counted by the owner; the highest is valid */
    uint64_t agreed;  /* digest of all reports, once the owner believes that it has them all; 0:
                       * not yet */
};

#define BOOTSTRAP_HELLO_SIZE 32
#define BOOTSTRAP_ROW_HEAD   44
#define BOOTSTRAP_ROW_PORT   9
#define BOOTSTRAP_SIZE_MAX   (BOOTSTRAP_ROW_HEAD + PORT_MAX * BOOTSTRAP_ROW_PORT)

void bootstrap_hello_write(const struct bootstrap_hello *hello, uint8_t out[BOOTSTRAP_HELLO_SIZE]);
size_t bootstrap_row_write(const struct bootstrap_row *row, uint8_t out[BOOTSTRAP_SIZE_MAX]);

/* The type of an intact message; 0: damaged, or of another kind or version. */
unsigned bootstrap_type(const uint8_t *bytes, size_t size);
/* Read an intact message of that type; false: it contains impossible numbers. */
bool bootstrap_hello_read(struct bootstrap_hello *hello, const uint8_t *bytes, size_t size);
bool bootstrap_row_read(struct bootstrap_row *row, const uint8_t *bytes, size_t size);

/* The file in which a server saves its coordinate permanently: four lines, the last a check. */
#define BOOTSTRAP_TEXT_SIZE 128
size_t bootstrap_text_write(uint64_t serial, node_id server, char out[BOOTSTRAP_TEXT_SIZE]);
/* Refuses a text that is damaged, belongs to another server, or names a server outside a plan of
 * that many. */
MUST_CHECK enum err bootstrap_text_read(node_id *server, uint64_t serial, uint32_t server_count,
                                        const char *text, size_t size, struct why *why);
