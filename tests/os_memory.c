/* Checks that a host that carries packets allocates nothing, by counting calls of malloc.
 *
 * The program is linked with --wrap for every function that allocates memory, so that all our calls
 * are seen. Both ends and the middle of a chain are hosts of this thread; small and large packets
 * pass through the middle, more than it can send at once, and requests are answered. */
#include <stdarg.h>
#include <stdlib.h>

#include "os/host/host_scene.h"

static unsigned long allocations; /* one thread */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

#define BURST_ID 300
#define BURST    400 /* packets at once: more than a queue or a frame holds */

static unsigned delivered;

/* Sends a burst of packets to the server that the request names. */
static void burst_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    const uint8_t *to = bytes;
    for (unsigned i = 0; i < BURST; i++) {
        struct weft_packet *packet = weft_packet(self, i % 7 ? 24 : WEFT_PAYLOAD_MAX);
        if (packet)
            weft_send_server(self, packet, to[0]);
    }
    weft_answer(self, client, ticket, bytes, size);
}

static void burst_deliver(struct weft_self *self, struct weft_packet *packet)
{
    delivered++;
    weft_done(packet);
}

static const struct weft_service_ops burst_ops = {.request = burst_request,
                                                  .deliver = burst_deliver};
static const struct weft_service burst = {
    .version = WEFT_SERVICE_VERSION, .name = "burst", .id = BURST_ID, .ops = &burst_ops};
static const struct weft_service *const services[] = {&burst, NULL};

static void bursts(struct scene *scene, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned before = delivered;
        uint8_t there = 4, back = 0;
        assert_int_equal(host_request(scene->hosts[0], 0, BURST_ID, &there, 1), 0);
        assert_int_equal(host_request(scene->hosts[1], 4, BURST_ID, &back, 1), 0);
        for (unsigned k = 0; k < 20; k++)
            scene_step(scene);
        scene_until(scene, delivered > before + 200);
    }
}

static void packets_are_carried_without_allocation(void **state)
{
    struct scene scene;
    scene_open(&scene, "torus:3x3", services);
    scene.hosts[0] = scene_host(&scene, 1 << 0);
    scene.hosts[1] = scene_host(&scene, 1 << 4 | 1 << 7 | 1 << 8);
    scene.hosts[2] = scene_host(&scene, 0x1ff & ~(1 << 0 | 1 << 4 | 1 << 7 | 1 << 8));
    scene_until(&scene, scene_reaches(&scene, 0, 0, 9) && scene_reaches(&scene, 1, 4, 9));
    bursts(&scene, 20); /* first, all one-time allocations */
    unsigned long before = allocations;
    assert_true(before > 0); /* the counter works */
    unsigned carried = delivered;
    bursts(&scene, 100);
    assert_true(delivered - carried > 20000);
    /* Also the hellos of an idle second. */
    for (nsec end = clock_after(NSEC_PER_SEC); clock_now() < end;)
        scene_step(&scene);
    assert_int_equal(allocations - before, 0);
    scene_close(&scene);
}

TEST_MAIN(TEST(packets_are_carried_without_allocation))
