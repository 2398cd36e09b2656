#pragma once
/* fabric_wire: the messages between two fabric transports.
 *
 * Every message begins with the same header, in network order:
 *   u64 pipe      the receiver's id of the pipe: random, so hard to guess
 *   u32 sequence  counts the messages of the pipe in this direction: a gap means loss
 *   u16 kind      a frame, a return, or a probe
 *   u16 count     of acknowledgements that follow, in a return
 *   u32 credit    number of further frames that may be sent, in a return
 *   u32 size      of the body, in a frame
 * A probe is only a header: its pipe is a token that was announced over the lifeline, and not 0;
 * the other fields are 0. In a frame its head and its body follow, in a return the acknowledgements
 * (u64 token, u64 status). A message has exactly that size. */

#include <stdbool.h>

#include "transport/transport.h"

#define FABRIC_HEADER_SIZE 24
#define FABRIC_FRAME_SIZE  (FABRIC_HEADER_SIZE + (int)sizeof(struct frame_head))
#define FABRIC_ACK_SIZE    16
#define FABRIC_ACKS_MAX    64
#define FABRIC_MESSAGE_MAX (FABRIC_FRAME_SIZE + FRAME_BODY_MAX)

enum fabric_kind { FABRIC_FRAME = 0x5701, FABRIC_RETURN = 0x5702, FABRIC_PROBE = 0x5703 };

struct fabric_message {
    uint64_t pipe;
    uint32_t sequence;
    uint16_t kind;
    uint16_t count;
    uint32_t credit;
    uint32_t size;
};

void fabric_message_write(const struct fabric_message *message, uint8_t out[FABRIC_HEADER_SIZE]);

/* False if these bytes are not exactly one message. */
bool fabric_message_read(struct fabric_message *message, const uint8_t *data, size_t size);

void fabric_ack_write(const struct acknowledgement *ack, uint8_t out[FABRIC_ACK_SIZE]);
void fabric_ack_read(struct acknowledgement *ack, const uint8_t in[FABRIC_ACK_SIZE]);

/* The head of a frame travels as it is in memory, except for its integers. */
void fabric_head_write(const struct frame_head *head, uint8_t out[sizeof(struct frame_head)]);
void fabric_head_read(struct frame_head *head, const uint8_t in[sizeof(struct frame_head)]);
