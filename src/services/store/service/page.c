/* page: the first keys of groups that this server leads, in order, for a server that makes a page
 * of the whole store (scan.c).
 *
 * What is told of a key was true at one moment of the program's call: when the index was read, or
 * if the key's change was not committed then, when it was. So the keys are told when all changes
 * that were seen are committed, also removals, and when it is sure that this server led the groups
 * after it had read the index (confirm.c). Nothing has to wait for a key that changes often. */
#include "services/store/planted.h"
#include "services/store/service/scan_impl.h"

#include <errno.h>

#include "base/check.h"
#include "services/store/service/placement.h"

#define STEPS_MOST 8192 /* entries of the index, for one page; many can be tombstones */

static struct page *page_at(struct list *link)
{
    return container_of(link, struct page, link);
}

static void page_free(struct page *page)
{
    struct store *store = page->store;
    assert(!page->read.buffer);
    list_remove(&page->link);
    buffer_release(&store->buffers, page->bytes);
    buffer_release(&store->buffers, page->holder);
    pool_give(&store->scans.pages, page);
}

/* ---- the answer ---- */

/* Its scratch memory is used until the answer is sent. */
static struct listing_answer answer_make(struct page *page)
{
    const struct listing_groups asked = page->listing.groups;
    struct store *store = page->store;
    uint32_t size = listing_groups_size(asked.count);
    uint8_t *told = store->scans.bits, *others = told + size;
    memset(told, 0, size);
    for (uint32_t i = 0; i < page->group_count; i++)
        told[page->groups[i].number / 8] |= (uint8_t)(1u << page->groups[i].number % 8);
    struct writer leaders = writer_make(store->scans.leaders, 4 * (size_t)asked.count);
    for (uint32_t i = 0; i < size; i++)
        others[i] = asked.bits[i] & (uint8_t)~told[i];
    for (uint32_t i = 0; i < asked.count; i++) {
        if (listing_has((struct listing_groups){others, asked.count}, i))
            write_u32(&leaders, group_leader(&store->groups[i]));
    }
    return (struct listing_answer){
        .told = {told, asked.count},
        .others = {others, asked.count},
        .leaders = store->scans.leaders,
        .page = page->bytes->bytes,
        .page_size = page->size,
    };
}

static void page_tell(struct page *page)
{
    struct store *store = page->store;
    const struct listing_answer answer = answer_make(page);
    struct buffer *bytes = buffer_make(&store->buffers, (uint32_t)listing_answer_size(&answer));
    weft_server origin = page->origin;
    uint64_t ticket = page->ticket;
    if (bytes)
        listing_answer_write(&answer, bytes->bytes);
    page_free(page);
    if (!bytes)
        return; /* it is asked again */
    if (origin == store->here) {
        scan_told(store, store->here, ticket, bytes->bytes, bytes->size);
    } else {
        struct letter *letter = store->out;
        letter->kind = LETTER_PAGE_TOLD;
        letter->epoch = views_roster(store->views)->epoch;
        letter->group = 0;
        letter->ticket = ticket;
        letter->bytes = bytes->bytes;
        letter->size = bytes->size;
        mail_send(store, origin, letter);
    }
    buffer_release(&store->buffers, bytes);
}

static bool is_ready(const struct page *page, const struct page_group *one)
{
    const struct group *group = &page->store->groups[one->number];
    if (page->listing.request.here)
        return true;
    return one->newest <= group->replica.committed && one->round <= group->confirmed;
}

/* Tells the page if all is known. */
static void page_advance(struct page *page)
{
    if (page->gone || page->read_count < page->rewritten_count)
        return;
    while (page->ready < page->group_count && is_ready(page, &page->groups[page->ready]))
        page->ready++;
    if (page->ready == page->group_count)
        page_tell(page);
}

/* ---- reading the index ---- */

static bool is_listed(const struct index_entry *entry)
{
    return entry->kind == INDEX_VALUE;
}

/* False: there is no room for it. */
static bool add(struct page *page, struct scan_maker *maker, const struct index_entry *entry)
{
    bool rewritten = disk_is_rewritten(entry);
    const struct scan_item item = {
        .key = {entry->key, entry->key_size},
        .version = entry->version,
        .ttl = expiry_left(page->store, entry->expiry),
        .value_size = entry->value_size - (rewritten ? REWRITTEN_HEAD : 0),
    };
    if (rewritten && page->rewritten_count == PAGE_REWRITTEN)
        return false;
    size_t place = scan_maker_add(maker, &item);
    if (rewritten && place) {
        page->rewritten[page->rewritten_count].place = (uint32_t)place;
        page->rewritten[page->rewritten_count++].key_size = entry->key_size;
    }
    return place != 0;
}

static void page_fill(struct page *page)
{
    const struct scan_request *request = &page->listing.request;
    struct store *store = page->store;
    const struct index_key prefix = {request->prefix.bytes, request->prefix.size};
    const struct index_key after = {request->after.bytes, request->after.size};
    const struct index_entry *entry;
    struct scan_key until = {0};
    struct scan_maker maker;
    struct index_walk walk;
    uint32_t at, steps = 0;
    scan_maker_init(&maker, page->bytes->bytes, page->bytes->size);
    index_walk_init(&walk, &store->index, prefix, store->scans.places);
    for (uint32_t i = 0; i < page->group_count; i++) {
        page->groups[i].newest = 0;
        index_walk_add(&walk, page->groups[i].number, i, request->is_after ? &after : NULL);
    }
    while ((entry = index_walk_next(&walk, &at))) {
        bool is_over = maker.count == request->most || steps++ == STEPS_MOST;
        if (is_over || (is_listed(entry) && !add(page, &maker, entry)))
            break;
        until = (struct scan_key){entry->key, entry->key_size};
        if (entry->version > page->groups[at].newest)
            page->groups[at].newest = entry->version;
    }
    page->size = (uint32_t)scan_maker_end(&maker, entry ? &until : NULL);
}

/* ---- versions that are in the log ---- */

static void page_begin(struct page *page);
static void page_was_read(struct disk_read *read);

/* Of the next key that was written again. Begins again if it has changed since then. */
static void page_read(struct page *page)
{
    struct store *store = page->store;
    uint32_t place = page->rewritten[page->read_count].place;
    uint8_t size = page->rewritten[page->read_count].key_size;
    const uint8_t *key = page->bytes->bytes + place - size;
    struct reader version = reader_make(page->bytes->bytes + place, 8);
    uint32_t group = spaces_group(&store->spaces, key, size);
    const struct index_entry *entry = disk_find(store, group, key, size);
    if (!entry || entry->version != read_u64(&version)) {
        page_begin(page);
        return;
    }
    page->read.done = page_was_read;
    page->read.owner = page;
    if (!disk_read(store, group, disk_place(entry), size, entry->value_size, &page->read))
        page_free(page); /* it is asked again */
}

static void page_go_on(struct page *page)
{
    if (page->read_count < page->rewritten_count)
        page_read(page);
    else
        page_advance(page);
}

/* Puts the version that clients know into the page. False: this is another record. */
static bool take_version(struct page *page, const struct record *record)
{
    uint8_t *place = page->bytes->bytes + page->rewritten[page->read_count].place;
    struct reader version = reader_make(place, 8);
    if (record->version != read_u64(&version) || !(record->request & REWRITTEN) ||
        record->value_size < REWRITTEN_HEAD)
        return false;
    memcpy(place, record->value, 8);
    page->read_count++;
    return true;
}

static void page_was_read(struct disk_read *read)
{
    struct page *page = read->owner;
    struct store *store = page->store;
    int result = page->read.read.result;
    bool fits = !page->gone && result == 0 && take_version(page, &page->read.read.record);
    buffer_release(&store->buffers, page->read.buffer);
    page->read.buffer = NULL;
    if (page->gone || result == -EBADMSG)
        page_free(page);
    else if (fits)
        page_go_on(page);
    else
        page_begin(page); /* the log has moved it, or it has changed */
    if (result == -EBADMSG)
        disk_lose(store);
}

/* ---- what is asked ---- */

static void page_begin(struct page *page)
{
    page->ready = page->rewritten_count = page->read_count = 0;
    page_fill(page);
    for (uint32_t i = 0; i < page->group_count && !page->listing.request.here; i++) {
        struct page_group *one = &page->groups[i];
        one->round = confirm_ask(&page->store->groups[one->number]);
        if (STORE_HAS(SCAN_UNCONFIRMED))
            one->round = 0;
    }
    page_go_on(page);
}

/* Is the same question being answered? */
static bool is_known(struct store *store, weft_server origin, uint64_t ticket,
                     struct listing_groups groups)
{
    list_each(&store->scans.pages_open, link)
    {
        const struct page *page = page_at(link);
        if (page->origin == origin && page->ticket == ticket && !page->gone &&
            memcmp(page->listing.groups.bits, groups.bits, listing_groups_size(groups.count)) == 0)
            return true;
    }
    return false;
}

/* Those of the groups that it can tell about. */
static void choose_groups(struct page *page, uint32_t epoch)
{
    const struct listing *listing = &page->listing;
    page->group_count = 0;
    for (uint32_t i = 0; i < listing->groups.count; i++) {
        const struct replica *replica = &page->store->groups[i].replica;
        bool leads = replica_serves(replica) && replica->epoch == epoch;
        if (listing_has(listing->groups, i) && (leads || listing->request.here))
            page->groups[page->group_count++] = (struct page_group){.number = i};
    }
}

void page_asked(struct store *store, weft_server origin, uint64_t ticket, uint32_t epoch,
                const void *bytes, uint32_t size, struct buffer *holder)
{
    struct listing listing;
    if (!listing_read(&listing, bytes, size) || listing.groups.count != store->group_count ||
        (listing.request.here && origin != store->here) ||
        is_known(store, origin, ticket, listing.groups))
        return;
    uint64_t most = SCAN_MAKER_ROOM + (uint64_t)listing.request.most * SCAN_ITEM_MAX;
    struct page *page = pool_take_used(&store->scans.pages);
    struct buffer *room =
        page ? buffer_make(&store->buffers, most < SCAN_PAGE_SIZE ? (uint32_t)most : SCAN_PAGE_SIZE)
             : NULL;
    if (!room) {
        if (page)
            pool_give(&store->scans.pages, page);
        return; /* it is asked again */
    }
    *page = (struct page){
        .store = store,
        .origin = origin,
        .ticket = ticket,
        .until = weft_now(store->self) + listing.request.patience,
        .holder = buffer_hold(holder),
        .listing = listing,
        .bytes = room,
    };
    list_append(&store->scans.pages_open, &page->link);
    choose_groups(page, epoch);
    page_begin(page);
}

/* ---- what happens meanwhile ---- */

void page_look(const struct group *group)
{
    list_each(&group->store->scans.pages_open, link)
    {
        struct page *page = page_at(link);
        if (page->ready < page->group_count && page->groups[page->ready].number == group->number)
            page_advance(page);
    }
}

static void page_end(struct page *page)
{
    page->gone = true;
    if (!page->read.buffer)
        page_free(page);
}

void page_tick(struct store *store)
{
    list_each(&store->scans.pages_open, link)
    {
        if (weft_now(store->self) >= page_at(link)->until)
            page_end(page_at(link));
    }
}

void page_forget(struct store *store)
{
    list_each(&store->scans.pages_open, link) page_end(page_at(link));
}
