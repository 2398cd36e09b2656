/* custody: see the header. */
#include "services/store/replica/custody.h"

#include <assert.h>
#include <string.h>

#include "services/store/planted.h"

static void set_keepers(struct custody *custody, const uint32_t *keepers, uint32_t count)
{
    assert(count <= KEEPERS_MAX);
    memset(custody->keepers, 0, sizeof custody->keepers);
    memcpy(custody->keepers, keepers, count * sizeof *keepers);
    custody->keeper_count = count;
}

void custody_found(struct custody *custody, const uint32_t *keepers, uint32_t count)
{
    *custody = (struct custody){.since = 1};
    set_keepers(custody, keepers, count);
}

bool custody_is_open(const struct custody *custody)
{
    return custody->since && custody->ended == 0;
}

void custody_pass(struct custody *custody, const struct roster *roster, uint32_t server,
                  uint32_t before)
{
    if (!custody_is_open(custody) || roster_stayed(roster, server, custody->since))
        return;
    /* The roster knows the last membership. If the custody was opened in an earlier one, the view
     * that the server had installed before is no later than that one's end. */
    const struct roster_entry *entry = &roster->entries[server];
    bool is_last = entry->from <= custody->since && custody->since <= entry->until;
    custody->ended = is_last ? entry->until : before;
}

bool custody_keeps(const struct custody *custody, uint32_t server)
{
    for (uint32_t i = 0; i < custody->keeper_count; i++) {
        if (custody->keepers[i] == server)
            return true;
    }
    return false;
}

void custody_forget(struct custody *custody)
{
    if (custody->since && !STORE_HAS(MEMORY_TRUSTED))
        custody->hollow = 1;
}

bool custody_same(const struct custody *a, const struct custody *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

void custody_open(struct custody *custody, uint32_t epoch, const uint32_t *keepers, uint32_t count)
{
    if (!custody_is_open(custody))
        *custody = (struct custody){.since = epoch};
    set_keepers(custody, keepers, count);
}

void custody_retire(struct custody *custody, uint32_t epoch, const uint32_t *keepers,
                    uint32_t count)
{
    assert(custody_is_open(custody) && epoch > 1);
    if (STORE_HAS(CUSTODY_DROPPED)) {
        *custody = (struct custody){0};
        return;
    }
    custody->ended = epoch - 1;
    custody->hollow = 1;
    set_keepers(custody, keepers, count);
}
