#pragma once
/* node_trip: round trips over one link and over six, compared with those of the kernel. */

#include "bench.h"

void trip_run(struct bench *bench);

/* Round trips through the kernel (node_trip_kernel.c), in microseconds, the median of `turns`. */
struct kernel_path; /* two ends that poll; the far one is stopped between measurements */
/* UDP over the loopback interface. */
struct kernel_path *kernel_loopback(void);
/* Through that many links between network namespaces that forward IP. NULL: not permitted here;
 * `why` has the reason. */
struct kernel_path *kernel_namespaces(unsigned links, char *why, size_t why_size);
double kernel_trip(struct kernel_path *path, unsigned turns);
void kernel_close(struct kernel_path *path);
