#pragma once
/* store_requests: requests that a test makes of the store: some thousand at random, on a few keys,
 * each with its entry for the history; and what an answer says about such a request.
 *
 * Each value names the request that wrote it, so that no two requests write the same. Values are
 * kept with flags that follow from this name. */

#include "base/rng.h"
#include "services/store/history/history.h"
#include "sim/store/store_keys.h"
#include "wire/store.h"

#define REQUEST_VALUE_MAX 20000         /* bytes that one request writes */
#define REQUEST_LARGE_MAX (1500u << 10) /* the same, if `large` */

/* Who makes a request. */
struct request_maker {
    const struct store_keys *keys;
    struct rng *rng;
    unsigned client; /* its number in values */
    uint32_t number; /* of the request */
    /* By key: the version that the client saw last; 0: none. Some changes have that condition. */
    const uint64_t *seen;
    bool expires; /* some keys have a time to live, and some are touched */
    bool large;   /* some values are large */
    bool busy;    /* most requests are for a few keys, and more cold keys come */
};

/* Draws a request. Sets all of it but client and patience, and what the history has to know
 * of it, but client and moment; `value` has as many bytes as one request writes, and lives as long
 * as the request. */
void request_draw(const struct request_maker *maker, struct store_request *request, void *value,
                  struct history_op *op);
/* The same for a removal, or a read, of that key. */
void request_removal_of(const struct request_maker *maker, unsigned key,
                        struct store_request *request, struct history_op *op);
void request_read_of(const struct request_maker *maker, unsigned key, struct store_request *request,
                     struct history_op *op);

/* What the history has to know of an answer. Returns what is wrong with it whatever the other
 * answers are; NULL: nothing. */
const char *request_outcome(const struct store_request *request, const struct store_answer *answer,
                            enum history_outcome *outcome, struct history_value *result,
                            bool *has_result);
