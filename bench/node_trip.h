#pragma once
/* node_trip: there and back, over one link and over six, against the kernel's ways. */

#include "bench.h"

#define TURNS_MAX 20000

void trip_run(struct bench *bench);

/* There and back along so many processes that do nothing else: node_token.c. Microseconds. */
double token_trip(unsigned processes, unsigned turns);

/* The kernel's: node_trip_kernel.c. Microseconds there and back, the median of `turns`. */
struct kernel_path; /* two ends that poll, or sleep */
/* UDP over the loopback interface. */
struct kernel_path *kernel_loopback(void);
/* Through so many links between network namespaces that forward IP. NULL: not allowed here, and
 * `why` says so. */
struct kernel_path *kernel_namespaces(unsigned links, char *why, size_t why_size);
double kernel_trip(struct kernel_path *path, unsigned turns);
void kernel_close(struct kernel_path *path);
