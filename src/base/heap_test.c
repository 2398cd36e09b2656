#include "base/heap.h"

#include "base/rng.h"
#include "base/test.h"

#define THINGS 60u

/* What is in the heap, and its smallest key, found by examining all items. */
struct model {
    double key[THINGS];
    bool in[THINGS];
    uint32_t count;
};

static double least_key(const struct model *model)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < THINGS; i++)
        if (model->in[i])
            least = fmin(least, model->key[i]);
    return least;
}

static void take(struct heap *heap, struct model *model)
{
    double least = least_key(model);
    uint32_t thing = heap_take(heap);
    assert_true(model->in[thing]);
    assert_true(model->key[thing] == least);
    model->in[thing] = false;
    model->count--;
}

static void the_least_key_comes_out_first(void **state)
{
    struct rng rng = rng_make(3, 0);
    struct model model = {.count = 0};
    struct heap heap;
    assert_true(heap_init(&heap, model.key, THINGS));
    for (int turn = 0; turn < 20000; turn++) {
        uint32_t thing = (uint32_t)rng_below(&rng, THINGS);
        if (rng_below(&rng, 3) == 0 && model.count) {
            take(&heap, &model);
        } else if (model.in[thing]) {
            model.key[thing] -= (double)rng_below(&rng, 20); /* equal keys are common */
            heap_lowered(&heap, thing);
        } else {
            model.key[thing] = (double)rng_below(&rng, 100);
            model.in[thing] = true;
            model.count++;
            heap_add(&heap, thing);
            heap_lowered(&heap, thing);
        }
        assert_int_equal(heap.count, model.count);
    }
    while (model.count)
        take(&heap, &model);
    assert_int_equal(heap.count, 0);
    heap_fini(&heap);
}

/* All items at once, so that the heap is full and every level of it is used. */
static void a_full_heap_sorts(void **state)
{
    struct rng rng = rng_make(4, 0);
    struct model model = {.count = THINGS};
    struct heap heap;
    assert_true(heap_init(&heap, model.key, THINGS));
    for (uint32_t i = 0; i < THINGS; i++) {
        model.key[i] = rng_unit(&rng);
        model.in[i] = true;
        heap_add(&heap, i);
        heap_lowered(&heap, i);
    }
    while (model.count)
        take(&heap, &model);
    heap_fini(&heap);
}

TEST_MAIN(TEST(the_least_key_comes_out_first), TEST(a_full_heap_sorts))
