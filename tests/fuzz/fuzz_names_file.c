/* Tests the file of names: it is refused in one line, or read as a sorted table without
 * contradictions. */
#include "fuzz.h"
#include "ripc/names/names_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct names_file file;
    struct why why = {""};
    if (names_file_read(&file, (const char *)data, size, "names", &why) != 0) {
        fuzz_check_why(&why);
        return 0;
    }
    for (size_t i = 0; i < file.count; i++) {
        const struct claim *claim = &file.claims[i], *before = claim - 1;
        assert(claim->id && claim->member && claim->address.family && claim->address.port);
        assert((claim->member != claim->id) == claim->group);
        if (i == 0 || before->id != claim->id)
            assert(names_file_find(&file, claim->id) == i);
        if (i > 0)
            assert(before->id < claim->id ||
                   (before->id == claim->id && before->member < claim->member && claim->group));
    }
    names_file_fini(&file);
    return 0;
}
