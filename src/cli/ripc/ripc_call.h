#pragma once
/* ripc_call: the common parts of the ripc commands: options that describe a
 * context, reading of ids and sizes, and waits that end at Ctrl-C. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/core/call.h"
#include "transport/domain.h"

/* The options of all commands that open a context. */
/* clang-format off */
#define RIPC_CALL_OPTIONS                                                                          \
    {"domain", "WORD", "contexts of different domains do not see each other (WEFT_DOMAIN)"},       \
    {"names", "LIST", "host, multicast[:GROUP:PORT], file:PATH, directory (WEFT_NAMES)"},          \
    {"transports", "LIST", "any of shm, fabric, udp, routed (WEFT_TRANSPORTS)"},                   \
    {"address", "IP", "our address for peers on other hosts (WEFT_ADDRESS; none)"},                \
    {"port", "N", "our port at that address, for files of names (WEFT_PORT; a free one)"},         \
    {"provider", "WORD", "libfabric's provider (WEFT_PROVIDER; tcp)"},                             \
    {"node", "SOCKET", "socket of our server's node, D/node-ID.socket (WEFT_NODE; none)"},         \
    {"secret-file", "FILE", "file with the secret of the cluster (WEFT_SECRET_FILE; none)"}
/* clang-format on */

/* Opens a context according to the options; `config` has further settings of the
 * command, or is NULL. The caller closes it. */
MUST_CHECK enum err ripc_call_open(const struct call *call, const struct ripc_config *config,
                                   struct ripc **ripc, struct why *why);

/* Fails with `what: why` for a negative result of ripc. */
MUST_CHECK enum err ripc_call_fail(struct why *why, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed send to `to`. It mentions claims that were ignored because
 * of their seal, because one of them may be for `to`. */
MUST_CHECK enum err ripc_call_fail_to(struct why *why, struct ripc *ripc, ripc_id to, int error);

/* Finds the domain's folder from the options and the environment, and makes it if
 * needed; the caller calls domain_leave. Also returns the domain's name if `domain`
 * is not NULL. */
MUST_CHECK enum err ripc_call_domain(const struct call *call, char folder[DOMAIN_PATH_MAX],
                                     const char **domain, struct why *why);

/* Reads an id: decimal, or hexadecimal after 0x; 0 is no id and refused. */
MUST_CHECK enum err ripc_call_id(const char *word, ripc_id *id, struct why *why);

/* Reads a size in bytes: a whole number, with K, M or G for powers of 1024. */
MUST_CHECK enum err ripc_call_size(const struct call *call, const char *name, uint64_t low,
                                   uint64_t high, uint64_t *value, struct why *why);

/* Room for an id as text: small ones in decimal, large ones in hexadecimal. */
#define RIPC_ID_TEXT 20
const char *ripc_id_text(ripc_id id, char text[RIPC_ID_TEXT]);

/* Room for the number of a context as text: sixteen hexadecimal digits, as in its file names. */
#define RIPC_CONTEXT_TEXT 17
const char *ripc_context_text(uint64_t context, char text[RIPC_CONTEXT_TEXT]);

/* Returns the deadline of one wait in a loop that checks stop_asked in between. */
int64_t ripc_call_turn(int64_t deadline);

/* Tells whether a result means "nothing yet", so that the loop continues. */
bool ripc_call_quiet(int result);

/* Sleeps until that time, or until the command is asked to end. */
void ripc_call_sleep(int64_t until);

/* Reads the option "seconds" as a deadline; RIPC_FOREVER if it is not given. */
MUST_CHECK enum err ripc_call_seconds(const struct call *call, int64_t *deadline, struct why *why);

/* Binds `id`, or, with `group`, a random id that joins it. */
MUST_CHECK enum err ripc_call_bind(struct ripc *ripc, ripc_id id, bool group,
                                   struct ripc_service **service, struct why *why);
