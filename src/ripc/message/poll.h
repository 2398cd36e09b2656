#pragma once
/* poll: what a program takes from its service besides messages: events, and outcomes of its
 * operations. */

#include "ripc/core/service.h"

/* For layers above that take messages and events in one place: waits until one of either
 * is there (1), or somebody calls service_wake with the same flag. Else -ETIMEDOUT or
 * -EAGAIN, as every wait. Without the lock. The flag is written and read under it. */
#define SERVICE_WOKEN 2
int service_await(struct ripc_service *service, _Atomic bool *woken, int64_t deadline);
void service_wake(struct ripc_service *service, _Atomic bool *woken);
