#include "sim/store/store_scans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "services/store/service/store.h"
#include "wire/scan.h"

#define LISTERS 3
#define FIRST   100 /* their numbers in the history */
#define MILLI   INT64_C(1000000)
#define LATE    (300 * MILLI)
#define STREAM  0x5ca7

/* What tickets and cookies of scans have, and those of other clients do not. */
#define TICKET (UINT64_C(1) << 63)
#define COOKIE UINT64_C(0x80)

struct lister {
    uint32_t program;
    weft_server server;
    unsigned index;
    bool waiting, strict;
    bool fair;     /* there must be an answer */
    bool is_whole; /* it lists all keys, since the end of the run is near */
    bool done;     /* it has */
    uint64_t wake, ticket;
    uint64_t begun; /* moment of the history */
    struct scan_request request;
    uint8_t prefix[STORE_KEY_MAX], after[STORE_KEY_MAX];
};

/* An answer. */
struct told {
    unsigned lister;
    uint64_t begun, answered;
    int64_t answered_at;
    weft_server server;
    unsigned keys;    /* so many keys were in use */
    uint8_t *request; /* owned */
    size_t request_size;
    uint8_t *page; /* owned */
    size_t page_size;
};

/* An operation that tells what value a version has. */
struct maker {
    uint64_t key, version;
    uint32_t op;
};

static struct {
    struct store_scene scene;
    struct rng rng;
    struct lister listers[LISTERS];
    uint64_t tickets;
    struct told *told;
    size_t told_count, told_room;
    struct maker *makers; /* sorted */
    size_t maker_count;
} scans;

static int64_t now(void)
{
    return weft_sim_now(scans.scene.simulation);
}

static int64_t below(int64_t bound)
{
    return (int64_t)rng_below(&scans.rng, (uint64_t)bound);
}

static void wrong(const struct lister *lister, const char *what)
{
    weft_sim_fail(scans.scene.simulation, "scan %u at server %u: %s", lister->index, lister->server,
                  what);
}

/* ---- listing ---- */

static void wait_for(struct lister *lister, int64_t wait)
{
    uint64_t cookie = ++lister->wake << 8 | COOKIE | lister->index;
    int result = weft_sim_timer(scans.scene.simulation, now() + wait, cookie);
    assert(result == 0);
}

static void attach(struct lister *lister)
{
    struct weft_simulation *simulation = scans.scene.simulation;
    uint32_t count = weft_sim_server_count(simulation);
    lister->server = (weft_server)below(count);
    for (uint32_t i = 0; i < count && !weft_sim_is_up(simulation, lister->server); i++)
        lister->server = (lister->server + 1) % count;
    int64_t program = weft_sim_client(simulation, lister->server);
    assert(program >= 0);
    lister->program = (uint32_t)program;
}

static void move(struct lister *lister)
{
    (void)weft_sim_close(scans.scene.simulation, lister->program);
    attach(lister);
}

static void set_key(struct scan_key *key, uint8_t *bytes, const void *from, uint32_t size)
{
    if (size)
        memcpy(bytes, from, size);
    *key = (struct scan_key){bytes, size};
}

/* Another range of keys. */
static void draw(struct lister *lister)
{
    static const char *const prefixes[] = {"", "", "key ", "key 1", "key 2", "1"};
    const struct store_keys *keys = scans.scene.keys;
    const char *prefix = prefixes[below(6)];
    lister->is_whole = *scans.scene.final;
    prefix = lister->is_whole ? "" : prefix;
    lister->request = (struct scan_request){
        .most = lister->is_whole ? 300 : 1 + (uint32_t)below(below(2) ? 8 : 60)};
    set_key(&lister->request.prefix, lister->prefix, prefix, (uint32_t)strlen(prefix));
    if (!lister->is_whole && below(3) == 0) {
        const struct store_key *key = &keys->keys[below(keys->count)];
        lister->request.is_after = true;
        set_key(&lister->request.after, lister->after, key->bytes, key->size);
    }
}

static void ask(struct lister *lister)
{
    static const int64_t patience[] = {50 * MILLI, 300 * MILLI, 1000 * MILLI, 2000 * MILLI};
    static uint8_t bytes[1000];
    lister->strict = *scans.scene.available && !*scans.scene.losses;
    lister->fair = *scans.scene.steady;
    lister->request.patience = lister->strict ? 2000 * MILLI : patience[below(4)];
    bytes[0] = STORE_CALL_SCAN;
    size_t size = 1 + scan_request_write(&lister->request, bytes + 1, sizeof bytes - 1);
    lister->ticket = TICKET | ++scans.tickets;
    lister->begun = account_moment(scans.scene.account, now());
    int result = weft_sim_send(scans.scene.simulation, lister->program, store_service.name,
                               lister->ticket, bytes, (uint32_t)size);
    assert(result == 0 || result == -ECONNREFUSED);
    lister->waiting = result == 0;
    if (result && below(2))
        move(lister);
    wait_for(lister, result ? below(20 * MILLI) : lister->request.patience + LATE);
}

static void fail_try(struct lister *lister, const char *what)
{
    lister->waiting = false;
    lister->ticket = 0;
    scans.scene.account->counts.pages_failed++;
    if (lister->strict)
        wrong(lister, what);
    if (below(2))
        move(lister);
    wait_for(lister, below(60 * MILLI));
}

/* The page fits the request, and the next one begins where it ends. */
static bool check_page(const struct lister *lister, struct scan_page page)
{
    const struct scan_request *request = &lister->request;
    struct scan_item item;
    if (page.count > request->most ||
        (page.more && request->is_after && scan_key_compare(page.until, request->after) <= 0))
        return false;
    while (scan_page_next(&page, &item)) {
        if (item.key.size < request->prefix.size ||
            (request->prefix.size &&
             memcmp(item.key.bytes, request->prefix.bytes, request->prefix.size) != 0) ||
            (request->is_after && scan_key_compare(item.key, request->after) <= 0))
            return false;
    }
    return true;
}

static void note(const struct lister *lister, const struct store_answer *said)
{
    bool fits =
        array_reserve(&scans.told, &scans.told_room, scans.told_count + 1, sizeof *scans.told);
    assert(fits);
    struct told *told = &scans.told[scans.told_count++];
    *told = (struct told){.lister = lister->index,
                          .begun = lister->begun,
                          .answered = account_moment(scans.scene.account, now()),
                          .answered_at = now(),
                          .server = lister->server,
                          .keys = scans.scene.keys->count,
                          .request_size = scan_request_size(&lister->request),
                          .page = array_copy(said->value, said->value_size, 1),
                          .page_size = said->value_size};
    told->request = malloc(told->request_size);
    assert(told->page && told->request);
    (void)scan_request_write(&lister->request, told->request, told->request_size);
    scans.scene.account->counts.pages++;
}

static void take_page(struct lister *lister, const struct store_answer *said)
{
    struct scan_page page;
    if (!scan_page_read(&page, said->value, said->value_size) || !check_page(lister, page)) {
        wrong(lister, "the page is malformed");
        return;
    }
    note(lister, said);
    if (page.more) {
        lister->request.is_after = true;
        set_key(&lister->request.after, lister->after, page.until.bytes, page.until.size);
    }
    lister->done = lister->is_whole && !page.more;
    if (!page.more || (*scans.scene.final && !lister->is_whole))
        draw(lister);
    lister->waiting = false;
    if (!lister->done)
        wait_for(lister, below((lister->is_whole ? 10 : 60) * MILLI));
}

bool scans_answer(uint64_t ticket, const void *bytes, uint32_t size)
{
    struct store_answer said;
    if (!(ticket & TICKET))
        return false;
    for (unsigned i = 0; i < LISTERS; i++) {
        struct lister *lister = &scans.listers[i];
        if (!lister->waiting || lister->ticket != ticket)
            continue;
        if (!store_answer_read(&said, bytes, size))
            wrong(lister, "the answer is malformed");
        else if (said.status == STORE_DONE)
            take_page(lister, &said);
        else if (said.status == STORE_UNAVAILABLE || said.status == STORE_BUSY)
            fail_try(lister, "the store is not available again");
        else
            wrong(lister, store_status_text(said.status));
    }
    return true;
}

bool scans_timer(uint64_t cookie)
{
    if (!(cookie & COOKIE))
        return false;
    struct lister *lister = &scans.listers[cookie & ~COOKIE & 255];
    if (lister->wake != cookie >> 8 || lister->done)
        return true;
    if (lister->waiting && lister->fair)
        wrong(lister, "there is no answer");
    if (lister->waiting)
        fail_try(lister, "there is no answer");
    else
        ask(lister);
    return true;
}

void scans_down(weft_server server)
{
    for (unsigned i = 0; i < LISTERS; i++) {
        if (scans.listers[i].server == server && scans.listers[i].waiting)
            fail_try(&scans.listers[i], "the server is down");
    }
}

void scans_begin(const struct store_scene *scene)
{
    scans_fini();
    scans.scene = *scene;
    scans.rng = rng_make(scene->seed, STREAM);
    for (unsigned i = 0; i < LISTERS; i++) {
        struct lister *lister = &scans.listers[i];
        lister->index = i;
        attach(lister);
        draw(lister);
        wait_for(lister, below(60 * MILLI));
    }
}

void scans_fini(void)
{
    for (size_t i = 0; i < scans.told_count; i++) {
        free(scans.told[i].request);
        free(scans.told[i].page);
    }
    free(scans.told);
    free(scans.makers);
    memset(&scans, 0, sizeof scans);
}

/* ---- what the pages say ---- */

static int maker_compare(const void *one, const void *other)
{
    const struct maker *a = one, *b = other;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->version > b->version) - (a->version < b->version);
}

static void makers_find(void)
{
    const struct history *history = &scans.scene.account->history;
    scans.makers = malloc((history->count + 1) * sizeof *scans.makers);
    assert(scans.makers);
    for (size_t i = 0; i < history->count; i++) {
        const struct history_op *op = &history->ops[i];
        if (op->outcome == HISTORY_DONE && (op->kind == HISTORY_PUT || op->has_result))
            scans.makers[scans.maker_count++] = (struct maker){op->key, op->version, (uint32_t)i};
    }
    qsort(scans.makers, scans.maker_count, sizeof *scans.makers, maker_compare);
}

/* The value that this version is known to have. NULL: nothing is known. */
static const struct history_value *value_find(uint64_t key, uint64_t version)
{
    const struct maker wanted = {.key = key, .version = version};
    const struct maker *maker =
        bsearch(&wanted, scans.makers, scans.maker_count, sizeof *scans.makers, maker_compare);
    const struct history_op *op = maker ? &scans.scene.account->history.ops[maker->op] : NULL;
    if (op && op->kind == HISTORY_PUT)
        return &op->value;
    return op ? &op->result : NULL;
}

static bool is_in_range(struct scan_key key, const struct scan_request *request,
                        const struct scan_page *page)
{
    return key.size >= request->prefix.size &&
           !(request->prefix.size &&
             memcmp(key.bytes, request->prefix.bytes, request->prefix.size) != 0) &&
           !(request->is_after && scan_key_compare(key, request->after) <= 0) &&
           !(page->more && scan_key_compare(key, page->until) > 0);
}

static bool item_find(struct scan_page page, struct scan_key key, struct scan_item *item)
{
    while (scan_page_next(&page, item)) {
        if (scan_key_compare(item->key, key) == 0)
            return true;
    }
    return false;
}

/* No answer tells what value the version has, so it cannot be a read in the history. It must be
 * that of a change whose fate is unknown, and there may not have been a later one before the call.
 */
static void check_unknown(const struct told *told, unsigned key, uint64_t version)
{
    const struct history *history = &scans.scene.account->history;
    bool has_maker = false;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_op *op = &history->ops[i];
        if (op->key != key)
            continue;
        has_maker |= op->kind != HISTORY_GET && op->kind != HISTORY_DELETE &&
                     op->begun < told->answered &&
                     (op->outcome == HISTORY_UNKNOWN ||
                      (op->outcome == HISTORY_DONE && op->version == version));
        if (op->outcome == HISTORY_DONE && op->version > version && op->answered < told->begun)
            wrong(&scans.listers[told->lister], "a page lists a key in a former version");
    }
    scans.scene.account->counts.keys_unknown++;
    if (!has_maker)
        wrong(&scans.listers[told->lister], "a page lists a version that was never made");
}

/* As a read of that key. */
static void read_add(const struct told *told, unsigned key, const struct scan_item *item)
{
    struct history_op op = {.key = key,
                            .client = FIRST + told->lister,
                            .kind = HISTORY_GET,
                            .begun = told->begun,
                            .answered = told->answered};
    /* Since a key is listed until its removal is committed, how late that is does not count: to the
     * account the page began before anything expired. */
    const struct store_moment moment = {
        .answered = told->answered_at, .server = told->server, .tries = 1};
    const struct history_value *known = item ? value_find(key, item->version) : NULL;
    struct history_value value = {0};
    if (item && !known) {
        check_unknown(told, key, item->version);
        return;
    }
    op.outcome = item ? HISTORY_DONE : HISTORY_ABSENT;
    op.version = item ? item->version : 0;
    if (known) {
        value = *known; /* the history may move */
        if (value.size != item->value_size)
            wrong(&scans.listers[told->lister], "a value has another size");
    }
    scans.scene.account->counts.keys_listed += item != NULL;
    scans.scene.account->counts.keys_unlisted += item == NULL;
    account_add(scans.scene.account, &op, item ? &value : NULL, &moment);
}

static void judge(const struct told *told)
{
    const struct store_keys *keys = scans.scene.keys;
    struct scan_request request;
    struct scan_page page;
    struct scan_item item;
    uint32_t found = 0;
    bool sense = scan_request_read(&request, told->request, told->request_size) &&
                 scan_page_read(&page, told->page, told->page_size);
    assert(sense);
    for (unsigned i = 0; i < told->keys; i++) {
        struct scan_key key = {(const uint8_t *)keys->keys[i].bytes, keys->keys[i].size};
        if (!is_in_range(key, &request, &page))
            continue;
        bool listed = item_find(page, key, &item);
        found += listed;
        read_add(told, i, listed ? &item : NULL);
    }
    if (found != page.count)
        wrong(&scans.listers[told->lister], "a page lists a key that was never put");
}

void scans_judge(void)
{
    makers_find();
    for (size_t i = 0; i < scans.told_count; i++)
        judge(&scans.told[i]);
    for (unsigned i = 0; i < LISTERS; i++) {
        if (*scans.scene.final && !*scans.scene.losses && !scans.listers[i].done)
            wrong(&scans.listers[i], "not all keys could be listed");
    }
}
