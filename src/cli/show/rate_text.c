#include "cli/show/rate_text.h"

#include <stdlib.h>
#include <string.h>

enum err rate_text_parse(const char *text, uint64_t *rate, struct why *why)
{
    static const struct {
        const char *ending;
        double factor;
    } units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
    char *end;
    double number = strtod(text, &end);
    size_t size = strlen(end);
    if (size >= 3 && strcmp(end + size - 3, "bps") == 0)
        size -= 3;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        double bits = number * units[i].factor;
        if (end != text && size == strlen(units[i].ending) &&
            strncmp(end, units[i].ending, size) == 0 && bits >= 1e4 && bits <= 1e13) {
            *rate = (uint64_t)bits;
            return OK;
        }
    }
    return why_fail(why, ERR_USAGE, "--rate %s: expected 10kbps to 10Tbps, for example 1Gbps",
                    text);
}
