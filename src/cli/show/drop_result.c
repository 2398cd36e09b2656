#include "cli/show/drop_result.h"

void drop_result(struct result *result, const char *key, const uint64_t drops[DROP_COUNT])
{
    result_object(result, key);
    for (unsigned reason = 0; reason < DROP_COUNT; reason++)
        result_uint(result, drop_names[reason], drops[reason]);
    result_end(result);
    result_array(result_hide(result), "drops_shown");
    for (unsigned reason = 0; reason < DROP_COUNT; reason++) {
        if (!drops[reason])
            continue;
        result_object(result, NULL);
        result_uint(result, "count", drops[reason]);
        result_string(result, "reason", drop_texts[reason]);
        result_end(result);
    }
    result_end(result);
}
