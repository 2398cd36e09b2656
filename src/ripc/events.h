#pragma once
/* events: the one table of event handlers (ripc/core/events.h). */

#include "ripc/core/events.h"

extern const struct events ripc_events;
