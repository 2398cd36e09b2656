#pragma once
/* sides: the ways of talking that need nothing but weft and the system. Those
 * that need another library are in bench/. */

#include "measured/pair.h"

/* Two processes and a piece of shared memory, without any library: what no
 * library can beat. JOB_PING, JOB_STREAM, JOB_LONG. */
extern const struct side side_floor;

/* Blocking sockets. JOB_PING, JOB_LONG. */
extern const struct side side_tcp;
extern const struct side side_unix;

/* JOB_PING, blocking or polling; and over a new TCP connection for each ping, blocking. */
extern const struct side side_udp;
extern const struct side side_tcp_new;

/* ripc, through its public interface. Every job. */
extern const struct side side_ripc;

/* Programs that come with other libraries, where they are installed. JOB_PING. */
extern const struct side side_fi_pingpong_shm; /* libfabric's, over its shm provider ... */
extern const struct side side_fi_pingpong_tcp; /* ... and over tcp */
extern const struct side side_ucx_perftest;    /* UCX's, tagged messages */
