#pragma once
/* unit_text: amounts with the unit that suits their size: "850 ns", "1.20 ms", "3.4 MB/s". */

#include "base/text.h"

void unit_text_nsec(struct text *out, double nsec);
void unit_text_rate(struct text *out, double bytes_per_second);
