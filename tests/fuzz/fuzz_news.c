/* Tests what servers of the store tell each other about views: what is accepted is exactly what our
 * writer writes. A fuzzer cannot guess a digest, so the input is a kind and what follows the
 * digest, which is made to fit. */
#include <weft/service.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "fuzz.h"
#include "services/store/view/news.h"

#define SERVERS 27
#define HEAD    9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct view_news news;
    static uint8_t bytes[WEFT_PAYLOAD_MAX], again[WEFT_PAYLOAD_MAX];
    assert(!news_read(&news, SERVERS, data, (uint32_t)size) || size > HEAD);
    if (size < 1 || size - 1 > sizeof bytes - HEAD)
        return 0;
    bytes[0] = data[0];
    memcpy(bytes + HEAD, data + 1, size - 1);
    struct writer out = writer_make(bytes + 1, 8);
    write_u64(&out, digest_bytes(bytes + HEAD, size - 1) + data[0]);
    uint32_t whole = (uint32_t)(HEAD + size - 1);
    if (!news_read(&news, SERVERS, bytes, whole))
        return 0;
    assert(news_write(&news, SERVERS, again) == whole && memcmp(again, bytes, whole) == 0);
    return 0;
}
