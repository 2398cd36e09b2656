#pragma once
/* store_pieces: how a simulated client sends and receives large values, in parts
 * (wire/store_parts.h). */

#include <weft/simulation.h>

#include "wire/store.h"

/* The value of an answer that comes in parts. */
struct store_pieces {
    uint8_t *value; /* owned; NULL: none has come */
    uint32_t filled;
};

enum pieces_news {
    PIECES_ANSWER, /* the answer is whole */
    PIECES_MORE,   /* not yet */
    PIECES_SEND,   /* the server wants the parts: pieces_send_parts */
    PIECES_AGAIN,  /* nothing happened */
    PIECES_WRONG,  /* nonsense */
};

/* As weft_sim_send. */
int pieces_send(struct weft_simulation *simulation, uint32_t program, uint64_t ticket,
                const struct store_request *request);
int pieces_send_parts(struct weft_simulation *simulation, uint32_t program, uint64_t ticket,
                      const struct store_request *request, uint64_t upload);
/* A message of the server with that ticket. The answer borrows the value. PIECES_SEND: *upload is
 * what the parts are for. */
enum pieces_news pieces_hear(struct store_pieces *pieces, const void *bytes, uint32_t size,
                             struct store_answer *answer, uint64_t *upload);
void pieces_fini(struct store_pieces *pieces);
