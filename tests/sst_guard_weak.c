/* The mistake that tests/sst_guard.c must find: the guard is stored before the data. The linker
 * replaces row_change, which keeps the order, with this function (--wrap). */
#include "sst/table/row.h"

void __real_row_change(uint8_t *to, const uint8_t *from, const struct change *change);
void __wrap_row_change(uint8_t *to, const uint8_t *from, const struct change *change);

void __wrap_row_change(uint8_t *to, const uint8_t *from, const struct change *change)
{
    if (change->guard)
        row_store(to, change->guard, row_load(from, change->guard));
    __real_row_change(to, from, change);
}
