/* cables: connects cables to their other ends.
 *
 *      caller                                        callee
 *      lifeline up
 *      OPEN (ends, description, offer)  --------->
 *                                       <---------   ANSWER (answer)
 *                                       <---------   OPEN (ends, description, offer)
 *      ANSWER (answer)                  --------->
 *      carrier                                       carrier
 *
 * Both may call at once. A server that receives an OPEN on a second line switches to the new line,
 * unless its own call is connected and it has the lower number: then it cuts the new line. The
 * lower server's call connects only if it has not accepted the other's call before, so one line
 * always stays.
 *
 * A line breaks when the other process ends. It is not repaired: that server calls again when it
 * restarts. After all other failures the lower server calls again after a while. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/check.h"
#include "os/cable/cable_impl.h"

enum cable_control { CABLE_OPEN = 1, CABLE_ANSWER };

/* Returns the context of a server for its lifelines: its number plus 1, because 0 is invalid. */
static uint64_t context_of(uint32_t server)
{
    return (uint64_t)server + 1;
}

/* ---- writing messages ---- */

static void parcel_write(struct writer *out, struct control *control, const struct parcel *parcel)
{
    write_u16(out, parcel->size);
    write_bytes(out, parcel->bytes, parcel->size);
    control->fd_count = parcel->fd_count;
    memcpy(control->fds, parcel->fds, sizeof control->fds);
}

/* Takes ownership of the parcel's descriptors. */
static bool parcel_read(struct reader *in, struct control *control, struct parcel *parcel)
{
    *parcel = (struct parcel){.size = read_u16(in)};
    if (parcel->size > sizeof parcel->bytes)
        return false;
    read_copy(in, parcel->bytes, parcel->size);
    if (in->failed || in->left)
        return false;
    parcel->fd_count = control->fd_count;
    for (unsigned i = 0; i < control->fd_count; i++) {
        parcel->fds[i] = control->fds[i];
        control->fds[i] = -1;
    }
    return true;
}

static int open_send(struct cable_port *cable)
{
    const struct cables *cables = cable->cables;
    struct control control = {.kind = CABLE_OPEN};
    struct writer out = writer_make(control.body, sizeof control.body);
    struct parcel offer;
    int result = cable->link->ops->pipes->outlet_open(cable->link, cables->config.bell, &offer,
                                                      &cable->outlet);
    if (result)
        return result;
    write_u32(&out, cable->plan.server);
    write_u32(&out, cable->plan.number);
    write_u32(&out, cable->plan.peer_server);
    write_u32(&out, cable->plan.peer_number);
    write_u8(&out, (uint8_t)cables->description_size);
    write_bytes(&out, cables->description, cables->description_size);
    parcel_write(&out, &control, &offer);
    assert(!out.failed);
    control.size = (uint16_t)(sizeof control.body - out.left);
    result = lifeline_send(cable->line, &control);
    parcel_fini(&offer);
    return result;
}

static int answer_send(struct cable_port *cable, struct parcel *answer)
{
    struct control control = {.kind = CABLE_ANSWER};
    struct writer out = writer_make(control.body, sizeof control.body);
    parcel_write(&out, &control, answer);
    assert(!out.failed);
    control.size = (uint16_t)(sizeof control.body - out.left);
    return lifeline_send(cable->line, &control);
}

/* ---- one cable's line ---- */

static void cable_rise(struct cable_port *cable)
{
    if (!cable->answered || !cable->inlet || cable->carrier)
        return;
    cable_call_at(cable, NSEC_FAR);
    cable_carrier(cable, true);
}

static void cable_call(struct cable_port *cable)
{
    struct context_address address = {.context = context_of(cable->plan.peer_server)};
    if (cable->line || cable->ending) /* ending: packets that arrived are received first */
        return;
    context_address_host(address.host);
    int result = lifeline_connect(cable->home->lines, &address, &cable->line);
    if (result) {
        cable_reset(cable); /* retries later */
        return;
    }
    cable->outgoing = true;
    lifeline_set_data(cable->line, cable);
}

static void cable_retry(void *owner)
{
    struct cable_port *cable = owner;
    cable_call_at(cable, NSEC_FAR);
    cable_call(cable);
}

static int link_open(struct cable_port *cable, const uint8_t *description, size_t size)
{
    struct transport *transport = cable->cables->transport;
    struct context_address address = {.context = context_of(cable->plan.peer_server)};
    context_address_host(address.host);
    return transport->ops->link_open(transport, cable->line, &address, description, size,
                                     &cable->link);
}

/* ---- receiving messages ---- */

struct open_words {
    struct cable_plan plan; /* as the other end describes it */
    const uint8_t *description;
    size_t description_size;
    struct parcel offer;
};

static bool open_read(struct control *control, struct open_words *words)
{
    struct reader in = reader_make(control->body, control->size);
    words->offer = (struct parcel){0};
    words->plan.server = read_u32(&in);
    words->plan.number = read_u32(&in);
    words->plan.peer_server = read_u32(&in);
    words->plan.peer_number = read_u32(&in);
    words->description_size = read_u8(&in);
    words->description = read_bytes(&in, words->description_size);
    return parcel_read(&in, control, &words->offer);
}

static struct cable_port *cable_find(const struct cable_home *home, const struct cable_plan *theirs)
{
    list_each(&home->cables->all, node)
    {
        struct cable_port *cable = container_of(node, struct cable_port, node);
        const struct cable_plan *ours = &cable->plan;
        if (cable->home == home && ours->number == theirs->peer_number &&
            ours->server == theirs->peer_server && ours->peer_server == theirs->server &&
            ours->peer_number == theirs->number)
            return cable;
    }
    return NULL;
}

/* A call to us: finds its cable, and decides whether to accept it. NULL: no. */
static struct cable_port *cable_answer_call(struct cable_home *home, struct lifeline *line,
                                            const struct open_words *words)
{
    struct cable_port *cable = cable_find(home, &words->plan);
    if (!cable)
        return NULL; /* its plan differs from ours */
    bool mine_stays = cable->line && cable->outgoing && lifeline_alive(cable->line) &&
                      cable->plan.server < cable->plan.peer_server;
    if (mine_stays)
        return NULL;
    cable_reset(cable);
    cable->line = line;
    lifeline_set_data(line, cable);
    return cable;
}

/* Opens the other end's pipe to us. */
static int pipe_take(struct cable_port *cable, struct open_words *words)
{
    struct parcel answer = {0};
    int result = 0;
    if (cable->inlet)
        return -EPROTO;
    bool first = !cable->link;
    if (first)
        result = link_open(cable, words->description, words->description_size);
    if (!result)
        result = cable->link->ops->pipes->inlet_open(cable->link, cable->cables->config.bell,
                                                     &words->offer, &answer, &cable->inlet);
    if (!result)
        result = answer_send(cable, &answer);
    parcel_fini(&answer);
    if (!result && first)
        result = open_send(cable);
    return result;
}

static void cable_on_open(struct cable_home *home, struct lifeline *line, struct control *control)
{
    struct open_words words;
    struct cable_port *cable = lifeline_data(line);
    bool good = open_read(control, &words);
    if (good && !cable)
        cable = cable_answer_call(home, line, &words);
    int result = good && cable ? pipe_take(cable, &words) : -EPROTO;
    parcel_fini(&words.offer);
    if (!result)
        cable_rise(cable);
    else if (cable)
        cable_condemn(cable);
    else
        lifeline_cut(line, -ECONNREFUSED);
}

static void cable_on_answer(struct cable_port *cable, struct control *control)
{
    struct reader in = reader_make(control->body, control->size);
    struct parcel answer = {0};
    int result = -EPROTO;
    if (parcel_read(&in, control, &answer) && cable->outlet && !cable->answered)
        result = cable->outlet->ops->outlet_answer(cable->outlet, &answer);
    parcel_fini(&answer);
    if (result) {
        cable_condemn(cable);
        return;
    }
    cable->answered = true;
    cable_rise(cable);
}

static void on_up(void *owner, struct lifeline *line, const struct context_address *peer,
                  const uint8_t *card, size_t card_size)
{
    struct cable_port *cable = lifeline_data(line);
    if (!cable)
        return; /* the neighbour called us: its OPEN will say which cable this is */
    int result = link_open(cable, card, card_size);
    if (!result)
        result = open_send(cable);
    if (result)
        cable_condemn(cable);
}

static void on_control(void *owner, struct lifeline *line, struct control *control)
{
    struct cable_home *home = owner;
    struct cable_port *cable = lifeline_data(line);
    if (control->kind == CABLE_OPEN)
        cable_on_open(home, line, control);
    else if (!cable)
        lifeline_cut(line, -EPROTO);
    else if (control->kind == CABLE_ANSWER)
        cable_on_answer(cable, control);
    else if (!cable->link || cable->link->ops->link_control(cable->link, control))
        cable_condemn(cable);
}

static void on_down(void *owner, struct lifeline *line, int reason)
{
    struct cable_port *cable = lifeline_data(line);
    if (!cable || cable->line != line)
        return;
    cable->line = NULL;
    if (cable->link)
        cable->link->ops->link_lost(cable->link);
    cable->ending = true;
    if (!cable->carrier)
        cable_reset(cable);
}

static const struct lifeline_events cable_events = {
    .up = on_up,
    .control = on_control,
    .down = on_down,
};

/* ---- all cables ---- */

const struct transport_ops *cables_transport(const char *name)
{
    static const struct transport_ops *const known[] = {&transport_shm, &transport_udp};
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i]->name, name))
            return known[i];
    return NULL;
}

int cables_open(struct cables **out, const struct cables_config *config, struct why *why)
{
    struct cables *cables = array_new(1, sizeof *cables);
    if (!cables)
        return why_fail(why, -ENOMEM, "not enough memory");
    cables->config = *config;
    list_init(&cables->homes);
    list_init(&cables->all);
    struct transport_config opening = {
        .poller = config->poller,
        .address = config->address,
        .ring_slots = config->ring_slots,
        .ring_bytes = config->ring_bytes,
    };
    int result = config->transport->open(&cables->transport, &opening, why);
    if (!result)
        result = config->transport->describe(cables->transport, cables->description,
                                             sizeof cables->description);
    if (result < 0) {
        cables_close(cables);
        return result;
    }
    cables->description_size = (size_t)result;
    *out = cables;
    return 0;
}

void cables_close(struct cables *cables)
{
    if (!cables)
        return;
    assert(list_is_empty(&cables->all));
    list_each(&cables->homes, node)
    {
        struct cable_home *home = container_of(node, struct cable_home, node);
        lifelines_close(home->lines);
        free(home);
    }
    if (cables->transport)
        cables->transport->ops->close(cables->transport);
    free(cables);
}

int cables_listen(struct cables *cables, uint32_t server, struct why *why)
{
    struct cable_home *home = array_new(1, sizeof *home);
    struct context_address address;
    if (!home)
        return why_fail(why, -ENOMEM, "not enough memory");
    home->cables = cables;
    home->server = server;
    struct lifelines_config lines = {
        .poller = cables->config.poller,
        .folder = cables->config.folder,
        .context = context_of(server),
        .card = cables->description,
        .card_size = cables->description_size,
        .events = &cable_events,
        .owner = home,
    };
    int result = lifelines_open(&home->lines, &lines, &address, why);
    if (result) {
        free(home);
        return result;
    }
    list_append(&cables->homes, &home->node);
    return 0;
}

static struct cable_home *home_of(const struct cables *cables, uint32_t server)
{
    list_each(&cables->homes, node)
    {
        struct cable_home *home = container_of(node, struct cable_home, node);
        if (home->server == server)
            return home;
    }
    return NULL;
}

int cables_add(struct cables *cables, const struct cable_plan *plan, struct port **port,
               struct why *why)
{
    struct cable_port *cable = array_new(1, sizeof *cable);
    if (!cable || cable_init(cable)) {
        free(cable);
        return why_fail(why, -ENOMEM, "not enough memory");
    }
    cable->port = (struct port){.ops = &cable_ops, .server = plan->server, .number = plan->number};
    cable->cables = cables;
    cable->home = home_of(cables, plan->server);
    cable->plan = *plan;
    cable->retry = (struct poller_timer){.fired = cable_retry, .owner = cable};
    assert(cable->home);
    int result = poller_set(cables->config.poller, &cable->retry, NSEC_FAR);
    if (result) {
        free(cable->loans);
        free(cable);
        return why_fail(why, result, "not enough memory");
    }
    list_append(&cables->all, &cable->node);
    *port = &cable->port;
    return 0;
}

void cables_call(struct cables *cables)
{
    list_each(&cables->all, node) cable_call(container_of(node, struct cable_port, node));
}

int cables_progress(struct cables *cables)
{
    const struct transport_ops *ops = cables->transport->ops;
    return ops->progress ? ops->progress(cables->transport) : 0;
}

int cables_arm(struct cables *cables)
{
    const struct transport_ops *ops = cables->transport->ops;
    return ops->arm ? ops->arm(cables->transport) : 0;
}
