/* Writes random letters of every kind, reads them again, cuts them off at each byte, damages their
 * values, and changes one field at a time to nonsense. */
#include "services/store/wire/letter.h"

#include <stdlib.h>
#include <string.h>

#include <weft/service.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/rng.h"
#include "base/test.h"

#define FROM      11
#define VALUE_MAX 300

/* Where the fields are: of each letter, of a WRITE, and of the others from AT_CONTENT on. */
enum {
    AT_KIND = 0,
    AT_GROUP = 5,
    AT_CONTENT = 9,
    AT_PREVIOUS = 17,
    AT_RECORD = 25,
    AT_RECORD_FLAGS = 26,
    AT_RECORD_EXPIRY = 42,
    AT_RECORD_DIGEST = 50,
    AT_RECORD_KEY_SIZE = 58,
    AT_RECORD_VALUE_SIZE = 59,
    AT_RECORD_KEY = 63,
};

static struct letter *made, *again; /* large */
static uint8_t key[RECORD_KEY_MAX], value[VALUE_MAX];

static void make_bytes(void *out, size_t size, struct rng *rng)
{
    uint8_t *bytes = out;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)rng_next(rng);
}

/* The least, the most, or anything between. */
static uint32_t make_size(struct rng *rng, uint32_t most)
{
    uint64_t draw = rng_below(rng, 4);
    return draw == 0 ? 0 : draw == 1 ? most : (uint32_t)rng_below(rng, most + 1);
}

static void make_peers(struct replica_message *message, struct rng *rng)
{
    message->peer_count = make_size(rng, KEEPERS_MAX);
    for (uint32_t i = 0; i < message->peer_count; i++) {
        message->peers[i] = (uint32_t)rng_next(rng);
        if (message->kind == REPLICA_LEAD)
            message->positions[i] = rng_next(rng);
    }
}

static void make_custody(struct custody *custody, struct rng *rng)
{
    custody->since = (uint32_t)rng_next(rng);
    custody->ended = (uint32_t)rng_next(rng);
    custody->hollow = (uint32_t)rng_below(rng, 2);
    custody->keeper_count = make_size(rng, KEEPERS_MAX);
    for (uint32_t i = 0; i < custody->keeper_count; i++)
        custody->keepers[i] = (uint32_t)rng_next(rng);
}

/* A message with what replica.h says of its kind. */
static void make_message(struct replica_message *message, struct rng *rng)
{
    do
        message->kind = (uint32_t)rng_below(rng, REPLICA_RETIRED + 1);
    while (message->kind == REPLICA_WRITE);
    message->version = rng_next(rng);
    switch ((enum replica_kind)message->kind) {
    case REPLICA_LEAD:
    case REPLICA_ACTIVATE:
    case REPLICA_GROW:
    case REPLICA_ADMIT:
    case REPLICA_RETIRE:
        make_peers(message, rng);
        break;
    case REPLICA_REPORT:
    case REPLICA_ACTIVATED:
    case REPLICA_SHOW:
    case REPLICA_COPIED:
    case REPLICA_GROWN:
    case REPLICA_ADMITTED:
    case REPLICA_RETIRED:
        make_custody(&message->custody, rng);
        break;
    default:
        break;
    }
}

static void make_record(struct letter *letter, struct rng *rng)
{
    letter->record = (struct record){
        .kind = rng_below(rng, 3) ? RECORD_VALUE : RECORD_TOMBSTONE,
        .group = letter->group,
        .flags = (uint32_t)rng_next(rng),
        .request = (uint32_t)rng_next(rng),
        .client = rng_next(rng),
        .version = rng_next(rng) | 1,
        .key = key,
        .key_size = (uint8_t)make_size(rng, RECORD_KEY_MAX),
        .value = value,
    };
    if (letter->record.kind == RECORD_VALUE)
        letter->record.value_size = make_size(rng, VALUE_MAX);
    if (letter->record.kind == RECORD_VALUE && rng_below(rng, 2))
        letter->record.expiry = (int64_t)(rng_next(rng) >> 1);
    letter->record.digest = digest_bytes(value, letter->record.value_size);
}

static void make_write(struct letter *letter, struct rng *rng)
{
    struct replica_message *message = &letter->message;
    if (rng_below(rng, 4))
        make_record(letter, rng);
    message->kind = REPLICA_WRITE;
    message->version = letter->record.kind ? letter->record.version : rng_next(rng) | 1;
    message->previous = rng_below(rng, message->version);
}

static void make_key(struct letter_key *out, struct rng *rng)
{
    out->size = (uint8_t)make_size(rng, INDEX_KEY_SIZE_MAX);
    make_bytes(out->bytes, out->size, rng);
}

/* Keys in their order. Short ones begin with those before them, the first one is empty. */
static void make_page(struct letter *letter, struct rng *rng)
{
    bool longs = rng_below(rng, 2);
    letter->key_count = make_size(rng, LETTER_PAGE_KEYS);
    letter->last = letter->key_count == 0 || rng_below(rng, 2);
    for (uint32_t i = 0; i < letter->key_count; i++) {
        struct letter_key *out = &letter->keys[i];
        out->version = rng_next(rng) | 1;
        out->bytes[0] = (uint8_t)(i / 4);
        out->size = longs ? INDEX_KEY_SIZE_MAX : i ? (uint8_t)(1 + i % 4) : 0;
        if (longs)
            out->bytes[INDEX_KEY_SIZE_MAX - 1] = (uint8_t)i;
    }
}

static void make(struct letter *letter, enum letter_kind kind, struct rng *rng)
{
    memset(letter, 0, sizeof *letter);
    make_bytes(key, sizeof key, rng);
    make_bytes(value, sizeof value, rng);
    letter->kind = kind;
    letter->epoch = (uint32_t)rng_next(rng);
    letter->message.epoch = letter->epoch;
    letter->message.from = FROM;
    letter->group = (uint32_t)rng_next(rng);
    switch (kind) {
    case LETTER_REPLICA:
        make_message(&letter->message, rng);
        break;
    case LETTER_WRITE:
        make_write(letter, rng);
        break;
    case LETTER_ASK_PAGE:
    case LETTER_ASK_VALUES:
        letter->round = kind == LETTER_ASK_VALUES ? rng_next(rng) : 0;
        letter->first = rng_below(rng, 2);
        if (!letter->first)
            make_key(&letter->after, rng);
        break;
    case LETTER_PAGE:
    case LETTER_VALUES:
        letter->round = kind == LETTER_VALUES ? rng_next(rng) : 0;
        make_page(letter, rng);
        break;
    case LETTER_COPY:
    case LETTER_MEND:
        make_record(letter, rng);
        break;
    case LETTER_CONFIRMED:
        letter->lease = (int64_t)(rng_next(rng) >> 1);
        letter->round = rng_next(rng);
        break;
    case LETTER_CONFIRM:
        letter->round = rng_next(rng);
        break;
    case LETTER_REQUEST:
    case LETTER_ANSWER:
    case LETTER_INQUIRY:
    case LETTER_REPORT:
    case LETTER_ASK_KEYS:
    case LETTER_PAGE_TOLD:
        letter->bytes = value;
        letter->size = make_size(rng, VALUE_MAX);
        letter->ticket = rng_next(rng);
        break;
    case LETTER_RETRY:
        letter->ticket = rng_next(rng);
        letter->server = rng_below(rng, 2) ? WEFT_NOBODY : (uint32_t)rng_next(rng);
        break;
    case LETTER_FETCH:
        make_key(&letter->after, rng);
        letter->after.version = rng_next(rng) | 1;
        break;
    case LETTER_COMPARE:
        letter->round = rng_next(rng);
        letter->ticket = rng_next(rng);
        break;
    case LETTER_COMPARED:
        letter->last = rng_below(rng, 2);
        break;
    }
}

static void assert_same_key(const struct letter_key *a, const struct letter_key *b)
{
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->bytes, b->bytes, a->size);
    assert_true(a->version == b->version);
}

static void assert_same_record(const struct record *a, const struct record *b)
{
    assert_true(a->kind == b->kind && a->group == b->group && a->flags == b->flags);
    assert_true(a->request == b->request && a->client == b->client && a->version == b->version);
    assert_true(a->expiry == b->expiry && a->digest == b->digest);
    assert_true(a->key_size == b->key_size && a->value_size == b->value_size);
    assert_memory_equal(a->key, b->key, a->key_size);
    assert_memory_equal(a->value, b->value, a->value_size);
}

static void assert_same(const struct letter *a, const struct letter *b)
{
    assert_true(a->kind == b->kind && a->epoch == b->epoch && a->group == b->group);
    assert_memory_equal(&a->message, &b->message, sizeof a->message);
    assert_same_record(&a->record, &b->record);
    assert_true(a->first == b->first && a->last == b->last && a->key_count == b->key_count);
    assert_same_key(&a->after, &b->after);
    for (uint32_t i = 0; i < a->key_count; i++)
        assert_same_key(&a->keys[i], &b->keys[i]);
    assert_true(a->round == b->round && a->ticket == b->ticket && a->server == b->server);
    assert_int_equal(a->size, b->size);
    assert_memory_equal(a->bytes, b->bytes, a->size);
}

/* The letter in a block of exactly its size, so that a sanitizer notices a byte too many. */
static uint8_t *written(const struct letter *letter, size_t *size)
{
    *size = letter_size(letter);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    letter_write(letter, bytes);
    return bytes;
}

static bool is_read(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = letter_read(again, FROM, copy, size);
    free(copy);
    return sense;
}

static void letters_are_read_as_written(void **unused)
{
    size_t size, largest = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct rng rng = rng_make(seed, 1);
        make(made, LETTER_REPLICA + (unsigned)rng_below(&rng, LETTER_VALUES), &rng);
        if (seed % 100 == 1)
            print_message("# seeds from %lu\n", (unsigned long)seed);
        uint8_t *bytes = written(made, &size);
        memset(again, 0x5a, sizeof *again);
        assert_true(letter_read(again, FROM, bytes, size));
        assert_same(again, made);
        largest = size > largest ? size : largest;
        free(bytes);
    }
    assert_int_equal(largest, AT_CONTENT + 8 + 2 + LETTER_PAGE_KEYS * (1 + INDEX_KEY_SIZE_MAX + 8));
}

/* The bytes of a request are all to the end of the letter: store_request_read counts them. */
static void letters_are_refused_if_bytes_are_missing_or_left(void **unused)
{
    size_t size;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = rng_make(seed, 2);
        make(made, LETTER_REPLICA + (unsigned)rng_below(&rng, LETTER_VALUES), &rng);
        print_message("# seed %lu, kind %u\n", (unsigned long)seed, made->kind);
        bool open = made->kind == LETTER_REQUEST || made->kind == LETTER_ANSWER ||
                    (made->kind >= LETTER_INQUIRY && made->kind <= LETTER_PAGE_TOLD);
        uint8_t *bytes = written(made, &size), *longer = calloc(1, size + 1);
        assert_non_null(longer);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(is_read(bytes, i), open && i >= AT_CONTENT + 8);
        memcpy(longer, bytes, size);
        assert_int_equal(is_read(longer, size + 1), open);
        free(longer);
        free(bytes);
    }
}

static void damaged_values_are_refused(void **unused)
{
    size_t size;
    unsigned tried = 0;
    for (uint64_t seed = 1; tried < 50; seed++) {
        struct rng rng = rng_make(seed, 3);
        make(made, rng_below(&rng, 2) ? LETTER_WRITE : LETTER_COPY, &rng);
        if (made->record.value_size == 0)
            continue;
        print_message("# seed %lu\n", (unsigned long)seed);
        tried++;
        uint8_t *bytes = written(made, &size);
        for (size_t i = size - made->record.value_size; i < size; i++) {
            uint8_t flip = (uint8_t)(1 + rng_below(&rng, 255));
            bytes[i] ^= flip;
            assert_false(is_read(bytes, size));
            bytes[i] ^= flip;
        }
        assert_true(is_read(bytes, size));
        free(bytes);
    }
}

/* ---- nonsense ---- */

/* Is the letter read if the field of that many bytes has this content? */
static bool is_read_with(size_t at, unsigned field, uint64_t content)
{
    size_t size;
    uint8_t *bytes = written(made, &size);
    assert_true(is_read(bytes, size) && at + field <= size);
    struct writer out = writer_make(bytes + at, field);
    write_integer(&out, content, field);
    bool sense = is_read(bytes, size);
    free(bytes);
    return sense;
}

static void begin(enum letter_kind kind)
{
    memset(made, 0, sizeof *made);
    made->kind = kind;
}

static void add_record(enum record_kind kind, const char *text)
{
    made->record = (struct record){
        .kind = kind,
        .version = 3,
        .key = "key",
        .key_size = 3,
        .value = text,
        .value_size = (uint32_t)strlen(text),
        .digest = digest_bytes(text, strlen(text)),
    };
}

static void begin_write(void)
{
    begin(LETTER_WRITE);
    made->message.kind = REPLICA_WRITE;
    made->message.version = 3;
    made->message.previous = 2;
    add_record(RECORD_VALUE, "value");
}

static void begin_message(enum replica_kind kind, uint32_t count)
{
    begin(LETTER_REPLICA);
    made->message.kind = kind;
    made->message.peer_count = count;
    made->message.custody.keeper_count = count;
}

static void unknown_kinds_are_refused(void **unused)
{
    begin(LETTER_CONFIRM);
    assert_false(is_read_with(AT_KIND, 1, LETTER_CONFIRMED));
    assert_false(is_read_with(AT_KIND, 1, 0));
    begin(LETTER_ANSWER);
    assert_true(is_read_with(AT_KIND, 1, LETTER_REQUEST));
    assert_false(is_read_with(AT_KIND, 1, LETTER_VALUES + 1));
}

static void a_lease_without_a_length_is_refused(void **unused)
{
    begin(LETTER_CONFIRMED);
    made->lease = 1;
    assert_true(is_read_with(AT_CONTENT + 8, 1, 0x7f));
    assert_false(is_read_with(AT_CONTENT + 8, 1, 0x80)); /* it would be negative */
}

static void messages_that_are_nonsense_are_refused(void **unused)
{
    begin_message(REPLICA_STORED, 0);
    assert_true(is_read_with(AT_CONTENT, 1, REPLICA_COMMITTED));
    assert_false(is_read_with(AT_CONTENT, 1, REPLICA_WRITE));
    assert_false(is_read_with(AT_CONTENT, 1, REPLICA_RETIRED + 1));
    size_t after_version = AT_CONTENT + 9;
    begin_message(REPLICA_RETIRED, 0);
    assert_false(is_read_with(AT_CONTENT, 1, REPLICA_RETIRED + 1));
    assert_true(is_read_with(after_version + 8, 1, 1)); /* hollow */
    assert_false(is_read_with(after_version + 8, 1, 2));
    assert_false(is_read_with(after_version + 9, 1, 1)); /* and no keeper follows */
    begin_message(REPLICA_ACTIVATE, 0);
    assert_false(is_read_with(after_version, 1, 1));
}

/* A message with one server too many, and all that this needs. */
static bool is_read_with_another(enum replica_kind kind, size_t count_at, uint32_t item)
{
    size_t size;
    begin_message(kind, KEEPERS_MAX);
    uint8_t *bytes = written(made, &size), *longer = calloc(1, size + item);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    assert_int_equal(bytes[count_at], KEEPERS_MAX);
    longer[count_at]++;
    assert_true(is_read(bytes, size));
    bool sense = is_read(longer, size + item);
    free(bytes);
    free(longer);
    return sense;
}

static void too_many_servers_are_refused(void **unused)
{
    size_t after_version = AT_CONTENT + 9;
    assert_false(is_read_with_another(REPLICA_ACTIVATE, after_version, 4));
    assert_false(is_read_with_another(REPLICA_LEAD, after_version, 12));
    assert_false(is_read_with_another(REPLICA_REPORT, after_version + 9, 4));
}

static void writes_that_are_nonsense_are_refused(void **unused)
{
    begin_write();
    assert_true(is_read_with(AT_PREVIOUS, 8, 0));
    assert_false(is_read_with(AT_PREVIOUS, 8, 3)); /* follows itself */
    assert_false(is_read_with(AT_CONTENT, 8, 0));
    assert_true(is_read_with(AT_RECORD_FLAGS, 4, 77));
    assert_false(is_read_with(AT_RECORD, 1, RECORD_MARK));
    assert_false(is_read_with(AT_RECORD, 1, 0)); /* then nothing follows */
    assert_false(is_read_with(AT_RECORD, 1, RECORD_TOMBSTONE));
    assert_false(is_read_with(AT_RECORD_DIGEST, 8, 1));
    assert_true(is_read_with(AT_RECORD_EXPIRY, 8, INT64_MAX));
    assert_false(is_read_with(AT_RECORD_EXPIRY, 8, (uint64_t)INT64_MAX + 1));
    assert_false(is_read_with(AT_RECORD_KEY_SIZE, 1, 4));
    assert_false(is_read_with(AT_RECORD_KEY_SIZE, 1, 2));
    assert_false(is_read_with(AT_RECORD_VALUE_SIZE, 4, 4));
    assert_false(is_read_with(AT_RECORD_VALUE_SIZE, 4, UINT32_MAX));
    add_record(RECORD_VALUE, "");
    assert_true(is_read_with(AT_RECORD, 1, RECORD_TOMBSTONE));
    assert_true(is_read_with(AT_RECORD, 1, RECORD_OUTCOME));
    assert_true(is_read_with(AT_RECORD, 1, RECORD_REFUSED));
    assert_false(is_read_with(AT_RECORD, 1, RECORD_DISOWNED)); /* each server knows that itself */
    assert_false(is_read_with(AT_RECORD, 1, RECORD_KINDS));
    made->record.expiry = 1;
    assert_false(is_read_with(AT_RECORD, 1, RECORD_TOMBSTONE));
    assert_false(is_read_with(AT_RECORD, 1, RECORD_OUTCOME));
    begin(LETTER_WRITE);
    made->message.kind = REPLICA_WRITE;
    made->message.version = 3;
    assert_false(is_read_with(AT_RECORD, 1, RECORD_VALUE));
}

/* That number is of the sender's log. */
static void the_segment_of_a_tombstone_is_not_sent(void **unused)
{
    size_t size;
    begin(LETTER_COPY);
    add_record(RECORD_TOMBSTONE, "");
    made->record.expiry = 7;
    uint8_t *bytes = written(made, &size);
    assert_true(letter_read(again, FROM, bytes, size));
    assert_int_equal(again->record.expiry, 0);
    free(bytes);
}

static void copies_that_are_nonsense_are_refused(void **unused)
{
    size_t size;
    begin(LETTER_COPY);
    add_record(RECORD_VALUE, "value");
    assert_true(is_read_with(AT_CONTENT, 8, UINT64_MAX));
    assert_false(is_read_with(AT_CONTENT, 8, 0));
    uint8_t *bytes = written(made, &size);
    bytes[AT_CONTENT + 8] = 0; /* no record */
    assert_false(is_read(bytes, AT_CONTENT + 9));
    free(bytes);
}

static void set_page_key(uint32_t i, const char *text)
{
    struct letter_key *out = &made->keys[i];
    *out = (struct letter_key){.size = (uint8_t)strlen(text), .version = 1};
    memcpy(out->bytes, text, out->size);
}

static bool is_page_read(const char *one, const char *other)
{
    size_t size;
    begin(LETTER_PAGE);
    made->key_count = 2;
    set_page_key(0, one);
    set_page_key(1, other);
    uint8_t *bytes = written(made, &size);
    bool sense = is_read(bytes, size);
    free(bytes);
    return sense;
}

static void keys_of_a_page_ascend(void **unused)
{
    assert_true(is_page_read("a", "b"));
    assert_true(is_page_read("", "a"));
    assert_true(is_page_read("a", "aa"));
    assert_true(is_page_read("aa", "b"));
    assert_true(is_page_read("a", "\xff")); /* bytes are not signed */
    assert_false(is_page_read("b", "a"));
    assert_false(is_page_read("a", ""));
    assert_false(is_page_read("aa", "a"));
    assert_false(is_page_read("b", "aa"));
    assert_false(is_page_read("a", "a"));
    assert_false(is_page_read("", ""));
    assert_false(is_page_read("\xff", "a"));
}

static void pages_that_are_nonsense_are_refused(void **unused)
{
    size_t size, entry = 1 + 1 + 8;
    begin(LETTER_PAGE);
    made->last = true;
    assert_false(is_read_with(AT_CONTENT, 1, 2));
    assert_false(is_read_with(AT_CONTENT, 1, 0)); /* no keys, and more of them */
    made->key_count = 1;
    set_page_key(0, "a");
    assert_true(is_read_with(AT_CONTENT, 1, 0));
    assert_false(is_read_with(AT_CONTENT + 1, 1, 0));
    assert_false(is_read_with(AT_CONTENT + 1, 1, 2));
    assert_false(is_read_with(AT_CONTENT + 2 + 2, 8, 0)); /* a key without a version */
    made->key_count = LETTER_PAGE_KEYS;
    for (uint32_t i = 0; i < LETTER_PAGE_KEYS; i++)
        set_page_key(i, (char[]){(char)(' ' + i), 0});
    uint8_t *bytes = written(made, &size), *longer = malloc(size + entry);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    memcpy(longer + size, bytes + size - entry, entry);
    longer[size + 1]++;
    longer[AT_CONTENT + 1] = LETTER_PAGE_KEYS + 1;
    assert_true(is_read(bytes, size));
    assert_false(is_read(longer, size + entry));
    free(bytes);
    free(longer);
    begin(LETTER_ASK_PAGE);
    made->first = true;
    assert_false(is_read_with(AT_CONTENT, 1, 2));
    assert_false(is_read_with(AT_CONTENT, 1, 0)); /* then there is a key */
}

/* ---- limits ---- */

/* A letter whose last field is a key of the most bytes, with one byte more. */
static void assert_no_longer_key(size_t size_at)
{
    size_t size;
    uint8_t *bytes = written(made, &size), *longer = calloc(1, size + 1);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    assert_int_equal(bytes[size_at], RECORD_KEY_MAX);
    longer[size_at] = RECORD_KEY_MAX + 1;
    assert_true(is_read(bytes, size));
    assert_false(is_read(longer, size + 1));
    free(bytes);
    free(longer);
}

static void keys_have_at_most_250_bytes(void **unused)
{
    begin_write();
    add_record(RECORD_VALUE, "");
    made->record.key = key;
    made->record.key_size = 0;
    assert_int_equal(letter_size(made), AT_RECORD_KEY);
    assert_true(is_read_with(AT_RECORD, 1, RECORD_VALUE));
    made->record.key_size = RECORD_KEY_MAX;
    assert_int_equal(letter_size(made), AT_RECORD_KEY + RECORD_KEY_MAX);
    assert_no_longer_key(AT_RECORD_KEY_SIZE);
    begin(LETTER_ASK_PAGE);
    made->after.size = INDEX_KEY_SIZE_MAX;
    assert_no_longer_key(AT_CONTENT + 1);
    begin(LETTER_PAGE);
    made->key_count = 1;
    made->keys[0] = (struct letter_key){.size = INDEX_KEY_SIZE_MAX, .version = 1};
    memset(made->keys[0].bytes, 1, INDEX_KEY_SIZE_MAX);
    size_t size;
    uint8_t *bytes = written(made, &size);
    uint8_t longer[AT_CONTENT + 3 + RECORD_KEY_MAX + 9];
    memset(longer, 1, sizeof longer); /* the version, too */
    memcpy(longer, bytes, AT_CONTENT + 3);
    assert_int_equal(sizeof longer, size + 1);
    longer[AT_CONTENT + 2] = INDEX_KEY_SIZE_MAX + 1;
    assert_true(is_read(bytes, size));
    assert_false(is_read(longer, size + 1));
    free(bytes);
}

static void values_have_at_most_64_mebibytes(void **unused)
{
    char *zeros = calloc(1, RECORD_VALUE_MAX + 1);
    assert_non_null(zeros);
    begin_write();
    made->record.value = zeros;
    made->record.value_size = RECORD_VALUE_MAX;
    made->record.digest = digest_bytes(zeros, RECORD_VALUE_MAX);
    size_t size = letter_size(made);
    uint8_t *bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    letter_write(made, bytes);
    assert_true(letter_read(again, FROM, bytes, size));
    assert_int_equal(again->record.value_size, RECORD_VALUE_MAX);
    struct writer out = writer_make(bytes + AT_RECORD_VALUE_SIZE, 4);
    write_u32(&out, RECORD_VALUE_MAX + 1);
    out = writer_make(bytes + AT_RECORD_DIGEST, 8);
    write_u64(&out, digest_bytes(zeros, RECORD_VALUE_MAX + 1));
    assert_false(letter_read(again, FROM, bytes, size + 1));
    free(bytes);
    free(zeros);
}

/* Nothing of an earlier letter is left where the owner would look. */
static void a_letter_is_cleared_before_it_is_read(void **unused)
{
    size_t size;
    begin_write();
    uint8_t *bytes = written(made, &size);
    assert_true(letter_read(again, FROM, bytes, size));
    free(bytes);
    begin(LETTER_WRITE); /* without a record */
    made->message = (struct replica_message){.kind = REPLICA_WRITE, .version = 1};
    bytes = written(made, &size);
    assert_int_equal(size, AT_RECORD + 1);
    assert_true(letter_read(again, FROM + 1, bytes, size));
    assert_int_equal(again->message.from, FROM + 1);
    assert_true(!again->record.kind && !again->record.key && !again->record.value_size);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(letters_are_read_as_written),
        TEST(letters_are_refused_if_bytes_are_missing_or_left),
        TEST(damaged_values_are_refused),
        TEST(unknown_kinds_are_refused),
        TEST(a_lease_without_a_length_is_refused),
        TEST(messages_that_are_nonsense_are_refused),
        TEST(too_many_servers_are_refused),
        TEST(writes_that_are_nonsense_are_refused),
        TEST(the_segment_of_a_tombstone_is_not_sent),
        TEST(copies_that_are_nonsense_are_refused),
        TEST(keys_of_a_page_ascend),
        TEST(pages_that_are_nonsense_are_refused),
        TEST(keys_have_at_most_250_bytes),
        TEST(values_have_at_most_64_mebibytes),
        TEST(a_letter_is_cleared_before_it_is_read),
    };
    made = calloc(1, sizeof *made);
    again = calloc(1, sizeof *again);
    int failed = made && again ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    free(made);
    free(again);
    return failed;
}
