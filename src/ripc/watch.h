#pragma once
/* watch: ids that a service wants to hear of. */

#include "ripc/service.h"

void watch_found(struct ripc_service *service, const struct claim *claim);
void watch_gone(struct ripc_service *service, const struct claim *claim);
void watches_drop(struct ripc_service *service);
