/* Tests the reader of a list of kinds of faults, which a person writes. It refuses the list with a
 * reason, or reads a set that stays the same when it is written and read again. */
#include "base/text.h"
#include "fuzz.h"
#include "sim/chaos/fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    uint32_t kinds, again;
    struct why why = {""};
    assert(text);
    memcpy(text, data, size);
    text[size] = 0;
    enum err err = fault_kinds_read(text, &kinds, &why);
    assert(err == OK || err == ERR_USAGE);
    if (err) {
        assert(why.text[0]);
    } else {
        struct text out = {0};
        assert(!(kinds & ~FAULT_ALL));
        fault_kinds_write(kinds, &out);
        assert(text_ok(&out) && fault_kinds_read(out.data, &again, &why) == OK && again == kinds);
        text_fini(&out);
    }
    free(text);
    return 0;
}
