/* Tests questions of observers and answers of members: any bytes are refused, or are valid and
 * the same when written again. Answers are those of member 101. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "sst/observe/observer_wire.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMBER 101

static void check_question(const uint8_t *data, size_t size)
{
    struct observer_question question;
    uint8_t again[OBSERVER_QUESTION_SIZE];
    int result = observer_question_read(&question, data, size);
    assert(result == 0 || result == -EPROTO);
    if (result < 0)
        return;
    assert(size == sizeof again);
    observer_question_write(&question, again);
    assert(memcmp(again, data, size) == 0);
}

static void check_answer(const uint8_t *data, size_t size)
{
    static struct observer_answer answer;
    uint8_t again[OBSERVER_ANSWER_MAX];
    int result = observer_answer_read(&answer, MEMBER, data, size);
    assert(result == 0 || result == -EPROTO);
    if (result < 0)
        return;
    assert(answer.row_count > 0 && answer.row_count <= SST_ROWS_MAX);
    assert(answer.own < answer.row_count && answer.members[answer.own] == MEMBER);
    assert(answer.members[answer.row_count - 1] != 0 && answer.epoch > 0);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        assert(!answer.live[row] || answer.members[row]);
    if (answer.status == 0)
        assert(answer.grant.owner == MEMBER && answer.grant.size > 0);
    else
        assert(answer.status == -EBUSY);
    if (answer.has_schema)
        assert(answer.schema.hash == answer.hash);
    assert(observer_answer_write(&answer, again) == size);
    assert(memcmp(again, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_question(data, size);
    check_answer(data, size);
    return 0;
}
