#pragma once
/* scan: what the other parts of the service call of scan.c and page.c. */

#include "services/store/service/store_impl.h"

/* ---- scan.c ---- */

bool scan_init(struct store *store); /* false: there is no memory */
void scan_begin(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                uint32_t size);
/* LETTER_PAGE_TOLD. */
void scan_told(struct store *store, weft_server from, uint64_t ticket, const void *bytes,
               uint32_t size);
void scan_gone(struct store *store, uint64_t client);
void scan_tick(struct store *store);
void scan_view(struct store *store); /* another view */

/* ---- page.c ---- */

/* LETTER_ASK_KEYS; the holder has the bytes. */
void page_asked(struct store *store, weft_server origin, uint64_t ticket, uint32_t epoch,
                const void *bytes, uint32_t size, struct buffer *holder);
/* More of the group is committed or confirmed. */
void page_look(const struct group *group);
void page_tick(struct store *store);
void page_forget(struct store *store); /* this server no longer leads */
