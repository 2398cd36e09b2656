#pragma once
/* ripc_call: what the ripc commands have in common: the options that describe
 * a context, ids and sizes as people write them, and waits that end at Ctrl-C. */

#include <stdbool.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/core/call.h"
#include "transport/domain.h"

/* Of every command that opens a context; the environment's variables beside. */
/* clang-format off */
#define RIPC_CALL_OPTIONS                                                                          \
    {"domain", "WORD", "contexts of other domains do not exist (WEFT_DOMAIN; default)"},           \
    {"names", "LIST", "host, multicast[:GROUP:PORT], file:PATH, directory (WEFT_NAMES; host)"},    \
    {"transports", "LIST", "of shm, fabric, udp and routed (WEFT_TRANSPORTS; shm)"},               \
    {"address", "IP", "ours, for peers on other hosts (WEFT_ADDRESS; none)"},                      \
    {"provider", "WORD", "libfabric's provider (WEFT_PROVIDER; tcp)"},                             \
    {"node", "SOCKET", "of our server's node: D/node-ID.socket (WEFT_NODE; none)"},                \
    {"secret-file", "FILE", "what the cluster's members share (WEFT_SECRET_FILE; none)"}
/* clang-format on */

/* Opens a context as the options say; `config` holds what the command itself
 * wants, or is NULL. The caller closes it. */
MUST_CHECK enum err ripc_call_open(const struct call *call, const struct ripc_config *config,
                                   struct ripc **ripc, struct why *why);

/* `what: why` for a negative result of ripc. */
MUST_CHECK enum err ripc_call_fail(struct why *why, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of a send to `to`. Claims that were ignored because of their seal
 * are told: they may be of the one that was looked for. */
MUST_CHECK enum err ripc_call_fail_to(struct why *why, struct ripc *ripc, ripc_id to, int error);

/* The domain's folder as the options and the environment say; made if needed,
 * so the caller leaves it with domain_leave. Its name is returned if wanted. */
MUST_CHECK enum err ripc_call_domain(const struct call *call, char folder[DOMAIN_PATH_MAX],
                                     const char **domain, struct why *why);

/* Decimal, or hexadecimal after 0x; 0 is nobody and refused. */
MUST_CHECK enum err ripc_call_id(const char *word, ripc_id *id, struct why *why);

/* An option's bytes: a whole number, K, M or G after it for powers of 1024. */
MUST_CHECK enum err ripc_call_size(const struct call *call, const char *name, uint64_t low,
                                   uint64_t high, uint64_t *value, struct why *why);

/* Room for an id as people write it: small ones decimal, random ones in hex. */
#define RIPC_ID_TEXT 20
const char *ripc_id_text(ripc_id id, char text[RIPC_ID_TEXT]);

/* A context's number is random: sixteen digits, as in the names of its files. */
#define RIPC_CONTEXT_TEXT 17
const char *ripc_context_text(uint64_t context, char text[RIPC_CONTEXT_TEXT]);

/* The deadline of one wait of a loop that looks at stop_asked between. */
int64_t ripc_call_turn(int64_t deadline);

/* A result that says "nothing yet", so that the loop goes on. */
bool ripc_call_quiet(int result);

/* Sleeps until the moment, or until asked to stop. */
void ripc_call_sleep(int64_t until);

/* The option "seconds" as a deadline; RIPC_FOREVER if it was not given. */
MUST_CHECK enum err ripc_call_seconds(const struct call *call, int64_t *deadline, struct why *why);

/* Binds `id`, or, with `group`, a random id that joins it. */
MUST_CHECK enum err ripc_call_bind(struct ripc *ripc, ripc_id id, bool group,
                                   struct ripc_service **service, struct why *why);
