#pragma once
/* sides: the ways of communication that need only weft and the operating system.
 * Those that need another library are in bench/. Each line names the jobs that
 * the sides can do. */

#include "measured/pair.h"

/* Two processes and shared memory, without any library: the lower limit for all
 * libraries. JOB_PING, JOB_STREAM, JOB_LONG. */
extern const struct side side_floor;

/* Blocking sockets. JOB_PING, JOB_LONG. */
extern const struct side side_tcp;
extern const struct side side_unix;

/* UDP, blocking or polling; and a new TCP connection for each ping, blocking. JOB_PING. */
extern const struct side side_udp;
extern const struct side side_tcp_new;

/* ripc, through its public interface. Every job. */
extern const struct side side_ripc;

/* Programs that come with other libraries, if they are installed. JOB_PING. */
extern const struct side side_fi_pingpong_shm; /* libfabric, provider shm */
extern const struct side side_fi_pingpong_tcp; /* libfabric, provider tcp */
extern const struct side side_ucx_perftest;    /* UCX, tagged messages */
