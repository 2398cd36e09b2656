/* store_forge FILE: makes a file of the store look as if a later version of weft had written it.
 * FILE is a segment of the log, or one of view.a and view.b. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/hash.h"
#include "services/store/log/log.h"

#define HEAD   64 /* of a segment */
#define LATER  77
#define NUMBER 16 /* where the head of a segment has its number */

static void segment_forge(uint8_t *bytes)
{
    struct reader in = reader_make(bytes + NUMBER, 4);
    struct log_place place = {.segment = read_u32(&in)};
    struct writer out = writer_make(bytes, 8);
    write_u32(&out, 0);
    write_u32(&out, LATER);
    uint64_t hash = hash_bytes(bytes + 4, HEAD - 4);
    out = writer_make(bytes, 4);
    write_u32(&out, (uint32_t)hash_mix(hash ^ log_place_order(place)));
}

static void view_forge(uint8_t *bytes, size_t size)
{
    struct writer out = writer_make(bytes + 16, 4);
    write_u32(&out, LATER);
    struct reader in = reader_make(bytes + 20, 4);
    uint32_t state = read_u32(&in);
    out = writer_make(bytes, 8);
    if (32 + (size_t)state <= size)
        write_u64(&out, digest_bytes(bytes + 8, 24 + state));
}

int main(int count, char **words)
{
    static uint8_t bytes[1 << 20];
    FILE *file = count == 2 ? fopen(words[1], "r+") : NULL;
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (size < HEAD)
        return 1;
    if (strstr(words[1], ".log"))
        segment_forge(bytes);
    else
        view_forge(bytes, size);
    rewind(file);
    bool written = fwrite(bytes, 1, HEAD, file) == HEAD;
    return fclose(file) || !written;
}
