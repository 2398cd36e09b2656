#include "sim/world/simulation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mapping.h"
#include "base/rng.h"
#include "keyspace/keyspace.h"

#define STREAM_CHECKER 0xc4ec4e5ull
#define LINE_MAX_SIZE  512
/* A checker that is called this often at one moment would never stop. */
#define CALLS_PER_MOMENT_MAX 1000000u

const char *const simulation_places[] = {
    [SIMULATION_OUTSIDE] = "",    [SIMULATION_START] = "start", [SIMULATION_ANSWER] = "answer",
    [SIMULATION_TIMER] = "timer", [SIMULATION_DOWN] = "down",   [SIMULATION_UP] = "up",
    [SIMULATION_FAULT] = "fault", [SIMULATION_PHASE] = "phase", [SIMULATION_FINISH] = "finish",
};

struct client {
    node_id server;
    bool open;
};

struct timer {
    psec at;
    uint64_t number; /* of equal moments the first that was set comes first */
    uint64_t cookie;
};

/* An answer that the checker did not get yet. */
struct answer {
    struct answer *next;
    uint32_t client;
    uint64_t ticket;
    uint32_t size;
    uint8_t bytes[];
};

struct weft_simulation {
    struct simulation_settings settings;
    const struct weft_checker_ops *ops;
    struct world *world;
    void *memory; /* of the checker */
    struct rng rng;
    struct client *clients;
    uint32_t client_count, client_room;
    struct timer *timers; /* a binary heap */
    uint32_t timer_count, timer_room;
    uint64_t timer_number;
    struct answer *answers, **answers_end;
    psec called_at; /* the last moment at which the checker was called ... */
    uint32_t calls; /* ... and how often at this moment */
    bool finished;
    bool failed;
    struct simulation_failure failure;
    int error;
};

/* ---- opening and closing ---- */

/* A mapping has at least one byte. */
static size_t memory_size(const struct weft_checker *checker)
{
    return checker->size ? checker->size : 1;
}

enum err simulation_open(struct weft_simulation **out, const struct simulation_settings *settings,
                         struct why *why)
{
    struct weft_simulation *simulation = calloc(1, sizeof *simulation);
    if (!simulation)
        return why_memory(why);
    simulation->settings = *settings;
    simulation->ops = settings->checker->ops;
    simulation->world = settings->world;
    simulation->rng = rng_make(settings->seed, STREAM_CHECKER);
    simulation->answers_end = &simulation->answers;
    if (settings->record)
        settings->record->size = settings->record->lines_out = 0;
    uint64_t size = settings->checker->size;
    simulation->memory = mapping_take(memory_size(settings->checker));
    if (!simulation->memory) {
        free(simulation);
        return why_fail(why, ERR_MEMORY, "checker %s: no memory of %llu bytes",
                        settings->checker->name, (unsigned long long)size);
    }
    *out = simulation;
    return OK;
}

void simulation_close(struct weft_simulation *simulation)
{
    if (!simulation)
        return;
    for (struct answer *answer = simulation->answers, *next; answer; answer = next) {
        next = answer->next;
        free(answer);
    }
    free(simulation->timers);
    free(simulation->clients);
    mapping_give(simulation->memory, memory_size(simulation->settings.checker));
    free(simulation);
}

/* ---- calls of the checker ---- */

static void enter(struct weft_simulation *simulation, enum simulation_place place)
{
    if (simulation->settings.record)
        atomic_store_explicit(&simulation->settings.record->place, place, memory_order_relaxed);
}

static void leave(struct weft_simulation *simulation)
{
    enter(simulation, SIMULATION_OUTSIDE);
    psec now = world_now(simulation->world);
    simulation->calls = now == simulation->called_at ? simulation->calls + 1 : 0;
    simulation->called_at = now;
    if (simulation->calls > CALLS_PER_MOMENT_MAX)
        weft_sim_fail(simulation, "the checker is called without end, and no time passes: it "
                                  "sends a request or sets a timer in each call");
}

/* Calls that function of the checker, unless it has none or nothing is to be checked any more. */
#define CALL(simulation, place_, function, ...)                                                    \
    do {                                                                                           \
        if ((simulation)->ops->function && !(simulation)->finished && !(simulation)->failed) {     \
            enter(simulation, place_);                                                             \
            (simulation)->ops->function(simulation, __VA_ARGS__);                                  \
            leave(simulation);                                                                     \
        }                                                                                          \
    } while (0)

enum err simulation_start(struct weft_simulation *simulation, struct why *why)
{
    if (!simulation->ops->start)
        return OK;
    enter(simulation, SIMULATION_START);
    int result = simulation->ops->start(simulation);
    leave(simulation);
    if (result >= 0)
        return OK;
    const char *reason = strerrordesc_np(-result);
    return why_fail(why, ERR_USAGE, "checker %s: start() returned %d (%s)",
                    simulation->settings.checker->name, result, reason ? reason : "unknown");
}

void simulation_finish(struct weft_simulation *simulation)
{
    if (simulation->finished)
        return;
    if (simulation->ops->finish) {
        enter(simulation, SIMULATION_FINISH);
        simulation->ops->finish(simulation);
        leave(simulation);
    }
    simulation->finished = true;
    for (uint32_t client = 0; client < simulation->client_count; client++)
        (void)weft_sim_close(simulation, client);
}

/* ---- timers: a binary heap ---- */

static bool is_earlier(const struct timer *one, const struct timer *other)
{
    return one->at != other->at ? one->at < other->at : one->number < other->number;
}

static void timer_push(struct weft_simulation *simulation, struct timer timer)
{
    struct timer *heap = simulation->timers;
    uint32_t slot = simulation->timer_count++;
    while (slot > 0 && is_earlier(&timer, &heap[(slot - 1) / 2])) {
        heap[slot] = heap[(slot - 1) / 2];
        slot = (slot - 1) / 2;
    }
    heap[slot] = timer;
}

static struct timer timer_pop(struct weft_simulation *simulation)
{
    struct timer *heap = simulation->timers;
    struct timer first = heap[0], last = heap[--simulation->timer_count];
    uint32_t count = simulation->timer_count, slot = 0;
    for (uint32_t child = 1; child < count; child = 2 * slot + 1) {
        if (child + 1 < count && is_earlier(&heap[child + 1], &heap[child]))
            child++;
        if (!is_earlier(&heap[child], &last))
            break;
        heap[slot] = heap[child];
        slot = child;
    }
    heap[slot] = last;
    return first;
}

/* Returns the array with room for one more item; NULL: no memory, and the array stays. */
static void *array_grown(void *items, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return items;
    uint32_t more = *room ? 2 * *room : 16;
    void *larger = reallocarray(items, more, size);
    if (larger)
        *room = more;
    return larger;
}

int weft_sim_timer(struct weft_simulation *simulation, int64_t at, uint64_t cookie)
{
    struct timer *timers = array_grown(simulation->timers, simulation->timer_count,
                                       &simulation->timer_room, sizeof *timers);
    if (!timers)
        return -ENOMEM;
    simulation->timers = timers;
    psec now = world_now(simulation->world);
    psec when = at <= 0                                  ? 0
                : (psec)at >= PSEC_NEVER / PSEC_PER_NSEC ? PSEC_NEVER - 1
                                                         : (psec)at * PSEC_PER_NSEC;
    timer_push(simulation,
               (struct timer){when > now ? when : now, simulation->timer_number++, cookie});
    return 0;
}

/* ---- running ---- */

static struct answer *answer_take(struct weft_simulation *simulation)
{
    struct answer *answer = simulation->answers;
    simulation->answers = answer->next;
    if (!simulation->answers)
        simulation->answers_end = &simulation->answers;
    return answer;
}

/* Calls the checker for all that is due now. */
static void calls_make(struct weft_simulation *simulation)
{
    while (!simulation->failed && !simulation->error) {
        if (simulation->answers) {
            struct answer *answer = answer_take(simulation);
            if (simulation->clients[answer->client].open)
                CALL(simulation, SIMULATION_ANSWER, answer, answer->client, answer->ticket,
                     answer->bytes, answer->size);
            free(answer);
        } else if (simulation->timer_count &&
                   simulation->timers[0].at <= world_now(simulation->world)) {
            struct timer timer = timer_pop(simulation);
            CALL(simulation, SIMULATION_TIMER, timer, timer.cookie);
        } else {
            return;
        }
    }
}

void simulation_run(struct weft_simulation *simulation, psec until)
{
    struct world *world = simulation->world;
    calls_make(simulation);
    while (world_now(world) < until && !simulation->failed && !simulation->error) {
        psec next = simulation->timer_count ? simulation->timers[0].at : PSEC_NEVER;
        world_run(world, next < until ? next : until);
        calls_make(simulation);
    }
}

/* ---- what the driver tells ---- */

int simulation_answer(struct weft_simulation *simulation, const struct env_answer *to,
                      const void *bytes, uint32_t size)
{
    uint64_t client = to->client - SIMULATION_CLIENT_FIRST;
    if (client >= simulation->client_count || !simulation->clients[client].open)
        return -EPIPE;
    struct answer *answer = malloc(sizeof *answer + size);
    world_interrupt(simulation->world);
    if (!answer) {
        simulation->error = -ENOMEM;
        return 0;
    }
    *answer = (struct answer){.client = (uint32_t)client, .ticket = to->ticket, .size = size};
    if (size)
        memcpy(answer->bytes, bytes, size);
    *simulation->answers_end = answer;
    simulation->answers_end = &answer->next;
    return 0;
}

void simulation_down(struct weft_simulation *simulation, node_id server)
{
    /* The answers that its programs did not read are lost with the connections. */
    struct answer **place = &simulation->answers;
    while (*place) {
        struct answer *answer = *place;
        if (simulation->clients[answer->client].server != server) {
            place = &answer->next;
            continue;
        }
        *place = answer->next;
        free(answer);
    }
    simulation->answers_end = place;
    weft_sim_record(simulation, "server %u is down", server);
    CALL(simulation, SIMULATION_DOWN, down, server);
}

void simulation_up(struct weft_simulation *simulation, node_id server, bool empty)
{
    weft_sim_record(simulation, "server %u starts again%s", server,
                    empty ? ", with an empty disk" : "");
    CALL(simulation, SIMULATION_UP, up, server, empty);
}

void simulation_fault(struct weft_simulation *simulation, const struct weft_fault *fault,
                      const char *name)
{
    weft_sim_record(simulation, "%s %s, server %u, port %u, amount %llu", name,
                    fault->begins ? "begins" : "ends", fault->server, fault->port,
                    (unsigned long long)fault->amount);
    CALL(simulation, SIMULATION_FAULT, fault, fault);
}

void simulation_phase(struct weft_simulation *simulation, enum weft_sim_phase phase)
{
    static const char *const names[] = {"storm", "calm", "steady"};
    if (phase == simulation->settings.phase)
        return;
    simulation->settings.phase = phase;
    weft_sim_record(simulation, "phase: %s", names[phase]);
    CALL(simulation, SIMULATION_PHASE, phase, phase);
}

const struct simulation_failure *simulation_failed(const struct weft_simulation *simulation)
{
    return simulation->failed ? &simulation->failure : NULL;
}

int simulation_error(const struct weft_simulation *simulation)
{
    return simulation->error;
}

/* ---- the calls of a checker ---- */

void *weft_sim_memory(struct weft_simulation *simulation)
{
    return simulation->memory;
}

uint64_t weft_sim_seed(const struct weft_simulation *simulation)
{
    return simulation->settings.seed;
}

uint64_t weft_sim_random(struct weft_simulation *simulation)
{
    return rng_next(&simulation->rng);
}

int64_t weft_sim_now(const struct weft_simulation *simulation)
{
    return (int64_t)(world_now(simulation->world) / PSEC_PER_NSEC);
}

void weft_sim_fail(struct weft_simulation *simulation, const char *format, ...)
{
    if (simulation->failed || simulation->finished)
        return;
    simulation->failed = true;
    simulation->failure.at = world_now(simulation->world);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(simulation->failure.text, sizeof simulation->failure.text, format, arguments);
    va_end(arguments);
    weft_sim_record(simulation, "failed: %s", simulation->failure.text);
}

void weft_sim_record(struct weft_simulation *simulation, const char *format, ...)
{
    struct simulation_record *record = simulation->settings.record;
    char line[LINE_MAX_SIZE];
    if (!record)
        return;
    unsigned long long now = world_now(simulation->world) / PSEC_PER_NSEC;
    int used = snprintf(line, sizeof line, "%9llu.%06llu ms  ", now / 1000000, now % 1000000);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    va_end(arguments);
    size_t size = strlen(line);
    if (size + 1 > SIMULATION_HISTORY_SIZE - record->size) {
        record->lines_out++;
        return;
    }
    memcpy(record->history + record->size, line, size);
    record->history[record->size + size] = '\n';
    record->size += (uint32_t)size + 1;
}

/* ---- servers ---- */

static struct node *node_of(const struct weft_simulation *simulation, weft_server server)
{
    bool exists = server < world_plan(simulation->world)->server_count;
    return exists ? world_node(simulation->world, server) : NULL;
}

uint32_t weft_sim_server_count(const struct weft_simulation *simulation)
{
    return world_plan(simulation->world)->server_count;
}

bool weft_sim_is_up(const struct weft_simulation *simulation, weft_server server)
{
    return node_of(simulation, server) != NULL;
}

bool weft_sim_is_paused(const struct weft_simulation *simulation, weft_server server)
{
    return node_of(simulation, server) && world_is_paused(simulation->world, server);
}

bool weft_sim_is_root(const struct weft_simulation *simulation, weft_server server,
                      const struct weft_key *key)
{
    struct node *node = node_of(simulation, server);
    struct key wanted;
    static_assert(sizeof wanted.bytes == sizeof key->bytes, "a key is a key");
    memcpy(wanted.bytes, key->bytes, sizeof wanted.bytes);
    return node && node_is_root(node, key_route(&wanted));
}

bool weft_sim_reaches(const struct weft_simulation *simulation, weft_server server,
                      weft_server other)
{
    const struct node *node = node_of(simulation, server);
    return node && other < world_plan(simulation->world)->server_count && node_reaches(node, other);
}

struct stat_search {
    const char *service, *counter;
    uint64_t value;
    bool found;
};

static void stat_told(void *context, const char *service, const char *name, uint64_t value)
{
    struct stat_search *search = context;
    if (strcmp(service, search->service) != 0 || strcmp(name, search->counter) != 0)
        return;
    search->found = true;
    search->value = value;
}

int weft_sim_stat(const struct weft_simulation *simulation, weft_server server, const char *service,
                  const char *counter, uint64_t *value)
{
    struct node *node = node_of(simulation, server);
    struct stat_search search = {service, counter, 0, false};
    if (!node)
        return -ECONNREFUSED;
    node_stats(node, stat_told, &search);
    if (!search.found)
        return -ENOENT;
    *value = search.value;
    return 0;
}

/* ---- clients ---- */

int64_t weft_sim_client(struct weft_simulation *simulation, weft_server server)
{
    if (server >= world_plan(simulation->world)->server_count)
        return -EINVAL;
    struct client *clients = array_grown(simulation->clients, simulation->client_count,
                                         &simulation->client_room, sizeof *clients);
    if (!clients)
        return -ENOMEM;
    simulation->clients = clients;
    clients[simulation->client_count] = (struct client){server, true};
    return simulation->client_count++;
}

static const struct weft_service *service_find(const struct weft_simulation *simulation,
                                               const char *name)
{
    for (const struct weft_service *const *each = simulation->settings.services; *each; each++)
        if (strcmp((*each)->name, name) == 0)
            return *each;
    return NULL;
}

int weft_sim_send(struct weft_simulation *simulation, uint32_t client, const char *service,
                  uint64_t ticket, const void *bytes, uint32_t size)
{
    if (client >= simulation->client_count || !simulation->clients[client].open)
        return -EBADF;
    const struct weft_service *to = service_find(simulation, service);
    if (!to || !to->ops->request)
        return -ENOENT;
    if (size > WEFT_MESSAGE_MAX)
        return -EMSGSIZE;
    const struct env_answer from = {SIMULATION_CLIENT_FIRST + (uint64_t)client, ticket, to->id};
    return world_call(simulation->world, simulation->clients[client].server, &from, bytes, size);
}

int weft_sim_close(struct weft_simulation *simulation, uint32_t client)
{
    if (client >= simulation->client_count || !simulation->clients[client].open)
        return -EBADF;
    simulation->clients[client].open = false;
    return world_gone(simulation->world, simulation->clients[client].server,
                      SIMULATION_CLIENT_FIRST + (uint64_t)client);
}
