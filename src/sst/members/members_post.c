/* members_post: messages to be sent. ripc returns -EAGAIN while a connection to the peer is being
 * made or has no room, and reports by an event when to try again. Until then messages wait here, in
 * order. The council repeats lost messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sst/members/members_impl.h"

#define LETTERS_MAX      1024 /* for all receivers together */
#define LETTERS_OF_ONE   16
#define LETTER_LIFE_NSEC (2 * NSEC_PER_SEC)

struct council_letter {
    struct list node;
    ripc_id to;
    int64_t expires;
    size_t size;
    uint8_t bytes[];
};

static struct council_letter *letter_of(struct list *node)
{
    return container_of(node, struct council_letter, node);
}

/* Frees a letter that is in no list. */
static void letter_free(struct members *members, struct council_letter *letter)
{
    members->letter_count--;
    free(letter);
}

static unsigned letters_for(const struct list *letters, ripc_id to)
{
    unsigned count = 0;
    list_each(letters, node) count += letter_of(node)->to == to;
    return count;
}

static int letter_keep(struct members *members, ripc_id to, const uint8_t *bytes, size_t size)
{
    if (members->letter_count >= LETTERS_MAX ||
        letters_for(&members->letters, to) >= LETTERS_OF_ONE)
        return -EAGAIN;
    struct council_letter *letter = malloc(sizeof *letter + size);
    if (!letter)
        return -ENOMEM;
    letter->to = to;
    letter->size = size;
    letter->expires = ripc_after(LETTER_LIFE_NSEC);
    memcpy(letter->bytes, bytes, size);
    list_append(&members->letters, &letter->node);
    members->letter_count++;
    return 0;
}

/* If the group is empty, the table may not exist. */
static int post_try(struct members *members, ripc_id to, const uint8_t *bytes, size_t size)
{
    int result = ripc_send(members->service, to, bytes, size, RIPC_NOW);
    if (to == members->group && (result == -ENOENT || result == -ECONNREFUSED))
        members->group_empty = true;
    return result;
}

int post_send(struct members *members, ripc_id to, const uint8_t *bytes, size_t size)
{
    int result = letters_for(&members->letters, to) ? -EAGAIN /* an earlier letter goes first */
                                                    : post_try(members, to, bytes, size);
    return result == -EAGAIN ? letter_keep(members, to, bytes, size) : result;
}

int post_flush(struct members *members)
{
    int sent = 0;
    int64_t now = ripc_now();
    struct list kept, *node;
    list_init(&kept);
    while ((node = list_take(&members->letters))) {
        struct council_letter *letter = letter_of(node);
        int result = -EAGAIN;
        if (!letters_for(&kept, letter->to)) /* otherwise an earlier letter goes first */
            result = post_try(members, letter->to, letter->bytes, letter->size);
        if (result == -EAGAIN && now < letter->expires) {
            list_append(&kept, node);
            continue;
        }
        sent += result == 0;
        letter_free(members, letter);
    }
    while ((node = list_take(&kept)))
        list_append(&members->letters, node);
    return sent;
}

void post_drop(struct members *members)
{
    struct list *node;
    while ((node = list_take(&members->letters)))
        letter_free(members, letter_of(node));
}

int64_t post_due(const struct members *members)
{
    /* Letters are in the order of their expiry. */
    return list_is_empty(&members->letters) ? NSEC_NEVER
                                            : letter_of(members->letters.next)->expires;
}
