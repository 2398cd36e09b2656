/* Tests what operators ask of the store, and the answers: any bytes are refused, or are exactly
 * what our writer writes. */
#include "fuzz.h"
#include "wire/care.h"

static void request_decode(const uint8_t *data, size_t size)
{
    uint8_t again[CARE_ANSWER_MAX];
    struct care_request request;
    if (!care_request_read(&request, data, size))
        return;
    assert(care_request_write(&request, again) == size);
    assert(memcmp(again, data, size) == 0);
}

static void answer_decode(const uint8_t *data, size_t size)
{
    uint8_t again[CARE_ANSWER_MAX];
    static struct care_report report;
    static struct care_end end;
    enum care_answer answer = care_answer_read(&report, &end, data, size);
    if (answer == CARE_NONSENSE)
        return;
    size_t written =
        answer == CARE_REPORT ? care_report_write(&report, again) : care_end_write(&end, again);
    assert(written == size);
    assert(memcmp(again, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    request_decode(data, size);
    answer_decode(data, size);
    return 0;
}
