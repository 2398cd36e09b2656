#include "node/stream/assembly.h"

#include <string.h>

#include "base/check.h"

static uint32_t place_of(const struct assembly *assembly, uint64_t sequence)
{
    return (uint32_t)sequence & (assembly->window - 1);
}

static bool is_kept(const struct assembly *assembly, uint64_t sequence)
{
    uint32_t place = place_of(assembly, sequence);
    return assembly->words[place / 64] >> place % 64 & 1;
}

void assembly_init(struct assembly *assembly, struct assembly_segment *segments, uint8_t *memory,
                   uint32_t window)
{
    assert(window && window <= SEGMENT_WINDOW_MAX && !(window & (window - 1)));
    *assembly = (struct assembly){.segments = segments, .memory = memory, .window = window};
}

enum assembly_verdict assembly_judge(struct assembly *assembly, uint64_t sequence)
{
    if (sequence >= assembly->base + assembly->window)
        return ASSEMBLY_BEYOND;
    if (sequence < assembly->base || is_kept(assembly, sequence)) {
        assembly->repeats++;
        return ASSEMBLY_REPEAT;
    }
    return sequence == assembly->base ? ASSEMBLY_NEXT : ASSEMBLY_EARLY;
}

void assembly_keep(struct assembly *assembly, const struct segment *segment, uint32_t taken)
{
    uint32_t place = place_of(assembly, segment->sequence);
    assert(segment->sequence - assembly->base < assembly->window);
    assert(!is_kept(assembly, segment->sequence) && segment->size <= SEGMENT_BYTES_MAX);
    assembly->segments[place] = (struct assembly_segment){
        .check = segment->check,
        .digest = segment->digest,
        .size = segment->size,
        .taken = taken,
        .flags = segment->flags,
    };
    if (segment->size)
        memcpy(assembly->memory + (size_t)place * SEGMENT_BYTES_MAX, segment->bytes, segment->size);
    assembly->words[place / 64] |= 1ull << place % 64;
    assembly->kept++;
}

struct assembly_segment *assembly_first(struct assembly *assembly, const uint8_t **bytes)
{
    uint32_t place = place_of(assembly, assembly->base);
    if (!is_kept(assembly, assembly->base))
        return NULL;
    *bytes = assembly->memory + (size_t)place * SEGMENT_BYTES_MAX;
    return &assembly->segments[place];
}

void assembly_step(struct assembly *assembly)
{
    uint32_t place = place_of(assembly, assembly->base);
    if (is_kept(assembly, assembly->base)) {
        assembly->words[place / 64] &= ~(1ull << place % 64);
        assembly->kept--;
    }
    assembly->base++;
}

void assembly_answer(const struct assembly *assembly, struct segment_ack *ack)
{
    uint64_t base = assembly->base;
    uint32_t kept = assembly->kept;
    memset(ack->bitmap, 0, sizeof ack->bitmap);
    ack->bitmap_size = 0;
    ack->limit = base + assembly->window;
    ack->repeats = assembly->repeats;
    /* Segments that wait for the service are received, too. */
    for (; kept && is_kept(assembly, base); base++)
        kept--;
    ack->base = base;
    for (uint32_t bit = 0; kept; bit++) {
        if (!is_kept(assembly, base + 1 + bit))
            continue;
        ack->bitmap[bit / 8] |= (uint8_t)(1u << bit % 8);
        ack->bitmap_size = bit / 8 + 1;
        kept--;
    }
}

void assembly_check(const struct assembly *assembly)
{
    uint32_t kept = 0;
    for (unsigned i = 0; i < SEGMENT_WINDOW_MAX / 64; i++)
        kept += (uint32_t)__builtin_popcountll(assembly->words[i]);
    assert(kept == assembly->kept && kept <= assembly->window);
}
