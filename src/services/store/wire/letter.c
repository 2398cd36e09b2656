/* letter: see the header. */
#include "services/store/wire/letter.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "wire/store.h"

#define HEAD_SIZE    LETTER_TICKET_AT /* of every letter */
#define WRITE_SIZE   16               /* of a WRITE, before the record */
#define RECORD_SIZE  38               /* besides key and value */
#define VERSION_SIZE 8
static_assert(INDEX_KEY_SIZE_MAX == RECORD_KEY_MAX && STORE_KEY_MAX == RECORD_KEY_MAX, "one limit");

/* ---- messages of replicas ---- */

enum { PEERS = 1, POSITIONS = 2, CUSTODY = 4 };

/* What a message of that kind has besides a version. */
static unsigned parts_of(enum replica_kind kind)
{
    switch (kind) {
    case REPLICA_LEAD:
        return PEERS | POSITIONS;
    case REPLICA_ACTIVATE:
    case REPLICA_GROW:
    case REPLICA_ADMIT:
    case REPLICA_RETIRE:
        return PEERS;
    case REPLICA_REPORT:
    case REPLICA_ACTIVATED:
    case REPLICA_SHOW:
    case REPLICA_COPIED:
    case REPLICA_GROWN:
    case REPLICA_ADMITTED:
    case REPLICA_RETIRED:
        return CUSTODY;
    case REPLICA_STORED: /* there is one for each write: its custody is left out */
    case REPLICA_COMMITTED:
    case REPLICA_LEARN:
    case REPLICA_COPY:
    case REPLICA_WRITE:
        break;
    }
    return 0;
}

static size_t message_size(const struct replica_message *message)
{
    unsigned parts = parts_of(message->kind);
    size_t size = 1 + VERSION_SIZE;
    if (parts & PEERS)
        size += 1 + (parts & POSITIONS ? 12 : 4) * (size_t)message->peer_count;
    if (parts & CUSTODY)
        size += 10 + 4 * (size_t)message->custody.keeper_count;
    return size;
}

static void put_message(struct writer *out, const struct replica_message *message)
{
    unsigned parts = parts_of(message->kind);
    assert(message->kind <= REPLICA_RETIRED && message->kind != REPLICA_WRITE);
    write_u8(out, (uint8_t)message->kind);
    write_u64(out, message->version);
    if (parts & PEERS) {
        assert(message->peer_count <= KEEPERS_MAX);
        write_u8(out, (uint8_t)message->peer_count);
        for (uint32_t i = 0; i < message->peer_count; i++) {
            write_u32(out, message->peers[i]);
            if (parts & POSITIONS)
                write_u64(out, message->positions[i]);
        }
    }
    if (parts & CUSTODY) {
        const struct custody *custody = &message->custody;
        assert(custody->keeper_count <= KEEPERS_MAX);
        write_u32(out, custody->since);
        write_u32(out, custody->ended);
        write_u8(out, (uint8_t)custody->hollow);
        write_u8(out, (uint8_t)custody->keeper_count);
        for (uint32_t i = 0; i < custody->keeper_count; i++)
            write_u32(out, custody->keepers[i]);
    }
}

static bool get_peers(struct reader *in, struct replica_message *message, bool positions)
{
    message->peer_count = read_u8(in);
    if (message->peer_count > KEEPERS_MAX)
        return false;
    for (uint32_t i = 0; i < message->peer_count; i++) {
        message->peers[i] = read_u32(in);
        if (positions)
            message->positions[i] = read_u64(in);
    }
    return true;
}

static bool get_custody(struct reader *in, struct custody *custody)
{
    custody->since = read_u32(in);
    custody->ended = read_u32(in);
    custody->hollow = read_u8(in);
    custody->keeper_count = read_u8(in);
    if (custody->hollow > 1 || custody->keeper_count > KEEPERS_MAX)
        return false;
    for (uint32_t i = 0; i < custody->keeper_count; i++)
        custody->keepers[i] = read_u32(in);
    return true;
}

static bool get_message(struct reader *in, struct replica_message *message)
{
    message->kind = read_u8(in);
    if (message->kind > REPLICA_RETIRED || message->kind == REPLICA_WRITE)
        return false;
    unsigned parts = parts_of(message->kind);
    message->version = read_u64(in);
    if (parts & PEERS && !get_peers(in, message, parts & POSITIONS))
        return false;
    return !(parts & CUSTODY) || get_custody(in, &message->custody);
}

/* ---- records ---- */

static size_t record_size(const struct record *record)
{
    return record->kind ? RECORD_SIZE + record->key_size + (size_t)record->value_size : 1;
}

/* Puts a value, unless only the head is wanted, which ends here. */
static void put_value(struct writer *out, const void *value, uint32_t size)
{
    if (out->left)
        write_bytes(out, value, size);
}

static void put_record(struct writer *out, const struct letter *letter)
{
    const struct record *record = &letter->record;
    assert(record->kind != RECORD_MARK && record->key_size <= RECORD_KEY_MAX);
    assert(record->value_size <= RECORD_VALUE_MAX);
    write_u8(out, (uint8_t)record->kind);
    if (!record->kind)
        return;
    write_u32(out, record->flags);
    write_u32(out, record->request);
    write_u64(out, record->client);
    /* Of a tombstone it is a segment of the sender's log. */
    write_u64(out, record->kind == RECORD_VALUE ? (uint64_t)record->expiry : 0);
    write_u64(out, record->digest);
    write_u8(out, record->key_size);
    write_u32(out, record->value_size);
    write_bytes(out, record->key, record->key_size);
    put_value(out, record->value, record->value_size);
}

/* All but key and value. */
static bool get_record_head(struct reader *in, struct record *record)
{
    record->flags = read_u32(in);
    record->request = read_u32(in);
    record->client = read_u64(in);
    record->expiry = (int64_t)read_u64(in);
    record->digest = read_u64(in);
    record->key_size = read_u8(in);
    record->value_size = read_u32(in);
    return record->key_size <= RECORD_KEY_MAX && record->value_size <= RECORD_VALUE_MAX &&
           (record->kind != RECORD_TOMBSTONE || !record->value_size) && record->expiry >= 0 &&
           (record->kind == RECORD_VALUE || !record->expiry);
}

static bool get_record(struct reader *in, struct letter *letter, store_version version,
                       const uint64_t *digest)
{
    struct record *record = &letter->record;
    uint8_t kind = read_u8(in);
    if (!kind || kind == RECORD_MARK || kind == RECORD_DISOWNED || kind >= RECORD_KINDS)
        return !kind;
    *record = (struct record){.kind = kind, .group = letter->group, .version = version};
    if (!get_record_head(in, record))
        return false;
    record->key = read_bytes(in, record->key_size);
    record->value = read_bytes(in, record->value_size);
    if (in->failed)
        return false;
    return digest ? *digest == record->digest : record_fits(record, record->value);
}

static void put_write(struct writer *out, const struct letter *letter)
{
    const struct replica_message *message = &letter->message;
    assert(message->kind == REPLICA_WRITE);
    assert(!letter->record.kind || letter->record.version == message->version);
    write_u64(out, message->version);
    write_u64(out, message->previous);
    put_record(out, letter);
}

static bool get_write(struct reader *in, struct letter *letter, const uint64_t *digest)
{
    struct replica_message *message = &letter->message;
    message->kind = REPLICA_WRITE;
    message->version = read_u64(in);
    message->previous = read_u64(in);
    return message->version > message->previous && get_record(in, letter, message->version, digest);
}

static bool get_copy(struct reader *in, struct letter *letter, const uint64_t *digest)
{
    store_version version = read_u64(in);
    return version && get_record(in, letter, version, digest) && letter->record.kind;
}

/* ---- pages ---- */

static void put_key(struct writer *out, const struct letter_key *key)
{
    assert(key->size <= INDEX_KEY_SIZE_MAX);
    write_u8(out, key->size);
    write_bytes(out, key->bytes, key->size);
}

static bool get_key(struct reader *in, struct letter_key *key)
{
    key->size = read_u8(in);
    if (key->size > INDEX_KEY_SIZE_MAX)
        return false;
    read_copy(in, key->bytes, key->size);
    return true;
}

static bool is_before(const struct letter_key *a, const struct letter_key *b)
{
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order < 0 || (order == 0 && a->size < b->size);
}

static bool get_ask_page(struct reader *in, struct letter *letter)
{
    uint8_t first = read_u8(in);
    letter->first = first;
    return first <= 1 && (first || get_key(in, &letter->after));
}

static size_t page_size(const struct letter *letter)
{
    size_t size = 2;
    for (uint32_t i = 0; i < letter->key_count; i++)
        size += 1 + letter->keys[i].size + (size_t)VERSION_SIZE;
    return size;
}

static void put_page(struct writer *out, const struct letter *letter)
{
    assert(letter->key_count <= LETTER_PAGE_KEYS);
    write_u8(out, letter->last);
    write_u8(out, (uint8_t)letter->key_count);
    for (uint32_t i = 0; i < letter->key_count; i++) {
        put_key(out, &letter->keys[i]);
        write_u64(out, letter->keys[i].version);
    }
}

static bool get_page(struct reader *in, struct letter *letter)
{
    struct letter_key *keys = letter->keys;
    uint8_t last = read_u8(in), count = read_u8(in);
    letter->last = last;
    /* A page without keys after which more are to come would lead nowhere. */
    if (last > 1 || count > LETTER_PAGE_KEYS || (count == 0 && !last))
        return false;
    letter->key_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!get_key(in, &keys[i]))
            return false;
        keys[i].version = read_u64(in);
        if (!keys[i].version || (i && !is_before(&keys[i - 1], &keys[i])))
            return false;
    }
    return true;
}

/* ---- letters ---- */

size_t letter_size(const struct letter *letter)
{
    switch (letter->kind) {
    case LETTER_REPLICA:
        return HEAD_SIZE + message_size(&letter->message);
    case LETTER_WRITE:
        return HEAD_SIZE + WRITE_SIZE + record_size(&letter->record);
    case LETTER_ASK_PAGE:
        return HEAD_SIZE + 1 + (letter->first ? 0 : 1 + (size_t)letter->after.size);
    case LETTER_ASK_VALUES:
        return HEAD_SIZE + 8 + 1 + (letter->first ? 0 : 1 + (size_t)letter->after.size);
    case LETTER_PAGE:
        return HEAD_SIZE + page_size(letter);
    case LETTER_VALUES:
        return HEAD_SIZE + 8 + page_size(letter);
    case LETTER_COPY:
    case LETTER_MEND:
        return HEAD_SIZE + VERSION_SIZE + record_size(&letter->record);
    case LETTER_CONFIRM:
        return HEAD_SIZE + 8;
    case LETTER_CONFIRMED:
        return HEAD_SIZE + 8 + 8;
    case LETTER_REQUEST:
    case LETTER_ANSWER:
        return HEAD_SIZE + 8 + (size_t)letter->size + letter->tail_size;
    case LETTER_INQUIRY:
    case LETTER_REPORT:
    case LETTER_ASK_KEYS:
    case LETTER_PAGE_TOLD:
        return HEAD_SIZE + 8 + (size_t)letter->size;
    case LETTER_RETRY:
        return HEAD_SIZE + 8 + 4;
    case LETTER_FETCH:
        return HEAD_SIZE + 1 + (size_t)letter->after.size + VERSION_SIZE;
    case LETTER_COMPARE:
        return HEAD_SIZE + 8 + 8;
    case LETTER_COMPARED:
        return HEAD_SIZE + 1;
    }
    assert_unreachable();
}

static void put_content(struct writer *out, const struct letter *letter)
{
    switch (letter->kind) {
    case LETTER_REPLICA:
        put_message(out, &letter->message);
        break;
    case LETTER_WRITE:
        put_write(out, letter);
        break;
    case LETTER_ASK_VALUES:
        write_u64(out, letter->round);
        write_u8(out, letter->first);
        if (!letter->first)
            put_key(out, &letter->after);
        break;
    case LETTER_ASK_PAGE:
        write_u8(out, letter->first);
        if (!letter->first)
            put_key(out, &letter->after);
        break;
    case LETTER_VALUES:
        write_u64(out, letter->round);
        put_page(out, letter);
        break;
    case LETTER_PAGE:
        put_page(out, letter);
        break;
    case LETTER_COPY:
    case LETTER_MEND:
        assert(letter->record.kind);
        write_u64(out, letter->record.version);
        put_record(out, letter);
        break;
    case LETTER_CONFIRM:
        write_u64(out, letter->round);
        break;
    case LETTER_CONFIRMED:
        write_u64(out, letter->round);
        write_u64(out, (uint64_t)letter->lease);
        break;
    case LETTER_REQUEST:
    case LETTER_ANSWER:
    case LETTER_INQUIRY:
    case LETTER_REPORT:
    case LETTER_ASK_KEYS:
    case LETTER_PAGE_TOLD:
        write_u64(out, letter->ticket);
        write_bytes(out, letter->bytes, letter->size);
        if (letter->kind == LETTER_REQUEST || letter->kind == LETTER_ANSWER)
            put_value(out, letter->tail, letter->tail_size);
        break;
    case LETTER_RETRY:
        write_u64(out, letter->ticket);
        write_u32(out, letter->server);
        break;
    case LETTER_FETCH:
        put_key(out, &letter->after);
        write_u64(out, letter->after.version);
        break;
    case LETTER_COMPARE:
        write_u64(out, letter->round);
        write_u64(out, letter->ticket);
        break;
    case LETTER_COMPARED:
        write_u8(out, letter->last);
        break;
    }
}

static void put(struct writer *out, const struct letter *letter)
{
    bool is_message = letter->kind == LETTER_REPLICA || letter->kind == LETTER_WRITE;
    assert(!is_message || letter->message.epoch == letter->epoch);
    write_u8(out, (uint8_t)letter->kind);
    write_u32(out, letter->epoch);
    write_u32(out, letter->group);
    put_content(out, letter);
    assert(!out->failed && out->left == 0);
}

void letter_write(const struct letter *letter, void *out)
{
    struct writer to = writer_make(out, letter_size(letter));
    put(&to, letter);
}

const void *letter_value(const struct letter *letter, uint32_t *size)
{
    bool has_record =
        letter->kind == LETTER_WRITE || letter->kind == LETTER_COPY || letter->kind == LETTER_MEND;
    bool has_tail = letter->kind == LETTER_REQUEST || letter->kind == LETTER_ANSWER;
    *size = has_record ? letter->record.value_size : has_tail ? letter->tail_size : 0;
    return !*size ? NULL : has_record ? letter->record.value : letter->tail;
}

void letter_write_head(const struct letter *letter, void *out)
{
    uint32_t size;
    (void)letter_value(letter, &size);
    struct writer to = writer_make(out, letter_size(letter) - size);
    put(&to, letter);
}

static bool get_ticket(struct reader *in, struct letter *letter)
{
    letter->ticket = read_u64(in);
    if (letter->kind == LETTER_RETRY) {
        letter->server = read_u32(in);
        return true;
    }
    if (in->left > UINT32_MAX)
        return false;
    letter->size = (uint32_t)in->left;
    letter->bytes = read_bytes(in, in->left);
    return true;
}

static bool get_fetch(struct reader *in, struct letter *letter)
{
    bool sense = get_key(in, &letter->after);
    letter->after.version = read_u64(in);
    return sense && letter->after.version;
}

static bool get_compared(struct reader *in, struct letter *letter)
{
    uint8_t same = read_u8(in);
    letter->last = same;
    return same <= 1;
}

static bool get_content(struct reader *in, struct letter *letter, const uint64_t *digest)
{
    switch (letter->kind) {
    case LETTER_REPLICA:
        return get_message(in, &letter->message);
    case LETTER_WRITE:
        return get_write(in, letter, digest);
    case LETTER_ASK_VALUES:
        letter->round = read_u64(in);
        return get_ask_page(in, letter);
    case LETTER_ASK_PAGE:
        return get_ask_page(in, letter);
    case LETTER_VALUES:
        letter->round = read_u64(in);
        return get_page(in, letter);
    case LETTER_PAGE:
        return get_page(in, letter);
    case LETTER_COPY:
    case LETTER_MEND:
        return get_copy(in, letter, digest);
    case LETTER_CONFIRM:
        letter->round = read_u64(in);
        return true;
    case LETTER_CONFIRMED:
        letter->round = read_u64(in);
        letter->lease = (int64_t)read_u64(in);
        return letter->lease >= 0;
    case LETTER_REQUEST:
    case LETTER_ANSWER:
    case LETTER_INQUIRY:
    case LETTER_REPORT:
    case LETTER_RETRY:
    case LETTER_ASK_KEYS:
    case LETTER_PAGE_TOLD:
        return get_ticket(in, letter);
    case LETTER_FETCH:
        return get_fetch(in, letter);
    case LETTER_COMPARE:
        letter->round = read_u64(in);
        letter->ticket = read_u64(in);
        return true;
    case LETTER_COMPARED:
        return get_compared(in, letter);
    }
    return false; /* what a peer sent can be any number */
}

static bool read(struct letter *letter, uint32_t from, const void *bytes, size_t size,
                 const uint64_t *digest)
{
    struct reader in = reader_make(bytes, size);
    memset(letter, 0, offsetof(struct letter, keys));
    letter->kind = (enum letter_kind)read_u8(&in);
    letter->epoch = read_u32(&in);
    letter->group = read_u32(&in);
    letter->message.epoch = letter->epoch;
    letter->message.from = from;
    return get_content(&in, letter, digest) && !in.failed && in.left == 0;
}

bool letter_read(struct letter *letter, uint32_t from, const void *bytes, size_t size)
{
    return read(letter, from, bytes, size, NULL);
}

bool letter_read_digested(struct letter *letter, uint32_t from, const void *bytes, size_t size,
                          uint64_t digest)
{
    return read(letter, from, bytes, size, &digest);
}

/* The head of the letter is followed by a record. */
static size_t record_value_at(struct reader *in, struct record *record, size_t skipped)
{
    size_t left = in->left;
    (void)read_bytes(in, skipped);
    record->kind = read_u8(in);
    bool sense = get_record_head(in, record);
    (void)read_bytes(in, record->key_size);
    return sense && !in->failed ? left - in->left : 0;
}

/* By a ticket and a request, or an answer. */
static size_t ticket_value_at(struct reader *in, bool requests, uint32_t *value_size)
{
    struct store_request request;
    struct store_answer answer;
    (void)read_u64(in);
    if (in->failed)
        return 0;
    size_t head = requests ? store_request_read_head(&request, in->next, in->left)
                           : store_answer_read_head(&answer, in->next, in->left);
    *value_size = !head ? 0 : requests ? request.value_size : answer.value_size;
    return head ? 8 + head : 0;
}

size_t letter_value_at(const void *bytes, size_t there, size_t size, bool *digested)
{
    struct reader in = reader_make(bytes, there);
    struct record record = {0};
    uint32_t value_size = 0;
    size_t at = 0;
    uint8_t kind = read_u8(&in);
    (void)read_bytes(&in, HEAD_SIZE - 1);
    *digested = kind != LETTER_ANSWER;
    if (kind == LETTER_WRITE || kind == LETTER_COPY || kind == LETTER_MEND) {
        at = record_value_at(&in, &record, kind == LETTER_WRITE ? WRITE_SIZE : VERSION_SIZE);
        value_size = record.value_size;
    } else if (kind == LETTER_REQUEST || kind == LETTER_ANSWER) {
        at = ticket_value_at(&in, kind == LETTER_REQUEST, &value_size);
    }
    return at && HEAD_SIZE + at + value_size == size && value_size ? HEAD_SIZE + at : 0;
}
