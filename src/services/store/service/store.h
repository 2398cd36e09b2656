#pragma once
/* store: the service that keeps keys and their values on several servers. store.c explains it. */

#include <weft/service.h>

#define STORE_SERVICE 7 /* its number */

extern const struct weft_service store_service;

/* A request of a program begins with one of these bytes. */
enum store_call {
    STORE_CALL_REQUEST = 1, /* the rest is a request (wire/request.h); the answer is an answer */
};
