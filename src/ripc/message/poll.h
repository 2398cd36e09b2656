#pragma once
/* poll: what a program takes from its service besides messages: events, and outcomes of its
 * operations. */

#include "ripc/core/service.h"

/* For layers above that take messages and events in one place: waits until there is a message or an
 * event (1), or a thread calls service_wake with the same flag (SERVICE_WOKEN). Else -ETIMEDOUT or
 * -EAGAIN, as every wait. Called without the lock. The flag is written and read under the lock. */
#define SERVICE_WOKEN 2
int service_await(struct ripc_service *service, _Atomic bool *woken, int64_t deadline);
void service_wake(struct ripc_service *service, _Atomic bool *woken);
