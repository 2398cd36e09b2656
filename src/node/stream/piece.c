#include "node/stream/piece.h"

#include "base/digest.h"
#include "node/stream/segment.h"

static void sealed(struct packet *packet, uint64_t digest)
{
    segment_seal(packet_payload(packet), digest);
    *packet->digest = digest;
}

void piece_write(struct packet *packet, uint8_t *to)
{
    uint32_t rest = packet->size - packet->stored;
    if (packet->piece)
        sealed(packet, digest_copy(to + packet->stored, packet->piece, rest));
    else if (rest)
        memset(to + packet->stored, 0, rest);
    /* The head comes last: only now it has its checks. */
    memcpy(to, packet->bytes, packet->stored);
}

void piece_gather(struct packet *packet)
{
    if (!packet->piece)
        return;
    uint32_t rest = packet->size - packet->stored;
    sealed(packet, digest_copy(packet->bytes + packet->stored, packet->piece, rest));
    packet->stored = packet->size;
    packet->piece = NULL;
    packet->order = 0;
}

void piece_seal(struct packet *packet)
{
    if (packet->piece)
        sealed(packet, digest_bytes(packet->piece, packet->size - packet->stored));
}
