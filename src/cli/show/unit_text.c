#include "cli/show/unit_text.h"

void unit_text_nsec(struct text *out, double nsec)
{
    if (nsec < 1e3)
        text_printf(out, "%.0f ns", nsec);
    else if (nsec < 1e6)
        text_printf(out, "%.2f us", nsec / 1e3);
    else if (nsec < 1e9)
        text_printf(out, "%.2f ms", nsec / 1e6);
    else
        text_printf(out, "%.2f s", nsec / 1e9);
}

void unit_text_rate(struct text *out, double bytes_per_second)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    double amount = bytes_per_second;
    unsigned unit = 0;
    while (amount >= 999.5 && unit + 1 < sizeof units / sizeof units[0]) {
        amount /= 1000;
        unit++;
    }
    text_printf(out, amount < 9.95 && unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}
