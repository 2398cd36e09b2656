#pragma once
/* store_run: one run of the store in a simulated cluster, with clients (store_clients.h) and a set
 * of faults: one of store_run_sets, or kinds of faults as for `weft sim chaos`. */

#include <stdio.h>

#include "node/test_plan.h"
#include "sim/chaos/chaos.h"

struct store_outcome {
    const char *checker; /* that found an error; NULL: none */
    char text[CHECKER_TEXT_SIZE];
    psec failed_at;
    uint64_t hash;
};

/* Names of sets of faults; the last one is NULL. */
extern const char *const store_run_sets[];

/* Have some keys a time to live in runs with that set? */
bool store_run_expires(const char *set);
/* May the only copy of a group be lost in runs with that set? Then no page of keys is whole. */
bool store_run_loses_groups(const char *set);
/* Until the next run, store_clients_account has what the clients saw. The record may be NULL. */
struct store_outcome store_run(const struct test_plan *test, uint64_t seed, const char *set,
                               struct simulation_record *record);
/* Why the clients are not content; "": the checker is another one. */
const char *store_run_verdict(void);
/* Prints all requests for the key with which something is wrong. */
void store_run_print(FILE *file);
