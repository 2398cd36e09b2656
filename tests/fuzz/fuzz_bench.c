/* Tests the requests to bench and its answers: any bytes are refused, or are exactly what our
 * writer writes. */
#include "fuzz.h"
#include "services/bench/bench_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t again[BENCH_ANSWER_MAX + BENCH_REQUEST_MAX];
    struct bench_request request;
    struct bench_answer answer;
    if (bench_request_read(&request, data, size) == 0) {
        assert(bench_request_write(&request, again) == size);
        assert(!memcmp(again, data, size));
    }
    if (bench_answer_read(&answer, data, size) == 0) {
        assert(bench_answer_write(&answer, again) == size);
        assert(!memcmp(again, data, size));
    }
    return 0;
}
