/* scan: pages of keys for programs on this server. The keys of a page are in many groups, so it
 * asks the leaders of all of them for their first keys after the given one (page.c), and merges
 * what they tell. The page ends where the first of them did not tell all.
 *
 * A group without a leader is asked for again until the program's patience is over. Then the answer
 * is "unavailable": a page without its keys would look like one in which they do not exist. */
#include "services/store/service/scan.h"

#include "base/check.h"
#include "services/store/planted.h"
#include "services/store/service/scan_impl.h"

#define AGAIN_NSEC (500 * MSEC) /* without an answer */
#define SOON_NSEC  (20 * MSEC)  /* when it is not known which server leads */
#define TURNS      4            /* how often a scan goes on at once from server to server */
#define SCANS      64
#define INDEX_BITS 16 /* of a ticket */

static struct scan *scan_at(struct list *link)
{
    return container_of(link, struct scan, link);
}

/* As that of an ask (ask.c). */
static uint64_t ticket_of(const struct scan *scan)
{
    return scan->name << INDEX_BITS | scan->index;
}

static struct scan *find(struct store *store, uint64_t ticket)
{
    const struct pool *pool = &store->scans.scans;
    uint32_t index = ticket & ((1u << INDEX_BITS) - 1);
    if (index >= pool->fresh)
        return NULL;
    struct scan *scan = (struct scan *)(void *)(pool->memory + index * pool->size);
    return ticket_of(scan) == ticket && scan->holder ? scan : NULL;
}

bool scan_init(struct store *store)
{
    struct weft_self *self = store->self;
    struct scans *scans = &store->scans;
    uint32_t groups = (uint32_t)store->group_count, bits = listing_groups_size(groups);
    uint32_t pages = (1u << 19) / groups;
    pages = pages > 128 ? 128 : pages;
    uint64_t scan_size = (sizeof(struct scan) + 2 * (uint64_t)bits + 15) / 16 * 16;
    uint64_t page_size = sizeof(struct page) + groups * sizeof(struct page_group);
    void *memory = weft_allocate(self, SCANS * scan_size);
    void *page_memory = weft_allocate(self, pages * page_size);
    scans->bits = weft_allocate(self, 2 * (uint64_t)bits);
    scans->leaders = weft_allocate(self, 4 * (uint64_t)groups);
    scans->places = weft_allocate(self, groups * sizeof *scans->places);
    if (!memory || !page_memory || !scans->bits || !scans->leaders || !scans->places)
        return false;
    pool_init(&scans->scans, memory, scan_size, SCANS);
    pool_init(&scans->pages, page_memory, page_size, pages);
    list_init(&scans->scans_open);
    list_init(&scans->pages_open);
    return true;
}

/* ---- the end ---- */

static void scan_end(struct store *store, struct scan *scan)
{
    list_remove(&scan->link);
    buffer_release(&store->buffers, scan->holder);
    buffer_release(&store->buffers, scan->page);
    scan->holder = NULL;
    pool_give(&store->scans.scans, scan);
}

static void scan_refuse(struct store *store, struct scan *scan, enum store_status status)
{
    delivery_status(store, scan->client, scan->ticket, status);
    scan_end(store, scan);
}

static void scan_answer(struct store *store, struct scan *scan)
{
    const struct store_answer answer = {
        .status = STORE_DONE, .value = scan->page->bytes, .value_size = scan->page_size};
    struct buffer *bytes = buffer_make(&store->buffers, (uint32_t)store_answer_size(&answer));
    if (!bytes) {
        scan_refuse(store, scan, STORE_BUSY);
        return;
    }
    (void)store_answer_write(&answer, bytes->bytes, bytes->size);
    delivery_say(store, scan->client, scan->ticket, bytes->bytes, bytes->size);
    buffer_release(&store->buffers, bytes);
    scan_end(store, scan);
}

/* ---- asking ---- */

static bool has(const uint8_t *set, uint32_t group)
{
    return set[group / 8] >> group % 8 & 1;
}

static void put(uint8_t *set, uint32_t group, bool member)
{
    uint8_t bit = (uint8_t)(1u << group % 8);
    set[group / 8] = (uint8_t)(member ? set[group / 8] | bit : set[group / 8] & ~bit);
}

static uint8_t *told_of(struct scan *scan)
{
    return scan->sets;
}

static uint8_t *asked_of(const struct store *store, struct scan *scan)
{
    return scan->sets + listing_groups_size((uint32_t)store->group_count);
}

/* How many keys to ask for that has so many of the groups: as many as it has of the page's keys on
 * average, and three deviations more. With less, pages often end early. */
static uint32_t share(const struct store *store, const struct scan_request *request, uint32_t count)
{
    uint64_t mean = (uint64_t)request->most * count / (uint64_t)store->group_count, root = 0;
    while ((root + 1) * (root + 1) <= mean)
        root++;
    uint64_t most = mean + 3 * root + 2;
    return most < request->most ? (uint32_t)most : request->most;
}

static void ask(struct store *store, struct scan *scan, weft_server to, const uint8_t *bits,
                uint32_t count)
{
    struct listing listing = {.request = scan->request,
                              .groups = {bits, (uint32_t)store->group_count}};
    listing.request.most = share(store, &scan->request, count);
    listing.request.patience = scan->deadline - weft_now(store->self);
    if (listing.request.patience <= 0)
        return;
    struct buffer *bytes = buffer_make(&store->buffers, (uint32_t)listing_size(&listing));
    if (!bytes)
        return;
    const struct roster *roster = views_roster(store->views);
    listing_write(&listing, bytes->bytes);
    if (to == store->here) {
        page_asked(store, store->here, ticket_of(scan), roster->epoch, bytes->bytes, bytes->size,
                   bytes);
    } else {
        struct letter *letter = store->out;
        letter->kind = LETTER_ASK_KEYS;
        letter->epoch = roster->epoch;
        letter->group = 0;
        letter->ticket = ticket_of(scan);
        letter->bytes = bytes->bytes;
        letter->size = bytes->size;
        mail_send(store, to, letter);
    }
    buffer_release(&store->buffers, bytes);
}

/* The groups from `first` on that are to be asked for and that this server leads, or for a scan of
 * the own copies all. Returns how many. */
static uint32_t collect(struct store *store, struct scan *scan, uint32_t first, weft_server to)
{
    uint8_t *told = told_of(scan), *asked = asked_of(store, scan), *bits = store->scans.bits;
    uint32_t count = 0;
    memset(bits, 0, listing_groups_size((uint32_t)store->group_count));
    for (uint32_t i = first; i < store->group_count; i++) {
        bool is_his = scan->request.here || ask_leader(&store->groups[i]) == to;
        if (!is_his || has(told, i) || has(asked, i))
            continue;
        put(bits, i, true);
        put(asked, i, true);
        count++;
    }
    return count;
}

/* Asks for all groups for which no server is asked. The scan may end. */
static void scan_send(struct store *store, struct scan *scan)
{
    uint64_t ticket = ticket_of(scan);
    scan->again_at = INT64_MAX;
    for (uint32_t i = 0; i < store->group_count && find(store, ticket) == scan; i++) {
        if (has(told_of(scan), i) || has(asked_of(store, scan), i))
            continue;
        weft_server to = scan->request.here ? store->here : ask_leader(&store->groups[i]);
        if (to == WEFT_NOBODY || (!scan->request.here && !views_is_member(store->views))) {
            scan->again_at = weft_now(store->self) + SOON_NSEC;
            continue;
        }
        uint32_t count = collect(store, scan, i, to);
        ask(store, scan, to, store->scans.bits, count);
    }
}

void scan_begin(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                uint32_t size)
{
    struct scan_request request;
    struct buffer *holder = buffer_make(&store->buffers, size);
    struct scan *scan = holder ? pool_take_used(&store->scans.scans) : NULL;
    if (holder)
        memcpy(holder->bytes, bytes, size);
    bool sense = holder && scan_request_read(&request, holder->bytes, size);
    if (!scan || !sense || store->stage == STORE_BROKEN) {
        delivery_status(store, client, ticket,
                        !scan    ? STORE_BUSY
                        : !sense ? STORE_MALFORMED
                                 : STORE_UNAVAILABLE);
        buffer_release(&store->buffers, holder);
        if (scan)
            pool_give(&store->scans.scans, scan);
        return;
    }
    int64_t now = weft_now(store->self);
    *scan = (struct scan){
        .index = (uint32_t)((size_t)((uint8_t *)scan - store->scans.scans.memory) /
                            store->scans.scans.size),
        .name = store->ask_name++,
        .client = client,
        .ticket = ticket,
        .holder = holder,
        .request = request,
        .left = (uint32_t)store->group_count,
        .deadline = now + request.patience,
        .again_at = now,
        .lost_at = now + AGAIN_NSEC,
    };
    memset(scan->sets, 0, 2 * (size_t)listing_groups_size((uint32_t)store->group_count));
    list_append(&store->scans.scans_open, &scan->link);
    if (store->stage == STORE_RUNS)
        scan_send(store, scan);
}

/* ---- what is told ---- */

static bool was_told_any(const struct store *store, struct scan *scan, struct listing_groups groups)
{
    for (int64_t i = 0; i < listing_groups_size((uint32_t)store->group_count); i++) {
        if (told_of(scan)[i] & groups.bits[i])
            return true;
    }
    return false;
}

/* Returns whether it is worth asking again at once. */
static bool take_leaders(struct store *store, struct scan *scan, weft_server from,
                         const struct listing_answer *answer)
{
    bool is_new = false;
    uint32_t place = 0;
    for (uint32_t i = 0; i < store->group_count; i++) {
        if (listing_has(answer->told, i)) {
            put(told_of(scan), i, true);
            scan->left--;
            store->groups[i].hint = from;
        }
        if (!listing_has(answer->others, i))
            continue;
        uint32_t leader = listing_leader(answer, place++);
        bool is_server = leader < weft_server_count(store->self) && leader != from;
        is_new |= is_server;
        store->groups[i].hint = is_server ? leader : WEFT_NOBODY;
        put(asked_of(store, scan), i, false);
    }
    return is_new;
}

/* False: there is no memory. */
static bool take_page(struct store *store, struct scan *scan, const struct listing_answer *answer)
{
    struct scan_page told, former = {0};
    bool sense = scan_page_read(&told, answer->page, answer->page_size);
    assert(sense);
    if (scan->page)
        (void)scan_page_read(&former, scan->page->bytes, scan->page_size);
    if (STORE_HAS(SCAN_BEYOND))
        told.more = false;
    uint64_t most = SCAN_MAKER_ROOM + (uint64_t)scan->page_size + answer->page_size;
    struct buffer *merged =
        buffer_make(&store->buffers, most < SCAN_PAGE_SIZE ? (uint32_t)most : SCAN_PAGE_SIZE);
    if (!merged)
        return false;
    scan->page_size =
        (uint32_t)scan_merge(&former, &told, scan->request.most, merged->bytes, merged->size);
    buffer_release(&store->buffers, scan->page);
    scan->page = merged;
    return true;
}

void scan_told(struct store *store, weft_server from, uint64_t ticket, const void *bytes,
               uint32_t size)
{
    struct listing_answer answer;
    struct scan *scan = find(store, ticket);
    if (!scan || !listing_answer_read(&answer, bytes, size) ||
        answer.told.count != store->group_count || was_told_any(store, scan, answer.told) ||
        was_told_any(store, scan, answer.others))
        return;
    if (!take_page(store, scan, &answer)) {
        scan_refuse(store, scan, STORE_BUSY);
        return;
    }
    bool at_once = take_leaders(store, scan, from, &answer) && scan->turns++ < TURNS;
    if (scan->left == 0)
        scan_answer(store, scan);
    else if (at_once)
        scan_send(store, scan);
    else if (scan->again_at == INT64_MAX)
        scan->again_at = weft_now(store->self) + SOON_NSEC;
}

/* ---- what happens meanwhile ---- */

void scan_gone(struct store *store, uint64_t client)
{
    list_each(&store->scans.scans_open, link)
    {
        if (scan_at(link)->client == client)
            scan_end(store, scan_at(link));
    }
}

static void ask_all_again(struct store *store, struct scan *scan)
{
    memset(asked_of(store, scan), 0, listing_groups_size((uint32_t)store->group_count));
    scan->lost_at = weft_now(store->self) + AGAIN_NSEC;
    scan->turns = 0;
}

static void wake(struct store *store, struct scan *scan)
{
    int64_t now = weft_now(store->self);
    if (now >= scan->deadline) {
        scan_refuse(store, scan, STORE_UNAVAILABLE);
        return;
    }
    if (now >= scan->lost_at)
        ask_all_again(store, scan);
    scan_send(store, scan);
}

void scan_tick(struct store *store)
{
    struct list due, *first;
    int64_t now = weft_now(store->self);
    list_init(&due);
    list_each(&store->scans.scans_open, link)
    {
        const struct scan *scan = scan_at(link);
        bool is_due = now >= scan->again_at || now >= scan->lost_at;
        if (now >= scan->deadline || (is_due && store->stage == STORE_RUNS)) {
            list_remove(link);
            list_append(&due, link);
        }
    }
    while ((first = list_take(&due))) {
        list_append(&store->scans.scans_open, first);
        wake(store, scan_at(first));
    }
    page_tick(store);
}

void scan_view(struct store *store)
{
    list_each(&store->scans.scans_open, link)
    {
        ask_all_again(store, scan_at(link));
        scan_at(link)->again_at = weft_now(store->self) + SOON_NSEC;
    }
}
