#pragma once
/* fabric_library: libfabric, loaded when a fabric is first used. Nothing links it: a program that
 * never uses a fabric does not pay for what libfabric brings along, and runs where it is not
 * installed.
 *
 * Here are the functions that the library exports; all others of its headers are inline, and call
 * what these hand out. */

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "base/err.h"

struct fabric_library {
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_dupinfo) *dupinfo; /* of NULL: an empty one, as fi_allocinfo() */
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
};

/* The same at every call; it is never unloaded. From any thread, and after fork(), too. NULL: it
 * cannot be loaded on this host, and never will be by this process. */
const struct fabric_library *fabric_library_get(struct why *why);
