/* Tests how a program attaches to its node: request and answer are refused, or are exactly what our
 * writer writes. After a valid request the input lists what the program writes into the shared
 * memory, as positions and words: the node maps the memory, takes its messages and answers. Nothing
 * in it may lead the node out of the memory or out of its own buffer (a separate block, for
 * sanitizers). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/memfile.h"
#include "transport/ring/channel.h"
#include "transport/ring/ring.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    BELLS = 256, /* before the two rings, as channel.c lays it out */
    TAKES_MAX = 64,
    WRITES_MAX = 512,
};

static void message_try(const uint8_t *data, size_t size)
{
    uint8_t again[ATTACH_ASK_SIZE + ATTACH_ANSWER_SIZE + ATTACH_HEAD_SIZE];
    struct attach_ask ask;
    struct attach_answer answer;
    struct attach_head head;
    int result = attach_ask_read(&ask, data, size);
    assert(result == 0 || result == -EPROTO || result == -EPROTONOSUPPORT);
    if (!result) {
        assert(size == ATTACH_ASK_SIZE);
        attach_ask_write(&ask, again);
        assert(!memcmp(again, data, size));
    }
    if (!attach_answer_read(&answer, data, size) && size != 4) { /* 4: of version 1 */
        assert(size == ATTACH_ANSWER_SIZE);
        attach_answer_write(&answer, again);
        assert(!memcmp(again, data, size));
    }
    if (!attach_head_read(&head, data, size)) {
        assert(size >= ATTACH_HEAD_SIZE);
        attach_head_write(&head, again);
        assert(!memcmp(again, data, ATTACH_HEAD_SIZE));
    }
}

/* Takes messages as the client socket does, alternating with answers. */
static void channel_use(struct channel *channel)
{
    uint8_t *bytes = malloc(CHANNEL_MESSAGE_MAX);
    assert(bytes);
    const struct iovec piece = {bytes, 100};
    memset(bytes, 0, CHANNEL_MESSAGE_MAX);
    int result = 1;
    for (unsigned i = 0; i < TAKES_MAX && result > 0; i++) {
        struct channel_message message = {0};
        result = channel_take(channel, &message, bytes);
        assert(result == 1 || result == 0 || result == -EPROTO);
        assert(message.size <= CHANNEL_MESSAGE_MAX);
        int said = channel_say(channel, &message.head, &piece, 1);
        channel_want_room(channel, i & 1);
        (void)channel_has_room(channel);
        assert(said == 0 || said == -EAGAIN || said == -EPROTO);
    }
    free(bytes);
}

/* The memory as the program left it; its size matches the shape if that is valid. */
static void memory_try(const struct attach_ask *ask, struct reader *in, int socket)
{
    const struct ring_shape shape = {ask->slots, ask->bytes};
    bool small = ring_shape_valid(&shape) && ask->slots <= 1024 && ask->bytes <= 1024 * 1024;
    struct memfile file;
    struct channel *channel;
    int result = memfile_open(&file, "fuzz-attach", small ? BELLS + 2 * ring_size(&shape) : 4096);
    assert(result == 0);
    for (unsigned i = 0; i < WRITES_MAX && in->left; i++) {
        size_t at = read_u16(in) % (file.size / sizeof(uint64_t)) * sizeof(uint64_t);
        uint64_t word = read_u64(in);
        memcpy((uint8_t *)file.base + at, &word, sizeof word);
    }
    result = channel_map(&channel, memfile_share(&file, 1), ask, socket);
    assert(result == (small ? 0 : -EINVAL));
    if (small) {
        channel_use(channel);
        channel_close(channel);
    }
    memfile_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attach_ask ask;
    int sockets[2];
    message_try(data, size);
    if (size < ATTACH_ASK_SIZE || attach_ask_read(&ask, data, ATTACH_ASK_SIZE))
        return 0;
    struct reader in = reader_make(data + ATTACH_ASK_SIZE, size - ATTACH_ASK_SIZE);
    assert(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets));
    memory_try(&ask, &in, sockets[0]);
    close(sockets[0]);
    close(sockets[1]);
    return 0;
}
