/* Tests the cost model: a file is refused in one line, or it is the same after it was written and
 * read again. */
#include "base/text.h"
#include "fuzz.h"
#include "topology/cabling/cable_cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cable_cost cost, back;
    struct why why = {""};
    struct text once = {0}, twice = {0};
    if (cable_cost_read(&cost, (const char *)data, size, "cost", &why)) {
        fuzz_check_why(&why);
        return 0;
    }
    cable_cost_write(&cost, &once);
    assert(cable_cost_read(&back, once.data, once.size, "again", &why) == OK);
    cable_cost_write(&back, &twice);
    assert(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
    text_fini(&once);
    text_fini(&twice);
    return 0;
}
