#pragma once
/* token: how long a chain of processes needs that do nothing but wake each other: the floor for a
 * chain with one process per server. */

#define TURNS_MAX 20000

/* Round trip along a chain of that many processes, in microseconds, the median of `turns`. */
double token_trip(unsigned processes, unsigned turns);
