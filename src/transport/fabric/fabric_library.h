#pragma once
/* fabric_library: loads libfabric when a fabric is first used. No program links it: a program that
 * never uses a fabric does not pay for what libfabric loads, and runs where libfabric is not
 * installed.
 *
 * These are the functions that the library exports; all others in its headers are inline, and call
 * functions of the objects that these return. */

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "base/err.h"

struct fabric_library {
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_dupinfo) *dupinfo; /* dupinfo(NULL) makes an empty one, like fi_allocinfo() */
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
};

/* Returns the same at every call; the library is never unloaded. May be called from any thread, and
 * after fork(). NULL: the library cannot be loaded on this host; this process does not try
 * again. */
const struct fabric_library *fabric_library_get(struct why *why);
