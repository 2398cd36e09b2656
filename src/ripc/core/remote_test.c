#include "ripc/core/remote.h"

#include <errno.h>
#include <string.h>

#include "ripc/core/peer.h"
#include "ripc/scene/scene.h"

/* A new client binds, sends a request, gets its reply and unbinds. */
static void visit(struct ripc *ripc, struct ripc_service *server)
{
    struct ripc_service *client = scene_bind(ripc, 0);
    assert_int_equal(ripc_send(client, 42, "who", 3, scene_deadline()), 0);
    struct ripc_message message = scene_receive(server);
    assert_int_equal(ripc_send(server, message.from, "you", 3, scene_deadline()), 0);
    ripc_release(&message);
    message = scene_receive(client);
    assert_memory_equal(message.data, "you", 3);
    ripc_release(&message);
    assert_int_equal(ripc_unbind(client), 0);
}

/* Makes all clients that the server remembers two seconds older; it remembers them for one second.
 * Returns false if a client has gone but the server has not noticed yet. */
static bool age_all(struct ripc_service *server)
{
    bool rest = true;
    size_t cursor = 0;
    struct remote *remote;
    lock_take(&server->ripc->lock);
    while ((remote = id_map_next(&server->remotes, &cursor)))
        rest = rest && remote->state == REMOTE_RESTING;
    cursor = 0;
    while (rest && (remote = id_map_next(&server->remotes, &cursor)))
        remote->used_at -= 2 * NSEC_PER_SEC;
    lock_drop(&server->ripc->lock);
    return rest;
}

static void clients_that_left_are_forgotten(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *server = scene_bind(there, 42);
    for (unsigned i = 0; i < 60; i++)
        visit(here, server);
    assert_int_equal(server->remotes.count, 60); /* below the limit for a sweep */
    for (int64_t end = scene_deadline(); !age_all(server);) {
        assert_true(ripc_now() < end);
        clock_nap(100 * 1000);
    }
    for (unsigned i = 0; i < 10; i++)
        visit(here, server);
    assert_int_equal(server->remotes.count, 10); /* none of the first 60 */
    scene_close(here);
    scene_close(there);
}

/* ---- a peer to which a new pipe cannot be announced ---- */

static struct peer *deaf;
static unsigned closed;

static void outlet_count_closed(struct outlet *outlet)
{
    closed++;
}

static int outlet_of_the_deaf(struct transport_link *link, struct doorbell *bell,
                              struct parcel *offer, struct outlet **out)
{
    static const struct pipe_ops ops = {.outlet_close = outlet_count_closed};
    static struct outlet outlet = {.ops = &ops};
    *out = &outlet;
    deaf->state = PEER_CONNECTING; /* as if its lifeline had just ended */
    return 0;
}

static void a_pipe_that_cannot_be_announced_to_the_peer_is_closed(void **state)
{
    struct ripc_config config = {.transports = "shm"};
    struct ripc *here = scene_open(&config), *there = scene_open(&config);
    struct ripc_service *client = scene_bind(here, 0);
    struct remote *remote = NULL;
    scene_bind(there, 42);
    scene_bind(there, 43);
    assert_int_equal(ripc_send(client, 42, "x", 1, scene_deadline()), 0);
    lock_take(&here->lock);
    list_each(&here->peers, node) deaf = container_of(node, struct peer, node);
    struct transport_link *link = deaf->links[0];
    const struct transport_ops *usual = link->ops;
    struct pipe_ops pipes = *usual->pipes;
    struct transport_ops ops = *usual;
    pipes.outlet_open = outlet_of_the_deaf;
    ops.pipes = &pipes;
    link->ops = &ops;
    assert_int_equal(remote_get(client, 43, &remote), 0);
    assert_int_equal(remote_advance(remote), -EPIPE);
    assert_int_equal(closed, 1);
    assert_null(remote->outlet);
    link->ops = usual;
    deaf->state = PEER_UP;
    lock_drop(&here->lock);
    assert_int_equal(ripc_send(client, 43, "x", 1, scene_deadline()), 0);
    scene_close(here);
    scene_close(there);
}

struct seen {
    ripc_id id;
    unsigned count;
    int pid;
};

static void see(void *argument, const struct ripc_name *name)
{
    struct seen *seen = argument;
    if (name->id == seen->id) {
        seen->count++;
        seen->pid = name->pid;
    }
}

static void a_list_waits_for_answers_over_the_network(void **state)
{
    char names[64];
    snprintf(names, sizeof names, "multicast:239.255.87.71:%d", 20000 + (int)(getpid() % 20000));
    struct ripc_config config = {.names = names, .address = "127.0.0.1", .transports = "shm"};
    struct ripc *there = scene_open(&config);
    scene_bind(there, 42);
    struct ripc *here = scene_open(&config); /* opened last: it knows no names yet */
    struct seen seen = {.id = 42};
    assert_true(ripc_list(here, see, &seen) >= 1);
    assert_int_equal(seen.count, 1);
    scene_close(here);
    scene_close(there);
}

static void a_list_contains_the_holder_of_each_name(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *member = scene_bind(there, 42);
    assert_int_equal(ripc_join(member, 43), 0);
    struct seen seen = {.id = 42};
    struct seen group = {.id = 43};
    assert_true(ripc_list(here, see, &seen) >= 2);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.pid, getpid());
    ripc_list(here, see, &group);
    assert_int_equal(group.count, 1);
    assert_int_equal(group.pid, getpid());
    scene_close(here);
    scene_close(there);
}

/* Makes the client believe that this binding of 42 has just refused it, then sends. */
static int send_refused_by(struct ripc_service *client, const struct claim *binding, nsec until)
{
    lock_take(&client->ripc->lock);
    struct remote *remote = id_map_get(&client->remotes, 42);
    remote->refused = *binding;
    remote->refused_until = until;
    lock_drop(&client->ripc->lock);
    return ripc_send(client, 42, "again", 5, scene_deadline());
}

/* Closes the pipe to 42, which must be open, at this end. Returns the claim of its holder. */
static struct claim leave(struct ripc_service *client)
{
    lock_take(&client->ripc->lock);
    struct remote *remote = id_map_get(&client->remotes, 42);
    assert_int_equal(remote->state, REMOTE_OPEN);
    remote_lost(remote, -EPIPE);
    struct claim claim = remote->claim;
    lock_drop(&client->ripc->lock);
    return claim;
}

/* A refusal counts for one binding and for a limited time. A later binding of the same id in that
 * context is tried, and so is another context with a binding of the same incarnation. */
static void a_binding_that_refused_is_not_tried_for_a_while(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *client = scene_bind(here, 41);
    struct ripc_service *server = scene_bind(there, 42);
    assert_int_equal(ripc_send(client, 42, "hello", 5, scene_deadline()), 0);
    struct claim other, binding = leave(client);
    assert_int_equal(send_refused_by(client, &binding, NSEC_NEVER), -ENOENT);
    other = binding;
    other.incarnation++;
    assert_int_equal(send_refused_by(client, &other, NSEC_NEVER), 0);
    leave(client);
    other = binding;
    other.address.context++;
    assert_int_equal(send_refused_by(client, &other, NSEC_NEVER), 0);
    leave(client);
    assert_int_equal(send_refused_by(client, &binding, ripc_now() - 1), 0); /* the refusal has
                                                                             * expired */
    for (unsigned i = 0; i < 4; i++) {
        struct ripc_message message = scene_receive(server);
        ripc_release(&message);
    }
    scene_close(here);
    scene_close(there);
}

/* A transport that the peer does not describe is not tried, even if the peer describes something of
 * that size. */
static void a_transport_that_the_peer_lacks_is_not_opened(void **state)
{
    struct ripc_config all = {.transports = "shm,udp", .address = "127.0.0.1"};
    struct ripc_config one = {.transports = "udp", .address = "127.0.0.1"};
    struct ripc *here = scene_open(&all), *there = scene_open(&one);
    struct ripc_service *client = scene_bind(here, 41), *server = scene_bind(there, 42);
    assert_int_equal(ripc_send(client, 42, "hello", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(server);
    ripc_release(&message);
    assert_string_equal(ripc_transport(client, 42), "udp");
    static const uint8_t card[] = {3, 'x', 'y', 'z', 4, 's', 'h', 'm', 1};
    struct transport_link *link;
    lock_take(&here->lock);
    struct peer *peer = ((struct remote *)id_map_get(&client->remotes, 42))->peer;
    assert_string_equal(here->transports[0]->ops->name, "shm");
    assert_int_equal(peer_link(peer, 0, &link), -EHOSTUNREACH);
    memcpy(peer->card, card, sizeof card);
    peer->card_size = sizeof card;
    assert_int_equal(peer_link(peer, 0, &link), -EHOSTUNREACH);
    peer->card[1] = 's', peer->card[2] = 'h', peer->card[3] = 'm'; /* now it is described */
    for (peer->card_size = 0; peer->card_size < sizeof card; peer->card_size++)
        assert_int_equal(peer_link(peer, 0, &link), -EHOSTUNREACH); /* the description is
                                                                     * truncated */
    peer->state = PEER_CONNECTING;
    assert_int_equal(peer_link(peer, 0, &link), -EPIPE);
    peer->state = PEER_UP;
    assert_int_equal(peer_link(peer, 0, &link), 0);
    lock_drop(&here->lock);
    scene_close(here);
    scene_close(there);
}

/* Sends without waiting until there is an answer other than "try again". */
static int send_now(struct ripc_service *client, ripc_id to, unsigned *credits)
{
    struct ripc_event event;
    int result;
    while ((result = ripc_send(client, to, "x", 1, RIPC_NOW)) == -EAGAIN) {
        assert_int_equal(ripc_poll(client, &event, 1, scene_deadline()), 1);
        assert_int_equal(event.kind, RIPC_CREDIT);
        assert_int_equal(event.id, to);
        ++*credits;
    }
    return result;
}

/* The name service never says that an id is unclaimed, so this also shows that the wait ends by
 * itself. */
static void a_send_that_does_not_wait_learns_that_no_process_has_the_id(void **state)
{
    struct ripc_config config = {.names = "multicast:239.255.87.72:27711"};
    struct ripc *here = scene_open(&config), *there = scene_open(&config);
    struct ripc_service *client = scene_bind(here, 0);
    unsigned credits = 0;
    assert_int_equal(send_now(client, 42, &credits), -ENOENT);
    assert_int_equal(credits, 1);
    /* It is told once: the next send asks again. */
    assert_int_equal(ripc_send(client, 42, "x", 1, RIPC_NOW), -EAGAIN);
    struct ripc_service *server = scene_bind(there, 42);
    assert_int_equal(send_now(client, 42, &credits), 0);
    struct ripc_message message = scene_receive(server);
    ripc_release(&message);
    scene_close(here);
    scene_close(there);
}

/* An answer that came before the service began must not be used after. */
static void an_old_answer_does_not_hide_a_new_service(void **state)
{
    struct ripc_config config = {.names = "multicast:239.255.87.72:27711"};
    struct ripc *here = scene_open(&config), *there = scene_open(&config);
    struct ripc_service *client = scene_bind(here, 0);
    struct ripc_event event;
    assert_int_equal(ripc_send(client, 42, "x", 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_poll(client, &event, 1, scene_deadline()), 1); /* no process has it */
    struct ripc_service *server = scene_bind(there, 42);
    for (unsigned credits = 0; send_now(client, 42, &credits) == -ENOENT && credits < 3;)
        ; /* the claim may not have arrived here yet */
    struct ripc_message message = scene_receive(server);
    ripc_release(&message);
    assert_int_equal(ripc_send(client, 43, "x", 1, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_poll(client, &event, 1, scene_deadline()), 1);
    remote_ask_anew(client, 43);
    assert_int_equal(ripc_send(client, 43, "x", 1, RIPC_NOW), -EAGAIN);
    scene_close(here);
    scene_close(there);
}

TEST_MAIN(SCENE(a_send_that_does_not_wait_learns_that_no_process_has_the_id),
          SCENE(an_old_answer_does_not_hide_a_new_service),
          SCENE(a_transport_that_the_peer_lacks_is_not_opened),
          SCENE(a_binding_that_refused_is_not_tried_for_a_while),
          SCENE(a_pipe_that_cannot_be_announced_to_the_peer_is_closed),
          SCENE(clients_that_left_are_forgotten), SCENE(a_list_waits_for_answers_over_the_network),
          SCENE(a_list_contains_the_holder_of_each_name))
