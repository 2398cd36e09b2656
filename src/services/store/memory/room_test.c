/* Takes and gives blocks at random, with others that wait: no two overlap, none that waits is
 * passed by one that came later, and in the end the whole region is free again in one piece. */
#include "services/store/memory/room.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/test.h"

#define SIZE   100000u
#define BLOCKS 60

struct customer {
    struct room_wait wait; /* first */
    struct buffer *buffer;
    uint8_t fill;
    unsigned number; /* in the order in which they came */
};

static struct {
    struct value_room room;
    struct buffers buffers;
    struct customer customers[BLOCKS];
    unsigned came, served, freed;
} all;

static void on_freed(struct value_room *room)
{
    assert_ptr_equal(room->owner, &all);
    all.freed++;
}

static void fill(struct customer *customer, struct buffer *buffer)
{
    customer->buffer = buffer;
    memset(buffer->bytes, customer->fill, buffer->size);
}

static void granted(struct room_wait *wait, struct buffer *buffer)
{
    struct customer *customer = container_of(wait, struct customer, wait);
    assert_int_equal(buffer->size, wait->size);
    assert_true(customer->number > all.served);
    all.served = customer->number;
    fill(customer, buffer);
}

static void begin(void *memory)
{
    static uint8_t small[1024];
    memset(&all, 0, sizeof all);
    buffers_init(&all.buffers, small, sizeof small);
    room_init(&all.room, memory, SIZE, on_freed, &all);
}

static void leave(struct customer *customer)
{
    for (uint32_t i = 0; i < customer->buffer->size; i++)
        assert_int_equal(customer->buffer->bytes[i], customer->fill);
    buffer_release(&all.buffers, customer->buffer);
    customer->buffer = NULL;
}

static void step(struct rng *rng)
{
    struct customer *customer = &all.customers[rng_below(rng, BLOCKS)];
    if (customer->buffer) {
        leave(customer);
    } else if (customer->wait.waits) {
        if (rng_below(rng, 8) == 0)
            room_leave(&customer->wait);
    } else {
        customer->fill = (uint8_t)rng_below(rng, 256);
        customer->wait.size = (uint32_t)rng_below(rng, rng_below(rng, 8) ? 5000 : SIZE - ROOM_HEAD);
        customer->wait.granted = granted;
        struct buffer *buffer = room_take(&all.room, customer->wait.size);
        if (buffer) {
            fill(customer, buffer);
            return;
        }
        customer->number = ++all.came;
        room_wait(&all.room, &customer->wait);
    }
    if (all.freed) {
        all.freed = 0;
        room_serve(&all.room);
    }
}

static void blocks_do_not_overlap_and_none_is_passed(void **unused)
{
    void *memory = malloc(SIZE);
    assert_non_null(memory);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rng rng = rng_make(seed, 9);
        begin(memory);
        for (unsigned i = 0; i < 20000; i++)
            step(&rng);
        assert_true(all.served > 100);
        for (unsigned i = 0; i < BLOCKS; i++)
            room_leave(&all.customers[i].wait);
        for (unsigned i = 0; i < BLOCKS; i++)
            if (all.customers[i].buffer)
                leave(&all.customers[i]);
        assert_int_equal(all.room.used, 0);
        assert_non_null(room_take(&all.room, SIZE - ROOM_HEAD));
    }
    free(memory);
}

static void one_who_waits_is_not_passed_by_a_smaller_one(void **unused)
{
    void *memory = malloc(SIZE);
    assert_non_null(memory);
    begin(memory);
    struct customer *large = &all.customers[0];
    struct buffer *first = room_take(&all.room, SIZE / 2);
    large->wait = (struct room_wait){.size = SIZE - ROOM_HEAD, .granted = granted};
    large->number = 1;
    assert_null(room_take(&all.room, large->wait.size));
    room_wait(&all.room, &large->wait);
    room_serve(&all.room);
    assert_null(large->buffer);
    assert_null(room_take(&all.room, 10));
    all.freed = 0;
    buffer_release(&all.buffers, first);
    assert_int_equal(all.freed, 1);
    room_serve(&all.room);
    assert_non_null(large->buffer);
    assert_false(room_fits(&all.room, SIZE));
    buffer_release(&all.buffers, large->buffer);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(blocks_do_not_overlap_and_none_is_passed),
        TEST(one_who_waits_is_not_passed_by_a_smaller_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
