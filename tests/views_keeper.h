#pragma once
/* views_keeper: a service for tests of the store's views: each server takes part in them and does
 * nothing else. What all servers say is compared at once: for each epoch there may be only one
 * roster, a server goes only to later views, and it knows after a restart what it knew before. */

#include <weft/service.h>

#include "services/store/view/views.h"

#define VIEWS_KEEPER  320
#define KEEPERS_COUNT 1024 /* servers at most */

extern const struct weft_service views_keeper;

/* Forgets all servers; before each run. `rots`: disks may damage what they keep. */
void keepers_begin(bool rots);
/* The disk of that server was replaced. */
void keepers_erased(weft_server server);
/* What is wrong so far; NULL: nothing. */
const char *keepers_wrong(void);
/* The views of that server; NULL: it does not run. */
struct views *keepers_views(weft_server server);
/* Writes what the server knows, for messages about failures. */
void keepers_print(weft_server server, char *text, unsigned size);
uint32_t keepers_epoch(void); /* the latest that any server has entered */
/* A server that runs and is not a member in the latest view; `count` if there is none. */
uint32_t keepers_odd(uint32_t count);
static inline bool keepers_agree(uint32_t count)
{
    return keepers_epoch() && keepers_odd(count) == count;
}
