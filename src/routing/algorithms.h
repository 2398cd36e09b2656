#pragma once
/* algorithms: every routing algorithm there is; the table in algorithms.c
 * lists them. */

#include "routing/route.h"
