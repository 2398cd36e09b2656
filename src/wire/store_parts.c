/* store_parts: see the header. */
#include "wire/store_parts.h"

#include "base/bytes.h"
#include "base/check.h"

uint32_t store_part_count(uint32_t value_size)
{
    assert(value_size);
    return (value_size - 1) / STORE_PART_MAX + 1;
}

uint32_t store_part_size(uint32_t value_size, uint32_t offset)
{
    uint32_t count = store_part_count(value_size), each = (value_size - 1) / count + 1;
    assert(offset < value_size);
    return value_size - offset < each ? value_size - offset : each;
}

/* Is this a part of a value of that size? */
static bool fits(uint32_t offset, uint32_t size, uint32_t value_size)
{
    return size && size <= STORE_PART_MAX && value_size <= STORE_VALUE_MAX && offset < value_size &&
           size <= value_size - offset;
}

size_t store_part_write(const struct store_part *part, void *out, size_t room)
{
    struct writer to = writer_make(out, room);
    write_u64(&to, part->name);
    write_u32(&to, part->offset);
    write_u8(&to, part->last);
    write_u8(&to, part->again);
    write_u64(&to, (uint64_t)part->patience);
    write_u32(&to, part->size);
    write_bytes(&to, part->bytes, part->size);
    return to.failed ? 0 : room - to.left;
}

bool store_part_read(struct store_part *part, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *part = (struct store_part){.name = read_u64(&in)};
    part->offset = read_u32(&in);
    uint8_t last = read_u8(&in), again = read_u8(&in);
    part->last = last;
    part->again = again;
    part->patience = (int64_t)read_u64(&in);
    part->size = read_u32(&in);
    part->bytes = read_bytes(&in, part->size);
    return !in.failed && in.left == 0 && last <= 1 && again <= 1 && part->patience > 0 &&
           fits(part->offset, part->size, STORE_VALUE_MAX);
}

bool store_is_saying(const void *bytes, size_t size)
{
    const uint8_t *first = bytes;
    return size && *first >= STORE_SAYS_SEND;
}

size_t store_saying_write(const struct store_saying *saying, void *out, size_t room)
{
    struct writer to = writer_make(out, room);
    write_u8(&to, (uint8_t)saying->word);
    if (saying->word == STORE_SAYS_SEND)
        write_u64(&to, saying->name);
    if (saying->word == STORE_SAYS_PART) {
        uint8_t head[STORE_HEAD_MAX];
        write_u32(&to, saying->offset);
        write_bytes(&to, head, store_answer_write_head(&saying->answer, head, sizeof head));
        write_bytes(&to, saying->bytes, saying->size);
    }
    return to.failed ? 0 : room - to.left;
}

static bool read_part(struct reader *in, struct store_saying *saying)
{
    saying->offset = read_u32(in);
    size_t head = in->failed ? 0 : store_answer_read_head(&saying->answer, in->next, in->left);
    (void)read_bytes(in, head);
    if (!head || in->left > STORE_PART_MAX)
        return false;
    saying->size = (uint32_t)in->left;
    saying->bytes = read_bytes(in, in->left);
    return saying->answer.status == STORE_DONE &&
           fits(saying->offset, saying->size, saying->answer.value_size);
}

bool store_saying_read(struct store_saying *saying, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *saying = (struct store_saying){.word = read_u8(&in)};
    bool sense = true;
    switch (saying->word) {
    case STORE_SAYS_SEND:
        saying->name = read_u64(&in);
        break;
    case STORE_SAYS_PART:
        sense = read_part(&in, saying);
        break;
    case STORE_SAYS_WAIT:
    case STORE_SAYS_AGAIN:
        break;
    default:
        sense = false;
    }
    return sense && !in.failed && in.left == 0;
}
