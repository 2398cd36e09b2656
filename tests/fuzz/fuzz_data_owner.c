/* Tests the reader of server.json, which says to which cluster and server a folder of a data
 * directory belongs. */
#include "fuzz.h"
#include "os/data/data_owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct why why = {""};
    struct data_owner owner, other;
    struct text out = {0};
    if (data_owner_parse(&owner, "file", (const char *)data, size, &why)) {
        fuzz_check_why(&why);
        return 0;
    }
    data_owner_write(&owner, &out);
    assert(text_ok(&out));
    assert(data_owner_parse(&other, "file", out.data, out.size, &why) == OK);
    assert(other.cluster == owner.cluster && other.server == owner.server &&
           other.server_count == owner.server_count && !strcmp(other.topology, owner.topology));
    text_fini(&out);
    return 0;
}
