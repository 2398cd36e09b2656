#pragma once
/* payload: the contents of a message in a measurement. The sender writes the
 * number of the message into the first word. The receiver reads a word of every
 * cache line, so that a side that delivers in place also pays for fetching the
 * data, as a side that copies does. The sum proves that all of it arrived. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAYLOAD_LINE 64
#define PAYLOAD_MIN  16
#define PAYLOAD_HUGE ((size_t)2 << 20)

/* Allocates memory for messages, in huge pages if the system has them, because
 * libraries that let the kernel copy between processes pay for every page.
 * Returns NULL if there is none. */
static inline void *payload_memory(size_t size)
{
    size = (size + PAYLOAD_HUGE - 1) / PAYLOAD_HUGE * PAYLOAD_HUGE;
    void *memory = aligned_alloc(PAYLOAD_HUGE, size ? size : PAYLOAD_HUGE);
    if (memory)
        (void)madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

static inline void payload_fill(void *data, size_t size)
{
    unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + 1);
}

static inline void payload_number(void *data, uint64_t number)
{
    memcpy(data, &number, sizeof number);
}

/* Returns the sum of the first word of every line and of the last word. */
static inline uint64_t payload_sum(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t sum = 0, word;
    for (size_t at = 0; at + sizeof word <= size; at += PAYLOAD_LINE) {
        memcpy(&word, bytes + at, sizeof word);
        sum += word;
    }
    memcpy(&word, bytes + size - sizeof word, sizeof word);
    return sum + word;
}

/* Tells whether this is message `number`, complete. `sum` is payload_sum of message 0. */
static inline bool payload_good(const void *data, size_t size, uint64_t sum, uint64_t number)
{
    return payload_sum(data, size) == sum + number;
}

/* Makes message 0; returns its sum. */
static inline uint64_t payload_make(void *data, size_t size)
{
    payload_fill(data, size);
    payload_number(data, 0);
    return payload_sum(data, size);
}
