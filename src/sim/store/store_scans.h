#pragma once
/* store_scans: clients of a simulated store that list its keys, page by page, while others change
 * them (store_clients.h).
 *
 * A page is checked like a read of each key in its range: a key that it lists was there, in that
 * version, at some moment between the call and the answer; one that it does not list was not. These
 * reads are added to the history when the run ends. When nothing fails any more, each client must
 * be able to list all keys from the first to the last. */

#include <weft/simulation.h>

#include "base/rng.h"
#include "sim/store/store_account.h"
#include "sim/store/store_keys.h"

/* What the scans look at. All borrowed. */
struct store_scene {
    struct weft_simulation *simulation;
    const struct store_keys *keys;
    struct store_account *account;
    const bool *steady;    /* nothing fails any more */
    const bool *available; /* every request must be answered for good */
    const bool *final;     /* the last requests begin */
    const bool *losses;    /* a key may be unavailable at the end */
    uint64_t seed;
};

void scans_begin(const struct store_scene *scene);
/* False: the ticket or the cookie is not of a scan. */
bool scans_answer(uint64_t ticket, const void *bytes, uint32_t size);
bool scans_timer(uint64_t cookie);
void scans_down(weft_server server);
/* At the end: adds what the pages say to the history. */
void scans_judge(void);
void scans_fini(void);
