/* replay: runs a fuzz target without a fuzzer: on every file of its corpus, and on seeded mutations
 * of each (truncated, bits flipped, bytes moved), so that an ordinary test run still tries some
 * thousand invalid inputs on every reader. Prints each file and the seed, so that a crash can be
 * replayed. */
#include <dirent.h>
#include <stdio.h>

#include "base/rng.h"
#include "fuzz.h"

enum { SEED = 1, MUTATIONS = 500 };

static uint8_t *file_load(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert(file);
    assert(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*size ? *size : 1);
    assert(data && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

/* Runs it in a block of exactly that size, so that a sanitizer detects an access one byte too
 * far. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert(copy);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void mutate(uint8_t *data, size_t *size, struct rng *rng)
{
    if (*size == 0)
        return;
    if (rng_below(rng, 3) == 0)
        *size = rng_below(rng, *size);
    for (uint64_t flips = rng_below(rng, 4); flips > 0 && *size; flips--)
        data[rng_below(rng, *size)] ^= (uint8_t)(1u << rng_below(rng, 8));
    if (*size > 1 && rng_below(rng, 3) == 0) {
        uint64_t from = rng_below(rng, *size), to = rng_below(rng, *size);
        uint64_t most = *size - (from > to ? from : to);
        memmove(data + to, data + from, rng_below(rng, most) + 1);
    }
}

static void file_replay(const char *folder, const char *name, uint64_t stream)
{
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    uint8_t *data = file_load(path, &size), *copy = malloc(size ? size : 1);
    assert(copy);
    run(data, size);
    struct rng rng = rng_make(SEED, stream);
    for (int i = 0; i < MUTATIONS; i++) {
        size_t changed = size;
        memcpy(copy, data, size);
        mutate(copy, &changed, &rng);
        run(copy, changed);
    }
    free(copy);
    free(data);
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int files = 0;
    assert(argc == 2);
    int count = scandir(argv[1], &entries, NULL, by_name);
    assert(count >= 0);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            printf("# %s, seed %d, stream %d\n", entries[i]->d_name, SEED, files);
            fflush(stdout);
            file_replay(argv[1], entries[i]->d_name, (uint64_t)files);
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    assert(files > 0);
    printf("1..1\nok 1 - %d files and %d mutations of each\n", files, MUTATIONS);
    return 0;
}
