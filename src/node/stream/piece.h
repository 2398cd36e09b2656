#pragma once
/* piece: packets of streams whose bytes are in the memory of a service (packet.h). Pure.
 *
 * Such a packet has no check yet. The port that sends it calls one of these functions, which digest
 * the bytes, in the same pass in which they are copied if possible, write the checks into the
 * packet and tell the stream. A packet without a piece is left as it is. */

#include "node/packet.h"

/* Writes all bytes of the packet to `to`, which has room for packet->size of them. Those that are
 * not in memory are zeroes. */
void piece_write(struct packet *packet, uint8_t *to);
/* Copies the piece into the packet's own buffer, which has room for it. */
void piece_gather(struct packet *packet);
/* Writes only the checks: the port copies the piece itself. */
void piece_seal(struct packet *packet);
