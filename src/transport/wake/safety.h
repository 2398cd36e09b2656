#pragma once
/* safety: timeouts that no correct program needs.
 *
 * A sleep whose end another process must announce through memory that both can write has a
 * timeout, for that process may be hostile or broken. Such a timeout would also hide a wake-up
 * that we forgot. A build with -Dendless_waits=true has none of them: there a forgotten wake-up
 * hangs. Deadlines of the caller, retries of a protocol and the periods of polling are not safety
 * timeouts, and stay. */

#include "transport/clock.h"

#ifdef WEFT_ENDLESS_WAITS
#define SAFETY_NSEC(length) NSEC_NEVER
#else
#define SAFETY_NSEC(length) (length)
#endif
