#include "sim/store/store_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "services/store/service/store.h"
#include "wire/store_parts.h"

static int send(struct weft_simulation *simulation, uint32_t program, uint64_t ticket,
                const uint8_t *bytes, size_t size)
{
    assert(size > 1);
    return weft_sim_send(simulation, program, store_service.name, ticket, bytes, (uint32_t)size);
}

int pieces_send(struct weft_simulation *simulation, uint32_t program, uint64_t ticket,
                const struct store_request *request)
{
    static uint8_t bytes[WEFT_MESSAGE_MAX];
    bool large = request->value_size > STORE_SINGLE_MAX;
    bytes[0] = large ? STORE_CALL_OPEN : STORE_CALL_REQUEST;
    size_t size = large ? store_request_write_head(request, bytes + 1, sizeof bytes - 1)
                        : store_request_write(request, bytes + 1, sizeof bytes - 1);
    return send(simulation, program, ticket, bytes, 1 + size);
}

int pieces_send_parts(struct weft_simulation *simulation, uint32_t program, uint64_t ticket,
                      const struct store_request *request, uint64_t upload)
{
    static uint8_t bytes[WEFT_MESSAGE_MAX];
    int result = 0;
    for (uint32_t at = 0; !result && at < request->value_size;) {
        struct store_part part = {
            .name = upload,
            .offset = at,
            .again = request->again,
            .patience = request->patience,
            .size = store_part_size(request->value_size, at),
            .bytes = (const uint8_t *)request->value + at,
        };
        at += part.size;
        part.last = at == request->value_size;
        bytes[0] = STORE_CALL_PART;
        size_t size = store_part_write(&part, bytes + 1, sizeof bytes - 1);
        result = send(simulation, program, ticket, bytes, 1 + size);
    }
    return result;
}

static enum pieces_news take_part(struct store_pieces *pieces, const struct store_saying *part,
                                  struct store_answer *answer)
{
    uint32_t all = part->answer.value_size;
    if (!pieces->value) {
        pieces->value = array_new(all, 1);
        assert(pieces->value);
    }
    if (part->offset != pieces->filled) /* nothing is lost in a simulated socket */
        return PIECES_WRONG;
    memcpy(pieces->value + part->offset, part->bytes, part->size);
    pieces->filled += part->size;
    *answer = part->answer;
    answer->value = pieces->value;
    return pieces->filled == all ? PIECES_ANSWER : PIECES_MORE;
}

enum pieces_news pieces_hear(struct store_pieces *pieces, const void *bytes, uint32_t size,
                             struct store_answer *answer, uint64_t *upload)
{
    struct store_saying saying;
    if (!store_is_saying(bytes, size))
        return store_answer_read(answer, bytes, size) ? PIECES_ANSWER : PIECES_WRONG;
    if (!store_saying_read(&saying, bytes, size))
        return PIECES_WRONG;
    switch (saying.word) {
    case STORE_SAYS_SEND:
        *upload = saying.name;
        return PIECES_SEND;
    case STORE_SAYS_WAIT:
        return PIECES_MORE;
    case STORE_SAYS_AGAIN:
        return PIECES_AGAIN;
    case STORE_SAYS_PART:
        break;
    }
    return take_part(pieces, &saying, answer);
}

void pieces_fini(struct store_pieces *pieces)
{
    free(pieces->value);
    *pieces = (struct store_pieces){0};
}
