/* Tests claims in files and datagrams, and the names of those files: input is refused, or is
 * exactly what our writer would write. A fuzzer cannot guess a seal, so each input is also tried
 * with the correct seal in its last bytes. */
#include <sodium.h>

#include "fuzz.h"
#include "ripc/names/claim.h"

enum { SEAL_SIZE = 16 };

static void datagram_try(const uint8_t *data, size_t size, const struct seal *seal)
{
    uint8_t again[DATAGRAM_SIZE_MAX];
    struct datagram datagram;
    uint64_t domain = 0;
    for (size_t i = 8; i < 16 && i < size; i++)
        domain = domain << 8 | data[i];
    int result = datagram_read(&datagram, domain, seal, data, size);
    assert(result <= 0);
    if (result == 0) {
        assert(datagram_write(&datagram, seal, again) == size);
        assert(memcmp(again, data, size) == 0);
        for (unsigned i = 0; i < datagram.count; i++)
            assert(claim_is_sound(&datagram.claims[i]));
    }
    if (size >= 16)
        assert(datagram_read(&datagram, domain + 1, seal, data, size) != 0);
}

static void record_try(const uint8_t *data, size_t size, const struct seal *seal)
{
    uint8_t again[CLAIM_RECORD_SIZE];
    struct claim claim;
    if (claim_record_read(&claim, seal, data, size) != 0)
        return;
    assert(claim_is_sound(&claim) && size == sizeof again);
    claim_record_write(&claim, seal, again);
    assert(memcmp(again, data, size) == 0);
}

static void name_try(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1), again[CLAIM_NAME_SIZE];
    uint64_t id, member;
    assert(name);
    memcpy(name, data, size);
    name[size] = 0;
    if (claim_name_read(name, &id, &member)) {
        assert(id && member);
        claim_name_write(again, id, member);
        assert(!strcmp(again, name));
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t key[CLAIM_KEY_SIZE] = {42};
    struct seal keyed, plain;
    assert(seal_init(&keyed, key) == 0 && seal_init(&plain, NULL) == 0);
    datagram_try(data, size, &keyed);
    datagram_try(data, size, &plain);
    record_try(data, size, &plain);
    name_try(data, size);
    if (size < SEAL_SIZE)
        return 0;
    for (int i = 0; i < 2; i++) {
        const struct seal *seal = i ? &keyed : &plain;
        uint8_t *copy = malloc(size);
        assert(copy);
        memcpy(copy, data, size);
        crypto_generichash(copy + size - SEAL_SIZE, SEAL_SIZE, copy, size - SEAL_SIZE,
                           seal->keyed ? seal->key : NULL, seal->keyed ? sizeof seal->key : 0);
        datagram_try(copy, size, seal);
        record_try(copy, size, seal);
        free(copy);
    }
    return 0;
}
