/* client_table: the clients of one socket. Entries are never moved to another index, and a free
 * entry remembers how often it was used. */
#include "base/array.h"
#include "base/check.h"
#include "os/host/client_impl.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

void client_table_init(struct client_table *table)
{
    *table = (struct client_table){.free = NONE};
}

void client_table_fini(struct client_table *table)
{
    assert(!table->client_count);
    free(table->entries);
    client_table_init(table);
}

int client_table_add(struct client_table *table, struct client *client)
{
    if (table->free == NONE) {
        if (!array_reserve(&table->entries, &table->capacity, table->entry_count + 1,
                           sizeof *table->entries))
            return -ENOMEM;
        table->entries[table->entry_count] = (struct client_entry){.next = NONE};
        table->free = table->entry_count++;
    }
    struct client_entry *entry = &table->entries[table->free];
    client->index = table->free;
    table->free = entry->next;
    entry->client = client;
    table->client_count++;
    return 0;
}

void client_table_remove(struct client_table *table, const struct client *client)
{
    struct client_entry *entry = &table->entries[client->index];
    assert(entry->client == client);
    *entry = (struct client_entry){.turn = entry->turn + 1, .next = table->free};
    table->free = client->index;
    table->client_count--;
}

uint64_t client_table_number(const struct client_table *table, const struct client *client)
{
    return (uint64_t)table->entries[client->index].turn << 32 | client->index;
}

struct client *client_table_find(const struct client_table *table, uint64_t number)
{
    uint32_t index = (uint32_t)number;
    if (index >= table->entry_count || table->entries[index].turn != number >> 32)
        return NULL;
    return table->entries[index].client;
}
