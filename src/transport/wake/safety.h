#pragma once
/* safety: timeouts that no correct program needs.
 *
 * A sleep that another process must end through memory that both can write has a timeout, because
 * that process may be hostile or broken. Such a timeout would also hide a wake-up that our code
 * forgot. A build with -Dendless_waits=true has no such timeouts: there a forgotten wake-up hangs.
 * Deadlines of the caller, retries of a protocol and polling intervals are not safety timeouts, and
 * stay. */

#include "transport/clock.h"

#ifdef WEFT_ENDLESS_WAITS
#define SAFETY_NSEC(length) NSEC_NEVER
#else
#define SAFETY_NSEC(length) (length)
#endif
