#include "ripc/pool/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/test.h"
#include "ripc/pool/slab.h"

#define KIB (size_t)1024
#define MIB (1024 * KIB)

struct world {
    struct pool *pool;
    int open;         /* extents */
    int refuse;       /* result of extent_open */
    void *last_own;   /* base of the last slab that was added ... */
    size_t last_size; /* ... and its size */
};

static int count_open(void *owner, struct extent *extent)
{
    struct world *world = owner;
    assert_true(extent->base && extent->size && !extent->users);
    if (world->refuse)
        return world->refuse;
    world->open++;
    if (extent->file) {
        world->last_own = extent->base;
        world->last_size = extent->size;
    }
    extent->regions[0] = world;
    return 0;
}

static void count_close(void *owner, struct extent *extent)
{
    struct world *world = owner;
    assert_ptr_equal(extent->regions[0], world);
    world->open--;
}

static const struct pool_events events = {count_open, count_close};

static void world_open(struct world *world)
{
    *world = (struct world){0};
    assert_int_equal(pool_open(&world->pool, &events, world), 0);
}

static void world_close(struct world *world)
{
    pool_close(world->pool);
    assert_int_equal(world->open, 0);
}

static void small_buffers_fit_one_small_slab(void **state)
{
    struct world world;
    struct pool_counts counts;
    world_open(&world);
    for (size_t size = 1; size <= 16 * KIB; size *= 2)
        assert_non_null(pool_alloc(world.pool, size));
    pool_count(world.pool, &counts);
    assert_int_equal(counts.slabs, 1);
    assert_true(counts.slab_bytes <= 256 * KIB);
    assert_int_equal(counts.buffers, 15);
    assert_int_equal(counts.reused, 0);
    world_close(&world);
}

static void buffers_are_aligned_and_as_large_as_requested(void **state)
{
    static const size_t sizes[] = {
        0,     1,     64,        65,          4095,    4096,        4097,
        65536, 65537, 200 * KIB, 1 * MIB - 1, 1 * MIB, 1 * MIB + 1, 5 * MIB,
    };
    struct world world;
    world_open(&world);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = pool_alloc(world.pool, sizes[i]);
        assert_non_null(data);
        assert_int_equal((uintptr_t)data % (sizes[i] >= 4096 ? 4096 : 64), 0);
        size_t has = pool_buffer_size(world.pool, data);
        assert_true(has >= sizes[i] && has <= 2 * sizes[i] + 64);
        data[0] = data[has - 1] = 1;
        struct extent *extent = pool_find(world.pool, data, has);
        assert_non_null(extent);
        assert_ptr_equal(extent->file->base, extent->base);
        assert_null(pool_find(world.pool, data, has + 1));
    }
    assert_null(pool_alloc(world.pool, SIZE_MAX));
    assert_null(pool_alloc(world.pool, PTRDIFF_MAX));
    world_close(&world);
}

static void each_kind_of_invalid_free_has_its_own_error(void **state)
{
    static const size_t sizes[] = {64, 100, 4096, 30 * KIB, 300 * KIB, 3 * MIB};
    struct world world;
    int outside;
    world_open(&world);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *data = pool_alloc(world.pool, sizes[i]);
        uint8_t *kept = pool_alloc(world.pool, sizes[i]);
        assert_int_equal(pool_free(world.pool, data + 1), -EINVAL);
        assert_int_equal(pool_free(world.pool, data + pool_buffer_size(world.pool, data) / 2),
                         -EINVAL);
        assert_non_null(pool_use(world.pool, data + 1, 1));
        assert_int_equal(pool_free(world.pool, data), -EBUSY);
        pool_unuse(world.pool, data + 1);
        assert_int_equal(pool_free(world.pool, data), 0);
        assert_int_equal(pool_free(world.pool, data), -EALREADY);
        assert_int_equal(pool_free(world.pool, data + 1), -EINVAL);
        assert_int_equal(pool_buffer_size(world.pool, data), 0);
        assert_null(pool_resize(world.pool, data, 10));
        assert_null(pool_find(world.pool, data, 1));
        assert_null(pool_use(world.pool, data, 1));
        assert_int_equal(pool_free(world.pool, kept), 0);
        assert_int_equal(pool_free(world.pool, kept), -EALREADY);
    }
    assert_int_equal(pool_free(world.pool, NULL), -EINVAL);
    assert_int_equal(pool_free(world.pool, &outside), -EINVAL);
    assert_int_equal(pool_free(world.pool, (void *)UINTPTR_MAX), -EINVAL);
    world_close(&world);
}

static void memory_that_was_never_allocated_is_not_a_buffer(void **state)
{
    struct world world;
    world_open(&world);
    uint8_t *data = pool_alloc(world.pool, 64);
    assert_int_equal(pool_free(world.pool, data + 64), -EINVAL);
    assert_int_equal(pool_free(world.pool, data + 64 * KIB), -EINVAL);
    assert_null(pool_find(world.pool, data + 64, 1));
    world_close(&world);
}

static void freed_memory_is_reused(void **state)
{
    static const size_t sizes[] = {64, 5000, 300 * KIB, 64 * MIB};
    struct world world;
    struct pool_counts counts;
    world_open(&world);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *first = pool_alloc(world.pool, sizes[i]);
        assert_int_equal(pool_free(world.pool, first), 0);
        assert_ptr_equal(pool_alloc(world.pool, sizes[i]), first);
        pool_count(world.pool, &counts);
        assert_int_equal(counts.reused, i + 1);
    }
    /* A large slab is reused for a similar size, not for one of half its size. */
    void *large = pool_alloc(world.pool, 40 * MIB);
    assert_int_equal(pool_free(world.pool, large), 0);
    assert_ptr_not_equal(pool_alloc(world.pool, 19 * MIB), large);
    assert_ptr_equal(pool_alloc(world.pool, 30 * MIB), large);
    world_close(&world);
}

static void kept_memory_is_limited(void **state)
{
    enum { COUNT = 600 };
    struct world world;
    struct pool_counts counts;
    void *data[COUNT];
    world_open(&world);
    for (int i = 0; i < 12; i++)
        assert_non_null(data[i] = pool_alloc(world.pool, (size_t)(20 + i) * MIB));
    for (int i = 0; i < 12; i++)
        assert_int_equal(pool_free(world.pool, data[i]), 0);
    pool_count(world.pool, &counts);
    assert_int_equal(counts.slabs, 8);
    assert_ptr_equal(pool_alloc(world.pool, 31 * MIB), data[11]); /* the oldest were freed */
    assert_int_equal(pool_free(world.pool, data[11]), 0);
    assert_non_null(data[0] = pool_alloc(world.pool, 300 * MIB));
    assert_int_equal(pool_free(world.pool, data[0]), 0);
    pool_count(world.pool, &counts);
    assert_true(counts.slab_bytes <= 256 * MIB);
    for (int i = 0; i < COUNT; i++)
        assert_non_null(data[i] = pool_alloc(world.pool, 1 * MIB));
    pool_count(world.pool, &counts);
    assert_int_equal(counts.buffers, COUNT);
    assert_true(counts.slabs < 60); /* descriptors are scarce */
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pool_free(world.pool, data[i]), 0);
    pool_count(world.pool, &counts);
    assert_true(counts.slab_bytes <= 256 * MIB);
    assert_int_equal(counts.slabs, world.open);
    assert_int_equal(counts.buffers, 0);
    assert_int_equal(counts.bytes, 0);
    world_close(&world);
}

static void resizing_keeps_data_and_moves_only_if_necessary(void **state)
{
    struct world world;
    world_open(&world);
    char *data = pool_resize(world.pool, NULL, 100);
    memset(data, 'x', 128);
    assert_ptr_equal(pool_resize(world.pool, data, 128), data);
    assert_ptr_equal(pool_resize(world.pool, data, 5), data);
    char *moved = pool_resize(world.pool, data, 9000);
    assert_ptr_not_equal(moved, data);
    assert_int_equal(pool_free(world.pool, data), -EALREADY);
    for (int i = 0; i < 128; i++)
        assert_int_equal(moved[i], 'x');
    assert_ptr_equal(pool_resize(world.pool, moved, 40 * KIB), moved); /* the next units are free */
    assert_non_null(pool_use(world.pool, moved, 1));
    assert_null(pool_resize(world.pool, moved, 3 * MIB));
    pool_unuse(world.pool, moved);
    data = pool_resize(world.pool, moved, 3 * MIB);
    assert_int_equal(data[127], 'x');
    assert_null(pool_resize(world.pool, data + 64, 1));
    assert_null(pool_resize(world.pool, data, SIZE_MAX));
    assert_int_equal(data[127], 'x');
    assert_int_equal(pool_free(world.pool, data), 0);
    struct pool_counts counts;
    pool_count(world.pool, &counts);
    assert_int_equal(counts.bytes, 0);
    world_close(&world);
}

static void a_buffer_grows_in_place_up_to_the_end_of_its_slab(void **state)
{
    struct world world;
    world_open(&world);
    char *data = pool_alloc(world.pool, 128 * KIB);
    size_t all = world.last_size;
    assert_ptr_equal(data, world.last_own);
    assert_true(all > 128 * KIB && all < MIB);
    assert_ptr_equal(pool_resize(world.pool, data, all), data);
    assert_int_equal(pool_buffer_size(world.pool, data), all);
    char *moved = pool_resize(world.pool, data, all + 1);
    assert_ptr_not_equal(moved, data);
    assert_int_equal(pool_free(world.pool, moved), 0);
    world_close(&world);
}

static void foreign_memory_is_checked_without_a_fault(void **state)
{
    struct world world;
    world_open(&world);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *base =
        mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    assert_int_equal(munmap(base + 4 * page, page), 0);
    assert_int_equal(pool_register(world.pool, base, 0), -EINVAL);
    assert_int_equal(pool_register(world.pool, base, 8 * page), -EFAULT);
    assert_int_equal(pool_register(world.pool, base + 3 * page + 10, page), -EFAULT);
    assert_int_equal(pool_register(world.pool, base + 4 * page, 1), -EFAULT);
    assert_int_equal(pool_register(world.pool, NULL, page), -EFAULT);
    assert_int_equal(pool_register(world.pool, base, SIZE_MAX), -EFAULT);
    assert_int_equal(pool_register(world.pool, base, PTRDIFF_MAX), -EFAULT);
    assert_int_equal(world.open, 0);
    assert_int_equal(pool_register(world.pool, base + 100, 4 * page - 100), 0);
    assert_int_equal(pool_register(world.pool, base + 200, 10), -EEXIST);
    assert_int_equal(pool_register(world.pool, base, 101), -EEXIST);
    assert_int_equal(pool_register(world.pool, base, 4 * page), -EEXIST);
    assert_int_equal(pool_register(world.pool, base, 100), 0);
    assert_int_equal(pool_register(world.pool, base + 5 * page, 3 * page), 0);
    assert_int_equal(world.open, 3);

    assert_null(pool_find(world.pool, base, 101));
    assert_null(pool_find(world.pool, base + 4 * page, 1));
    struct extent *extent = pool_use(world.pool, base + 100, 4 * page - 100);
    assert_ptr_equal(extent->base, base + 100);
    assert_null(extent->file);
    assert_int_equal(extent->users, 1);
    assert_int_equal(pool_free(world.pool, base + 100), -EINVAL);
    assert_int_equal(pool_unregister(world.pool, base + 100), -EBUSY);
    pool_unuse(world.pool, base + 100);
    assert_int_equal(pool_unregister(world.pool, base + 101), -ENOENT);
    assert_int_equal(pool_unregister(world.pool, base + 100), 0);
    assert_int_equal(pool_unregister(world.pool, base + 100), -ENOENT);
    assert_int_equal(pool_register(world.pool, base + 100, 50), 0); /* directly behind another */
    assert_int_equal(pool_unregister(world.pool, base + 100), 0);
    void *own = pool_alloc(world.pool, 10);
    assert_int_equal(pool_unregister(world.pool, own), -ENOENT);
    assert_int_equal(pool_register(world.pool, own, 10), -EEXIST);
    munmap(base, 8 * page);
    world_close(&world);
}

/* Half a terabyte without pages: checking it page by page would take minutes. */
static void huge_memory_is_registered(void **state)
{
    struct world world;
    world_open(&world);
    size_t size = (size_t)1 << 39;
    void *base = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        size = 0; /* the address space is too small: nothing to test */
    else
        assert_int_equal(pool_register(world.pool, base, size), 0);
    if (size)
        munmap(base, size);
    world_close(&world);
}

static void registered_memory_that_was_unmapped_is_dropped_when_its_address_is_reused(void **state)
{
    struct world world;
    world_open(&world);
    void *large = pool_alloc(world.pool, 400 * MIB);
    void *where = world.last_own;
    assert_int_equal(pool_free(world.pool, large), 0); /* too large to be kept: unmapped */
    void *base =
        mmap(where, 400 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_int_equal(pool_register(world.pool, base, 400 * MIB), 0);
    munmap(base, 400 * MIB);
    uint8_t *again = pool_alloc(world.pool, 400 * MIB);
    assert_non_null(again);
    struct extent *extent = pool_find(world.pool, again, 400 * MIB);
    assert_non_null(extent);
    assert_non_null(extent->file);
    if (again == base)
        assert_int_equal(pool_unregister(world.pool, base), -ENOENT);
    world_close(&world);
}

/* Unless a send, a window or a grant still uses it: then the pool does not use that address. */
static void unmapped_memory_in_use_is_not_dropped(void **state)
{
    struct world world;
    world_open(&world);
    void *large = pool_alloc(world.pool, 400 * MIB);
    void *where = world.last_own;
    assert_int_equal(pool_free(world.pool, large), 0);
    void *base =
        mmap(where, 400 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_int_equal(pool_register(world.pool, base, 400 * MIB), 0);
    struct extent *used = pool_use(world.pool, base, 400 * MIB);
    assert_non_null(used);
    munmap(base, 400 * MIB);
    uint8_t *again = pool_alloc(world.pool, 400 * MIB);
    if (base == where) /* the kernel gives the freed address to the next mapping of that size */
        assert_null(again);
    assert_ptr_equal(used->base, base);
    assert_int_equal(used->users, 1);
    pool_unuse(world.pool, base);
    assert_int_equal(pool_unregister(world.pool, base), 0);
    world_close(&world);
}

static void a_refused_extent_leaks_nothing(void **state)
{
    struct world world;
    struct pool_counts counts;
    char foreign[100];
    world_open(&world);
    world.refuse = -EPERM;
    assert_null(pool_alloc(world.pool, 10));
    assert_null(pool_alloc(world.pool, 3 * MIB));
    assert_int_equal(pool_register(world.pool, foreign, sizeof foreign), -EPERM);
    pool_count(world.pool, &counts);
    assert_int_equal(counts.slabs, 0);
    assert_int_equal(counts.buffers, 0);
    world.refuse = 0;
    assert_non_null(pool_alloc(world.pool, 10));
    assert_int_equal(pool_register(world.pool, foreign, sizeof foreign), 0);
    world_close(&world);
}

static void kept_slabs_are_freed_when_descriptors_run_out(void **state)
{
    struct world world;
    struct rlimit before, none;
    world_open(&world);
    void *large = pool_alloc(world.pool, 2 * MIB);
    assert_int_equal(pool_free(world.pool, large), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    none = (struct rlimit){(rlim_t)next, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    void *small = pool_alloc(world.pool, 64); /* uses the descriptor of the kept slab */
    void *more = pool_alloc(world.pool, 2 * MIB);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(small);
    assert_null(more);
    assert_non_null(pool_alloc(world.pool, 2 * MIB));
    world_close(&world);
}

/* ---- against a model ---- */

#define LIVE_MAX 300

struct piece {
    uint8_t *base;
    size_t size;
    unsigned users;
    uint8_t mark; /* in the first and the last byte */
};

struct model {
    struct piece live[LIVE_MAX];
    size_t count;
    uint8_t *freed[16]; /* bases that were freed, if nothing was allocated since */
    size_t freed_count;
};

static void model_check(struct world *world, const struct model *model)
{
    struct pool_counts counts;
    uint64_t bytes = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct piece *one = &model->live[i];
        assert_int_equal(one->base[0], one->mark);
        assert_int_equal(one->base[one->size - 1], one->mark);
        assert_int_equal(pool_buffer_size(world->pool, one->base), one->size);
        bytes += one->size;
    }
    pool_count(world->pool, &counts);
    assert_int_equal(counts.buffers, model->count);
    assert_int_equal(counts.bytes, bytes);
    assert_int_equal(counts.slabs, world->open);
}

/* Adds a buffer; it must not overlap any other. */
static void model_add(struct world *world, struct model *model, uint8_t *base, uint8_t mark)
{
    size_t size = pool_buffer_size(world->pool, base);
    assert_true(size > 0);
    for (size_t i = 0; i < model->count; i++) {
        const struct piece *other = &model->live[i];
        if (base < other->base + other->size && other->base < base + size)
            fail_msg("%p and %p overlap", (void *)base, (void *)other->base);
    }
    base[0] = base[size - 1] = mark;
    model->live[model->count++] = (struct piece){base, size, 0, mark};
    model->freed_count = 0;
}

static size_t size_draw(struct rng *rng)
{
    unsigned bits = (unsigned)rng_below(rng, 100) < 97 ? 19 : 23;
    return (size_t)rng_below(rng, (uint64_t)1 << rng_below(rng, bits));
}

static void model_free(struct world *world, struct model *model, size_t index)
{
    struct piece *piece = &model->live[index];
    int result = pool_free(world->pool, piece->base);
    assert_int_equal(result, piece->users ? -EBUSY : 0);
    if (result)
        return;
    if (model->freed_count < 16 && piece->size < MIB) /* large ones may be unmapped */
        model->freed[model->freed_count++] = piece->base;
    *piece = model->live[--model->count];
}

static void model_resize(struct world *world, struct model *model, size_t index, size_t size)
{
    struct piece piece = model->live[index];
    uint8_t *base = pool_resize(world->pool, piece.base, size);
    if (!base) {
        assert_true(piece.users > 0);
        return;
    }
    assert_int_equal(base[0], piece.mark);
    assert_int_equal(base[piece.size - 1], piece.mark);
    assert_true(pool_buffer_size(world->pool, base) >= size);
    model->live[index] = model->live[--model->count];
    model_add(world, model, base, piece.mark);
    model->live[model->count - 1].users = piece.users;
}

static void model_find(struct world *world, struct model *model, struct rng *rng, size_t index)
{
    struct piece *piece = &model->live[index];
    size_t offset = (size_t)rng_below(rng, piece->size);
    size_t size = (size_t)rng_below(rng, 2 * piece->size);
    bool fits = size <= piece->size - offset;
    struct extent *extent = pool_find(world->pool, piece->base + offset, size);
    assert_int_equal(extent != NULL, fits);
    if (extent && rng_below(rng, 2)) {
        uint32_t users = extent->users;
        assert_ptr_equal(pool_use(world->pool, piece->base + offset, size), extent);
        assert_int_equal(extent->users, users + 1);
        piece->users++;
    } else if (piece->users) {
        pool_unuse(world->pool, piece->base + offset);
        piece->users--;
    }
}

static void random_calls_agree_with_a_model(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct world world;
        static struct model model;
        struct rng rng = rng_make(seed, 0);
        print_message("# seed %llu\n", (unsigned long long)seed);
        memset(&model, 0, sizeof model);
        world_open(&world);
        for (int turn = 0; turn < 8000; turn++) {
            size_t index = model.count ? (size_t)rng_below(&rng, model.count) : 0;
            bool grow = turn / 1000 % 2 == 0; /* full, then nearly empty again */
            unsigned what = (unsigned)rng_below(&rng, 10);
            if (!model.count || (what < (grow ? 5 : 2) && model.count < LIVE_MAX))
                model_add(&world, &model, pool_alloc(world.pool, size_draw(&rng)), (uint8_t)turn);
            else if (what < 6)
                model_free(&world, &model, index);
            else if (what < 7)
                model_resize(&world, &model, index, size_draw(&rng));
            else if (what < 9)
                model_find(&world, &model, &rng, index);
            for (size_t i = 0; i < model.freed_count; i++) {
                assert_int_equal(pool_free(world.pool, model.freed[i]), -EALREADY);
                assert_null(pool_find(world.pool, model.freed[i], 1));
            }
            if (turn % 64 == 0)
                model_check(&world, &model);
        }
        world_close(&world);
    }
}

static void an_adopted_file_is_found_and_never_allocated_from(void **state)
{
    struct world world;
    struct memfile file, other;
    struct pool_counts counts;
    world_open(&world);
    assert_int_equal(memfile_open(&file, "test", 3 * 4096), 0);
    world.refuse = -EPERM;
    assert_int_equal(pool_adopt(world.pool, &file), -EPERM);
    world.refuse = 0;
    assert_int_equal(pool_adopt(world.pool, &file), 0);
    uint8_t *base = file.base;
    struct extent *extent = pool_find(world.pool, base + 4096, 2 * 4096);
    assert_non_null(extent);
    assert_ptr_equal(extent->base, base);
    assert_int_equal(extent->file->fd, file.fd);
    assert_null(pool_find(world.pool, base + 1, 3 * 4096));
    pool_count(world.pool, &counts);
    assert_int_equal(counts.slabs + counts.buffers, 0);
    assert_int_equal(pool_free(world.pool, base), -EINVAL);
    assert_null(pool_resize(world.pool, base, 10));
    assert_int_equal(pool_buffer_size(world.pool, base), 0);
    assert_int_equal(pool_unregister(world.pool, base), -ENOENT);
    assert_int_equal(pool_register(world.pool, base, 100), -EEXIST);

    assert_ptr_equal(pool_use(world.pool, base + 5, 10), extent);
    assert_int_equal(extent->users, 1);
    pool_unuse(world.pool, base + 5);
    assert_int_equal(memfile_open(&other, "test", 3 * 4096), 0);
    int fd = other.fd;
    assert_int_equal(memfile_replace(&file, &other, 0), 0);
    pool_exchange(world.pool, &file);
    assert_int_equal(world.open, 1);
    assert_ptr_equal(pool_find(world.pool, base, 1), extent);
    assert_int_equal(extent->file->fd, fd);
    pool_drop(world.pool, base);
    assert_int_equal(world.open, 0);
    assert_null(pool_find(world.pool, base, 1));
    base[0] = 1; /* it belongs to the caller and is still mapped */
    assert_int_equal(pool_adopt(world.pool, &file), 0);
    world_close(&world);
    base[0] = 2;
    memfile_close(&file);
}

/* Frees large buffers of exactly as many bytes as are kept in all. */
static void spare_memory_is_kept_up_to_its_limit(void **state)
{
    const size_t most = 256 * MIB, page = (size_t)sysconf(_SC_PAGESIZE);
    struct world world;
    world_open(&world);
    void *data = pool_alloc(world.pool, most);
    assert_non_null(data);
    assert_int_equal(pool_free(world.pool, data), 0);
    assert_int_equal(world.open, 1);
    data = pool_alloc(world.pool, most + page);
    assert_non_null(data);
    assert_int_equal(pool_free(world.pool, data), 0);
    assert_int_equal(world.open, 0);
    world_close(&world);
}

/* A large buffer, and then small ones whose slab is not kept because enough is spare. */
static void a_second_free_is_recognised_after_the_memory_went_back_to_the_system(void **state)
{
    const size_t most = 256 * MIB;
    struct world world;
    world_open(&world);
    uint8_t *large = pool_alloc(world.pool, most + 1);
    assert_non_null(large);
    assert_int_equal(pool_free(world.pool, large), 0);
    assert_int_equal(world.open, 0);
    assert_int_equal(pool_free(world.pool, large), -EALREADY);
    assert_int_equal(pool_free(world.pool, large + 4096), -EINVAL);
    assert_null(pool_resize(world.pool, large, 10));

    uint8_t *small = pool_alloc(world.pool, 64);
    uint8_t *spare = pool_alloc(world.pool, most);
    assert_true(small && spare);
    assert_int_equal(pool_free(world.pool, spare), 0);
    assert_int_equal(pool_free(world.pool, small), 0);
    uint8_t *middle = pool_alloc(world.pool, 500 * KIB); /* a second slab for carving */
    assert_non_null(middle);
    assert_int_equal(pool_free(world.pool, middle), 0);
    assert_int_equal(world.open, 2);
    assert_int_equal(pool_free(world.pool, middle), -EALREADY);
    assert_int_equal(pool_free(world.pool, middle + 1), -EINVAL);
    world_close(&world);
}

static bool is_zero(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i])
            return false;
    return true;
}

/* Dirties buffers of many sizes, frees them, and allocates others in the same memory: small ones in
 * units that a middle one has left, and the other way round. */
static void zeroed_buffers_are_zero_after_any_reuse(void **state)
{
    static const size_t sizes[] = {1,        64,        100,     2000,    4096,
                                   30 * KIB, 300 * KIB, 1 * MIB, 3 * MIB, 5 * MIB};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 300, HELD = 16 };
    struct world world;
    struct rng rng = rng_make(7, 0);
    uint8_t *held[HELD] = {0};
    world_open(&world);
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t **at = &held[rng_below(&rng, HELD)];
        size_t size = sizes[rng_below(&rng, SIZES)];
        if (*at)
            assert_int_equal(pool_free(world.pool, *at), 0);
        bool zeroed = rng_below(&rng, 2);
        *at = zeroed ? pool_alloc_zeroed(world.pool, size) : pool_alloc(world.pool, size);
        assert_non_null(*at);
        size_t whole = pool_buffer_size(world.pool, *at);
        assert_true(whole >= size);
        assert_true(!zeroed || is_zero(*at, whole));
        memset(*at, 'd', whole);
    }
    world_close(&world);
}

static void the_whole_that_contains_an_address_is_found(void **state)
{
    static uint8_t foreign[5000];
    struct world world;
    void *base;
    size_t size;
    world_open(&world);
    uint8_t *data = pool_alloc(world.pool, 2000), *next = pool_alloc(world.pool, 2000);
    assert_int_equal(pool_register(world.pool, foreign, sizeof foreign), 0);
    assert_int_equal(pool_whole(world.pool, data + 1999, &base, &size), POOL_BUFFER);
    assert_ptr_equal(base, data);
    assert_int_equal(size, pool_buffer_size(world.pool, data));
    assert_int_equal(pool_whole(world.pool, next, &base, &size), POOL_BUFFER);
    assert_ptr_equal(base, next);
    assert_int_equal(pool_whole(world.pool, foreign + 4999, &base, &size), POOL_FOREIGN);
    assert_ptr_equal(base, foreign);
    assert_int_equal(size, sizeof foreign);
    assert_int_equal(pool_whole(world.pool, foreign + 5000, &base, &size), POOL_UNKNOWN);
    assert_int_equal(pool_free(world.pool, data), 0);
    assert_int_equal(pool_whole(world.pool, data + 1, &base, &size), POOL_UNKNOWN);
    world_close(&world);
}

TEST_MAIN(TEST(a_second_free_is_recognised_after_the_memory_went_back_to_the_system),
          TEST(zeroed_buffers_are_zero_after_any_reuse),
          TEST(the_whole_that_contains_an_address_is_found),
          TEST(spare_memory_is_kept_up_to_its_limit),
          TEST(a_buffer_grows_in_place_up_to_the_end_of_its_slab),
          TEST(small_buffers_fit_one_small_slab),
          TEST(buffers_are_aligned_and_as_large_as_requested),
          TEST(each_kind_of_invalid_free_has_its_own_error),
          TEST(memory_that_was_never_allocated_is_not_a_buffer), TEST(freed_memory_is_reused),
          TEST(kept_memory_is_limited), TEST(resizing_keeps_data_and_moves_only_if_necessary),
          TEST(foreign_memory_is_checked_without_a_fault), TEST(huge_memory_is_registered),
          TEST(registered_memory_that_was_unmapped_is_dropped_when_its_address_is_reused),
          TEST(unmapped_memory_in_use_is_not_dropped), TEST(a_refused_extent_leaks_nothing),
          TEST(kept_slabs_are_freed_when_descriptors_run_out),
          TEST(random_calls_agree_with_a_model),
          TEST(an_adopted_file_is_found_and_never_allocated_from))
