#pragma once
/* store: the service that keeps keys and their values on several servers. store.c explains it. */

#include <weft/service.h>

#define STORE_SERVICE 7 /* its number */

extern const struct weft_service store_service;
