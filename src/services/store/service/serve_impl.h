#pragma once
/* What the parts of requests at the leader share: serve.c has their course; alter.c what they
 * write; reply.c how they end. */

#include "services/store/service/store_impl.h"

/* ---- reply.c ---- */

void op_free(struct op *op); /* without an answer */
void op_end(struct op *op, const struct store_answer *answer);
void op_refuse(struct op *op, enum store_status status);
/* The answer is true as long as this server leads: the request ends with it when that is sure. If
 * it refuses a request that was sent again, all in-sync servers remember it before that. */
void op_confirm(struct op *op, const struct store_answer *answer);
/* May another copy of the request be on its way to a server that leads later? */
bool op_has_copies(const struct op *op);
/* The request with that ticket is to be asked at `server`; WEFT_NOBODY: again later. */
void op_retry(struct store *store, weft_server origin, uint64_t ticket, uint32_t group,
              weft_server server);
/* Another server has to answer it. */
void op_pass(struct op *op);

/* ---- alter.c ---- */

/* Each begins a write, or ends the request with a refusal. */

/* The holder, which may be NULL, has the value. */
void op_write(struct op *op, enum record_kind kind, const void *value, uint32_t size,
              struct buffer *holder);
/* With the present value, if the request needs it. */
void op_change(struct op *op, const void *value, uint32_t size);
/* Writes op->answer, which refuses the request. */
void op_write_refusal(struct op *op);
/* Removes a key that has expired; then the request begins again. */
void op_remove(struct op *op);
/* Writes what is there again, for servers that learn. */
void op_rewrite(struct op *op, const struct record *part);
void op_too_large(struct op *op);
bool op_needs_value(const struct op *op);
/* For sure, before the value is read. */
bool op_grows_too_large(const struct op *op);
