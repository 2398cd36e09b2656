/* Compares merged pages with sorted arrays of keys that were dealt out at random. */
#include "wire/scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define KEYS  120
#define PAGES 5

static struct scan_key text_key(const char *text)
{
    return (struct scan_key){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* Few letters, so that many keys begin alike, or are the beginning of others. */
static struct scan_key key_draw(struct rng *rng, uint8_t *bytes)
{
    static const uint8_t letters[] = {0, 0xff, 'a', 'b'};
    uint32_t size = rng_below(rng, 20) ? (uint32_t)rng_below(rng, 5) : STORE_KEY_MAX;
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = letters[rng_below(rng, sizeof letters)];
    return (struct scan_key){bytes, size};
}

/* Reads from a block of exactly that size, so that a sanitizer notices a byte too many. */
static bool request_is_read(const void *bytes, size_t size)
{
    struct scan_request request;
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = scan_request_read(&request, copy, size);
    free(copy);
    return sense;
}

static bool page_is_read(const void *bytes, size_t size)
{
    struct scan_page page;
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = scan_page_read(&page, copy, size);
    free(copy);
    return sense;
}

static void requests_are_read_as_written(void **unused)
{
    uint8_t bytes[1 + 4 + 8 + 2 * (1 + STORE_KEY_MAX) + 1], prefix[STORE_KEY_MAX],
        after[STORE_KEY_MAX];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = rng_make(seed, 1);
        struct scan_request again, made = {.here = rng_below(&rng, 2),
                                           .is_after = rng_below(&rng, 2),
                                           .most = 1 + (uint32_t)rng_below(&rng, SCAN_PAGE_KEYS),
                                           .patience = (int64_t)(rng_next(&rng) >> 1 | 1),
                                           .prefix = key_draw(&rng, prefix)};
        if (made.is_after)
            made.after = key_draw(&rng, after);
        size_t size = scan_request_write(&made, bytes, sizeof bytes);
        print_message("# seed %" PRIu64 "\n", seed);
        assert_int_equal(size, scan_request_size(&made));
        assert_int_equal(scan_request_write(&made, bytes, size - 1), 0);
        (void)scan_request_write(&made, bytes, sizeof bytes);
        assert_true(scan_request_read(&again, bytes, size));
        assert_true(again.here == made.here && again.is_after == made.is_after);
        assert_true(again.most == made.most && again.patience == made.patience);
        assert_int_equal(scan_key_compare(again.prefix, made.prefix), 0);
        assert_int_equal(scan_key_compare(again.after, made.after), 0);
        for (size_t i = 0; i < size; i++)
            assert_false(request_is_read(bytes, i));
        bytes[size] = 0;
        assert_false(request_is_read(bytes, size + 1));
    }
}

static void nonsense_in_a_request_is_refused(void **unused)
{
    const struct scan_request good = {.most = 5, .patience = 1, .prefix = text_key("p")};
    static const struct {
        size_t at;
        uint8_t byte;
    } changes[] = {
        {0, 4},    /* an unknown flag */
        {0, 2},    /* a key is to follow */
        {3, 4},    /* too many keys */
        {4, 0},    /* none */
        {5, 0x80}, /* a patience below 0 */
        {13, 251},
    };
    uint8_t bytes[64];
    size_t size = scan_request_write(&good, bytes, sizeof bytes);
    assert_true(request_is_read(bytes, size));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        uint8_t before = bytes[changes[i].at];
        bytes[changes[i].at] = changes[i].byte;
        assert_false(request_is_read(bytes, size));
        bytes[changes[i].at] = before;
    }
    bytes[12] = 0; /* no patience */
    assert_false(request_is_read(bytes, size));
}

static size_t page_of(uint8_t *bytes, size_t room, const char *const *keys, const char *until)
{
    struct scan_maker maker;
    struct scan_key end = until ? text_key(until) : (struct scan_key){0};
    scan_maker_init(&maker, bytes, room);
    for (; *keys; keys++) {
        const struct scan_item item = {.key = text_key(*keys), .version = strlen(*keys)};
        assert_true(scan_maker_add(&maker, &item) != 0);
    }
    return scan_maker_end(&maker, until ? &end : NULL);
}

static void a_page_is_refused_if_its_keys_are_not_in_order(void **unused)
{
    uint8_t bytes[SCAN_MAKER_ROOM + 200];
    size_t size = page_of(bytes, sizeof bytes, (const char *const[]){"a", "aa", "b", NULL}, "b");
    assert_true(page_is_read(bytes, size));
    for (size_t i = 0; i < size; i++)
        assert_false(page_is_read(bytes, i));
    bytes[size] = 0;
    assert_false(page_is_read(bytes, size + 1));
    size = page_of(bytes, sizeof bytes, (const char *const[]){"b", "a", NULL}, NULL);
    assert_false(page_is_read(bytes, size));
    size = page_of(bytes, sizeof bytes, (const char *const[]){"a", "a", NULL}, NULL);
    assert_false(page_is_read(bytes, size));
    size = page_of(bytes, sizeof bytes, (const char *const[]){"aa", "a", NULL}, NULL);
    assert_false(page_is_read(bytes, size));
    size = page_of(bytes, sizeof bytes, (const char *const[]){"a", "c", NULL}, "b");
    assert_false(page_is_read(bytes, size));
    size = page_of(bytes, sizeof bytes, (const char *const[]){NULL}, "b");
    assert_true(page_is_read(bytes, size));
}

static void a_page_ends_before_its_memory_does(void **unused)
{
    uint8_t bytes[SCAN_MAKER_ROOM + 1], name[STORE_KEY_MAX] = {0};
    struct scan_maker maker;
    struct scan_page page;
    struct scan_item item = {.key = {name, sizeof name}}, again;
    bytes[SCAN_MAKER_ROOM] = 0x5a;
    scan_maker_init(&maker, bytes, SCAN_MAKER_ROOM);
    assert_true(scan_maker_add(&maker, &item) != 0);
    name[0] = 1;
    assert_int_equal(scan_maker_add(&maker, &item), 0);
    size_t size = scan_maker_end(&maker, &item.key);
    assert_int_equal(size, SCAN_MAKER_ROOM);
    assert_int_equal(bytes[SCAN_MAKER_ROOM], 0x5a);
    assert_true(scan_page_read(&page, bytes, size) && page.count == 1 && page.more);
    assert_true(scan_page_next(&page, &again) && again.key.size == sizeof name);
    assert_false(scan_page_next(&page, &again));
}

/* ---- merging ---- */

/* Keys that were dealt to pages, in order; each page has its own until it ends. */
struct deal {
    uint8_t bytes[KEYS][STORE_KEY_MAX];
    struct scan_key keys[KEYS];
    unsigned page[KEYS];
    uint32_t count;
    bool more[PAGES];
    struct scan_key until[PAGES];
    uint8_t room[PAGES][SCAN_PAGE_SIZE];
    size_t size[PAGES];
};

static void keys_draw(struct deal *deal, struct rng *rng)
{
    uint32_t wanted = (uint32_t)rng_below(rng, KEYS);
    deal->count = 0;
    for (uint32_t i = 0; i < wanted; i++) {
        struct scan_key key = key_draw(rng, deal->bytes[i]);
        uint32_t at = deal->count;
        while (at && scan_key_compare(deal->keys[at - 1], key) > 0)
            at--;
        if (at && scan_key_compare(deal->keys[at - 1], key) == 0)
            continue;
        memmove(&deal->keys[at + 1], &deal->keys[at], (deal->count++ - at) * sizeof key);
        deal->keys[at] = key;
    }
    for (uint32_t i = 0; i < deal->count; i++)
        deal->page[i] = (unsigned)rng_below(rng, PAGES);
}

/* The page ends after so many of its keys; if there are no more, it may not know that. */
static void page_make(struct deal *deal, unsigned page, struct rng *rng)
{
    uint32_t most = 1 + (uint32_t)rng_below(rng, 40), count = 0, at;
    struct scan_key until = {0};
    struct scan_maker maker;
    scan_maker_init(&maker, deal->room[page], sizeof deal->room[page]);
    for (at = 0; at < deal->count && count < most; at++) {
        const struct scan_item item = {.key = deal->keys[at], .version = at + 1};
        until = deal->keys[at];
        if (deal->page[at] != page)
            continue;
        count++;
        assert_true(scan_maker_add(&maker, &item) != 0);
    }
    deal->more[page] = at < deal->count;
    deal->until[page] = until;
    deal->size[page] = scan_maker_end(&maker, deal->more[page] ? &until : NULL);
}

/* May the merged page have the key? */
static bool is_sure(const struct deal *deal, struct scan_key key)
{
    for (unsigned i = 0; i < PAGES; i++) {
        if (deal->more[i] && scan_key_compare(key, deal->until[i]) > 0)
            return false;
    }
    return true;
}

static void assert_merged(const struct deal *deal, struct scan_page page, uint32_t most)
{
    struct scan_item item;
    uint32_t at = 0;
    assert_true(page.count <= most);
    while (scan_page_next(&page, &item)) {
        assert_true(at < deal->count);
        assert_int_equal(scan_key_compare(item.key, deal->keys[at]), 0);
        assert_int_equal(item.version, ++at);
        assert_true(is_sure(deal, item.key));
    }
    /* All that any page is not sure of, and nothing else, comes after its end. */
    bool ends_early = at < deal->count && is_sure(deal, deal->keys[at]);
    assert_true(!ends_early || at == most); /* it is full */
    if (at < deal->count)
        assert_true(page.more && scan_key_compare(page.until, deal->keys[at]) < 0);
    if (at && page.more)
        assert_true(scan_key_compare(page.until, deal->keys[at - 1]) >= 0);
}

static void merged_pages_have_all_that_every_page_is_sure_of(void **unused)
{
    static struct deal deal;
    static uint8_t room[2][SCAN_PAGE_SIZE];
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct rng rng = rng_make(seed, 2);
        struct scan_page merged = {0}, page;
        uint32_t most = 1 + (uint32_t)rng_below(&rng, rng_below(&rng, 2) ? 10 : 2 * KEYS);
        print_message("# seed %" PRIu64 "\n", seed);
        keys_draw(&deal, &rng);
        for (unsigned i = 0; i < PAGES; i++) {
            page_make(&deal, i, &rng);
            assert_true(scan_page_read(&page, deal.room[i], deal.size[i]));
            size_t size = scan_merge(&merged, &page, most, room[i % 2], sizeof room[i % 2]);
            assert_true(scan_page_read(&merged, room[i % 2], size));
        }
        assert_merged(&deal, merged, most);
    }
}

static void a_merged_page_ends_where_there_is_no_room(void **unused)
{
    static uint8_t bytes[2][SCAN_PAGE_SIZE], merged[SCAN_PAGE_SIZE];
    struct scan_page pages[2], page;
    struct scan_item item, before = {0};
    for (unsigned i = 0; i < 2; i++) {
        struct scan_maker maker;
        uint8_t name[STORE_KEY_MAX] = {0};
        scan_maker_init(&maker, bytes[i], sizeof bytes[i]);
        for (unsigned j = 0; j < 200; j++) {
            name[0] = (uint8_t)j;
            name[1] = (uint8_t)i;
            item = (struct scan_item){.key = {name, sizeof name}, .version = 1};
            assert_true(scan_maker_add(&maker, &item) != 0);
        }
        size_t size = scan_maker_end(&maker, NULL);
        assert_true(scan_page_read(&pages[i], bytes[i], size));
    }
    size_t size = scan_merge(&pages[0], &pages[1], SCAN_PAGE_KEYS, merged, sizeof merged);
    assert_true(size <= sizeof merged && scan_page_read(&page, merged, size));
    assert_true(page.more && page.count > 200 && page.count < 400);
    while (scan_page_next(&page, &item))
        before = item;
    assert_int_equal(scan_key_compare(before.key, page.until), 0);
}

TEST_MAIN(TEST(requests_are_read_as_written), TEST(nonsense_in_a_request_is_refused),
          TEST(a_page_is_refused_if_its_keys_are_not_in_order),
          TEST(a_page_ends_before_its_memory_does),
          TEST(merged_pages_have_all_that_every_page_is_sure_of),
          TEST(a_merged_page_ends_where_there_is_no_room))
