/* bank: several programs move money between two accounts that are one value of the store, and none
 * of it is lost.
 *
 *     weft up torus:3x3 --service store
 *     cc -o bank bank.c $(pkg-config --cflags --libs weft)
 *     ./bank 100 & ./bank 100; wait
 *
 * Each move reads both accounts with their version, and writes them back if the version is still
 * the same. If another program was faster, it begins again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/store.h>

#define KEY      "accounts"
#define MONEY    100
#define PATIENCE weft_deadline(30000000000) /* 30 s */

struct accounts {
    int left, right;
    uint64_t version; /* of the value that was read; 0: there is none */
};

/* Exits if the result is an error. */
static int must(const char *what, int result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, weft_store_strerror(result));
    exit(EXIT_FAILURE);
}

static struct accounts accounts_read(struct weft_store *store)
{
    struct accounts accounts = {.left = MONEY};
    char text[64];
    int size =
        weft_store_get(store, KEY, strlen(KEY), text, sizeof text - 1, &accounts.version, PATIENCE);
    if (size == -ENOENT) /* no program has opened them yet */
        return accounts;
    text[must("read", size)] = '\0';
    if (sscanf(text, "%d %d", &accounts.left, &accounts.right) != 2)
        must(text, -EINVAL);
    return accounts;
}

/* Returns 0 if the accounts have changed since they were read. */
static int accounts_write(struct weft_store *store, struct accounts *accounts)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%d %d", accounts->left, accounts->right);
    int result = weft_store_exchange(store, KEY, strlen(KEY), text, (size_t)size,
                                     &accounts->version, PATIENCE);
    if (result == -ESTALE || result == -EEXIST)
        return 0;
    must("write", result);
    return 1;
}

/* Returns how often another program was faster. */
static unsigned move(struct weft_store *store, int amount)
{
    for (unsigned tries = 0;; tries++) {
        struct accounts accounts = accounts_read(store);
        accounts.left -= amount;
        accounts.right += amount;
        if (accounts_write(store, &accounts))
            return tries;
    }
}

/* How often each program has moved money, all counted in one value. */
static uint64_t count(struct weft_store *store, int moves)
{
    uint64_t number;
    int result = weft_store_add(store, "moves", 5, moves, &number, PATIENCE);
    while (result == -ENOENT) { /* one of the programs begins to count */
        uint64_t version = 0;
        int made = weft_store_exchange(store, "moves", 5, "0", 1, &version, PATIENCE);
        must("count", made == -EEXIST ? 0 : made);
        result = weft_store_add(store, "moves", 5, moves, &number, PATIENCE);
    }
    must("count", result);
    return number;
}

int main(int word_count, char **words)
{
    struct weft_store *store;
    int moves = word_count > 1 ? atoi(words[1]) : 10;
    unsigned again = 0;
    must("open", weft_store_open(NULL, WEFT_ANY, &store));
    for (int i = 0; i < moves; i++)
        again += move(store, i % 3 - 1);
    struct accounts accounts = accounts_read(store);
    printf("%" PRIu64 " moves by all programs; this one began %u of its moves again\n",
           count(store, moves), again);
    printf("the accounts have %d in all\n", accounts.left + accounts.right);
    must("close", weft_store_close(store));
    return 0;
}
