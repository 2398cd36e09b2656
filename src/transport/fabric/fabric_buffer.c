/* fabric_buffer: memory that messages are sent from and received into.
 *
 * All buffers are alike. They are allocated in slabs, which are registered if the provider requires
 * that, and freed with the endpoint. The number reserved for receiving is a sum over the pipes:
 * the window of each inlet, and FABRIC_RECEIVES_EXTRA for the credit and the acknowledgements that
 * come back to each outlet. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

enum { SLAB_BYTES = FABRIC_SLAB_BUFFERS * FABRIC_BUFFER_SIZE };

static bool buffers_make(struct fabric *fabric)
{
    if (!array_reserve(&fabric->slabs, &fabric->slab_capacity, fabric->slab_count + 1,
                       sizeof(struct fabric_slab *)))
        return false;
    struct fabric_slab *slab = array_new(1, sizeof *slab);
    if (!slab)
        return false;
    slab->bytes =
        mmap(NULL, SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab->bytes == MAP_FAILED)
        goto failed;
    if (fabric_wants(fabric, FI_MR_LOCAL) &&
        fabric_mr_open(fabric, slab->bytes, SLAB_BYTES, FI_SEND | FI_RECV, &slab->mr))
        goto unmap;
    for (unsigned i = 0; i < FABRIC_SLAB_BUFFERS; i++) {
        struct fabric_buffer *buffer = &slab->buffers[i];
        buffer->index = (uint32_t)(fabric->slab_count * FABRIC_SLAB_BUFFERS + i);
        buffer->bytes = slab->bytes + (size_t)i * FABRIC_BUFFER_SIZE;
        buffer->descriptor = slab->mr ? fi_mr_desc(slab->mr) : NULL;
        buffer->state = BUFFER_FREE;
        list_append(&fabric->free_buffers, &buffer->node);
    }
    fabric->slabs[fabric->slab_count++] = slab;
    return true;

unmap:
    munmap(slab->bytes, SLAB_BYTES);
failed:
    free(slab);
    return false;
}

struct fabric_buffer *fabric_buffer_take(struct fabric *fabric)
{
    if (list_is_empty(&fabric->free_buffers) && !buffers_make(fabric))
        return NULL;
    struct list *node = list_take(&fabric->free_buffers);
    struct fabric_buffer *buffer = container_of(node, struct fabric_buffer, node);
    assert(buffer->state == BUFFER_FREE && !buffer->link && !buffer->inlet);
    return buffer;
}

/* The buffer that was freed last is taken first, because its memory is likely in the cache. */
void fabric_buffer_give(struct fabric *fabric, struct fabric_buffer *buffer)
{
    buffer->state = BUFFER_FREE;
    buffer->link = NULL;
    buffer->inlet = NULL;
    list_append(fabric->free_buffers.next, &buffer->node);
}

struct fabric_buffer *fabric_buffer_at(struct fabric *fabric, uint32_t index)
{
    assert(index / FABRIC_SLAB_BUFFERS < fabric->slab_count);
    return &fabric->slabs[index / FABRIC_SLAB_BUFFERS]->buffers[index % FABRIC_SLAB_BUFFERS];
}

void fabric_buffers_fini(struct fabric *fabric)
{
    for (size_t i = 0; i < fabric->slab_count; i++) {
        munmap(fabric->slabs[i]->bytes, SLAB_BYTES);
        free(fabric->slabs[i]);
    }
    free(fabric->slabs);
}

/* ---- receiving ---- */

/* A buffer that the endpoint does not take now is kept for later. */
static void receive_post(struct fabric *fabric, struct fabric_buffer *buffer)
{
    buffer->operation.kind = FABRIC_RECEIVE;
    buffer->inlet = NULL;
    ssize_t result = fi_recv(fabric->endpoint, buffer->bytes, FABRIC_BUFFER_SIZE,
                             buffer->descriptor, FI_ADDR_UNSPEC, &buffer->operation.context);
    if (result == 0) {
        buffer->state = BUFFER_POSTED;
        return;
    }
    buffer->state = BUFFER_IDLE;
    list_append(&fabric->idle_buffers, &buffer->node);
    fabric_stall(fabric);
}

int fabric_receives_grow(struct fabric *fabric, unsigned count)
{
    fabric->receive_goal += count;
    while (fabric->receive_count < fabric->receive_goal) {
        struct fabric_buffer *buffer = fabric_buffer_take(fabric);
        if (!buffer) {
            fabric_receives_shrink(fabric, count);
            return -ENOMEM;
        }
        fabric->receive_count++;
        receive_post(fabric, buffer);
    }
    return 0;
}

/* Posted buffers cannot be taken back: they are freed after something was received into them. */
void fabric_receives_shrink(struct fabric *fabric, unsigned count)
{
    assert(fabric->receive_goal >= count);
    fabric->receive_goal -= count;
}

void fabric_receive_again(struct fabric *fabric, struct fabric_buffer *buffer)
{
    if (fabric->receive_count <= fabric->receive_goal) {
        receive_post(fabric, buffer);
        return;
    }
    fabric->receive_count--;
    fabric_buffer_give(fabric, buffer);
}

void fabric_receives_flush(struct fabric *fabric)
{
    struct list *node = fabric->idle_buffers.next;
    while (node != &fabric->idle_buffers) {
        struct fabric_buffer *buffer = container_of(node, struct fabric_buffer, node);
        list_remove(node);
        fabric_receive_again(fabric, buffer);
        if (buffer->state == BUFFER_IDLE)
            return; /* refused again */
        node = fabric->idle_buffers.next;
    }
}
