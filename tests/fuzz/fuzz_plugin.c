/* Tests the service that a shared object describes. The object is this program itself, whose
 * weft_service is made from the input. The service is refused with a reason, when it is loaded or
 * when a node starts it; or it runs, and packets arrive and leave. */
#include "base/bytes.h"
#include "fuzz_stage.h"
#include "os/plugin.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_MAX = 1 << 24, PACKETS_MAX = 64 };

/* Not constant, unlike in a real shared object: each input makes another one. */
extern WEFT_API struct weft_service weft_service;
struct weft_service weft_service;

static void on_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (weft_hops(packet) & 1)
        weft_reply(self, packet);
    else
        weft_done(packet);
}

static enum weft_verdict on_pass(struct weft_self *self, struct weft_packet *packet)
{
    weft_set_priority(packet, weft_identity(packet));
    return WEFT_PASS;
}

static struct weft_packet *on_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    return NULL;
}

static void on_request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                       uint32_t size)
{
    memset(weft_memory(self), 1, weft_service.size);
    (void)!weft_answer(self, client, ticket, bytes, size);
}

static int on_start(struct weft_self *self)
{
    return weft_service.size & 1 ? -EINVAL : 0;
}

/* Anything except a name without an end and pointers to non-functions, which cannot be detected. */
static void service_make(struct reader *in, struct weft_service_ops *ops, char name[256])
{
    unsigned what = read_u8(in), which = read_u8(in);
    size_t name_size = read_u8(in);
    weft_service = (struct weft_service){.version = WEFT_SERVICE_VERSION, .id = read_u16(in)};
    weft_service.weight = read_u16(in);
    weft_service.queue = (enum weft_queue)read_u32(in);
    weft_service.queue_packets = read_u32(in);
    weft_service.size = read_u32(in) % MEMORY_MAX;
    if (what & 1)
        weft_service.version = read_u32(in);
    name_size = name_size < in->left ? name_size : in->left;
    read_copy(in, name, name_size);
    name[name_size] = 0;
    if (!(what & 2))
        weft_service.name = name;
    *ops = (struct weft_service_ops){.deliver = which & 1 ? on_deliver : NULL,
                                     .intercept = which & 2 ? on_pass : NULL,
                                     .poll = which & 4 ? on_poll : NULL,
                                     .request = which & 8 ? on_request : NULL,
                                     .start = which & 16 ? on_start : NULL};
    if (!(what & 4))
        weft_service.ops = ops;
}

static void service_run(struct fuzz_stage *stage, struct reader *in)
{
    for (unsigned i = 0; i < PACKETS_MAX && in->left; i++) {
        unsigned what = read_u8(in);
        struct packet fields = {.kind = what >> 2 & 1,
                                .service = what & 128 ? 2 : weft_service.id,
                                .hops_left = 9,
                                .source = what >> 3 & 3,
                                .server = what >> 5 & 3,
                                .identity = i};
        uint8_t payload[64] = {0};
        stage_bring(stage, what & 3, &fields, NULL, payload, sizeof payload);
        if (i % 8 == 0)
            assert(node_local(stage->node, &(struct env_answer){0, 1, weft_service.id}, payload,
                              sizeof payload) == (weft_service.ops->request ? 0 : -ENOENT));
        if (i % 4 == 0)
            stage_run(stage);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_stage stage;
    struct plugins plugins = {0};
    struct weft_service_ops ops;
    char name[256];
    struct why why = {""};
    struct reader in = reader_make(data, size);
    service_make(&in, &ops, name);
    if (plugins_add(&plugins, "", &why)) { /* the loader's name of the program itself */
        assert(why.text[0]);
        return 0;
    }
    assert(plugins.count == 1 && plugins.services[0] == &weft_service);
    assert(weft_service.name[0] && weft_service.id >= 256);
    if (stage_open(&stage, (const struct weft_service *const[]){&weft_service, NULL}, &why)) {
        assert(why.text[0]);
    } else {
        service_run(&stage, &in);
        stage_close(&stage);
    }
    plugins_fini(&plugins);
    return 0;
}
