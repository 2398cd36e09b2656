/* register_checker: plays the programs of a simulated cluster that runs examples/register.c, and
 * checks that the registers behave like one memory.
 *
 *   cc -shared -fPIC -o register_checker.so register_checker.c $(pkg-config --cflags weft)
 *   weft sim chaos torus:3x3 --service ./register.so --checker ./register_checker.so
 *
 * Program N writes 1, 2, 3, ... to register N, and reads any register. A read must not return a
 * value older than one that was known when the read began: acknowledged to its writer, or returned
 * by a read. docs/guide/checker.md explains each part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/simulation.h>

#define PROGRAMS 8
#define VALUES   10000
#define PAUSE    4000000   /* nanoseconds between two operations, at most */
#define PATIENCE 400000000 /* then the outcome of an operation is unknown */

struct program {
    uint32_t client;
    weft_server server;
    uint64_t ticket; /* of the operation under way; 0: none */
    bool writes;
    unsigned index;          /* the register */
    uint64_t value, known;   /* to write; the newest known value when the operation began */
    unsigned done_at_steady; /* operations that ended since all servers are back */
};

struct register_state {
    uint64_t begun; /* the last value that its program began to write */
    uint64_t known; /* the newest that was acknowledged or read */
    bool
        acknowledged[VALUES]; /* other values may appear at any later time: their fate is unknown */
};

struct checker {
    struct program programs[PROGRAMS];
    struct register_state registers[PROGRAMS];
    uint64_t tickets, reads, writes, unknown;
    bool steady;
};

static uint64_t below(struct weft_simulation *simulation, uint64_t bound)
{
    return weft_sim_random(simulation) % bound;
}

/* A timer of a program: begins an operation, or gives up the one with that ticket. */
static void again(struct weft_simulation *simulation, unsigned which, uint64_t ticket, int64_t wait)
{
    weft_sim_timer(simulation, weft_sim_now(simulation) + wait, ticket << 8 | which);
}

static void begin(struct weft_simulation *simulation, unsigned which)
{
    struct checker *checker = weft_sim_memory(simulation);
    struct program *program = &checker->programs[which];
    char text[64];
    program->writes = below(simulation, 3) == 0 && checker->registers[which].begun < VALUES - 1;
    program->index = program->writes ? which : (unsigned)below(simulation, PROGRAMS);
    program->known = checker->registers[program->index].known;
    if (program->writes)
        program->value = ++checker->registers[which].begun;
    int size = snprintf(text, sizeof text, program->writes ? "write %u %llu" : "read %u",
                        program->index, (unsigned long long)program->value);
    program->ticket = ++checker->tickets;
    if (weft_sim_send(simulation, program->client, "register", program->ticket, text,
                      (uint32_t)size) < 0)
        program->ticket = 0; /* the server is down */
    weft_sim_record(simulation, "program %u at server %u: %s%s", which, program->server, text,
                    program->ticket ? "" : ": down");
    again(simulation, which, program->ticket, program->ticket ? PATIENCE : PAUSE);
}

static void timer(struct weft_simulation *simulation, uint64_t cookie)
{
    struct checker *checker = weft_sim_memory(simulation);
    unsigned which = cookie & 255;
    struct program *program = &checker->programs[which];
    if (program->ticket != cookie >> 8)
        return; /* that operation has ended */
    checker->unknown += program->ticket != 0;
    begin(simulation, which);
}

static void check_read(struct weft_simulation *simulation, unsigned which, uint64_t value)
{
    struct checker *checker = weft_sim_memory(simulation);
    const struct program *program = &checker->programs[which];
    struct register_state *state = &checker->registers[program->index];
    if (value > state->begun)
        weft_sim_fail(simulation,
                      "program %u at server %u reads %llu from register %u; this was never written",
                      which, program->server, (unsigned long long)value, program->index);
    else if (value < program->known && (value == 0 || state->acknowledged[value]))
        weft_sim_fail(simulation,
                      "program %u at server %u reads %llu from register %u; %llu was known before",
                      which, program->server, (unsigned long long)value, program->index,
                      (unsigned long long)program->known);
    state->known = value > state->known ? value : state->known;
}

static void answer(struct weft_simulation *simulation, uint32_t client, uint64_t ticket,
                   const void *bytes, uint32_t size)
{
    struct checker *checker = weft_sim_memory(simulation);
    unsigned which = client; /* clients are numbered from 0 in the order of start() */
    struct program *program = &checker->programs[which];
    struct register_state *state = &checker->registers[program->index];
    char text[64] = "";
    memcpy(text, bytes, size < sizeof text ? size : 0);
    if (program->ticket != ticket)
        return; /* it comes too late */
    weft_sim_record(simulation, "program %u at server %u: %s", which, program->server, text);
    program->ticket = 0;
    bool known = strcmp(text, "unknown") != 0 && strcmp(text, "no") != 0;
    program->done_at_steady += known && checker->steady;
    checker->unknown += !known;
    if (known && program->writes) {
        checker->writes++;
        state->acknowledged[program->value] = true;
        state->known = program->value > state->known ? program->value : state->known;
    } else if (known) {
        checker->reads++;
        check_read(simulation, which, strtoull(text, NULL, 10));
    }
    again(simulation, which, 0, (int64_t)below(simulation, PAUSE));
}

/* Requests under way get no answer any more. */
static void down(struct weft_simulation *simulation, weft_server server)
{
    struct checker *checker = weft_sim_memory(simulation);
    for (unsigned which = 0; which < PROGRAMS; which++) {
        struct program *program = &checker->programs[which];
        if (program->server != server || !program->ticket)
            continue;
        checker->unknown++;
        program->ticket = 0;
        again(simulation, which, 0, PAUSE);
    }
}

static void phase(struct weft_simulation *simulation, enum weft_sim_phase now)
{
    struct checker *checker = weft_sim_memory(simulation);
    checker->steady = now == WEFT_SIM_STEADY;
}

static int start(struct weft_simulation *simulation)
{
    struct checker *checker = weft_sim_memory(simulation);
    for (unsigned which = 0; which < PROGRAMS; which++) {
        struct program *program = &checker->programs[which];
        program->server = (weft_server)below(simulation, weft_sim_server_count(simulation));
        program->client = (uint32_t)weft_sim_client(simulation, program->server);
        again(simulation, which, 0, (int64_t)below(simulation, PAUSE));
    }
    return 0;
}

static void finish(struct weft_simulation *simulation)
{
    struct checker *checker = weft_sim_memory(simulation);
    weft_sim_record(simulation, "%llu reads, %llu writes, %llu unknown",
                    (unsigned long long)checker->reads, (unsigned long long)checker->writes,
                    (unsigned long long)checker->unknown);
    for (unsigned which = 0; checker->steady && which < PROGRAMS; which++)
        if (!checker->programs[which].done_at_steady)
            weft_sim_fail(simulation, "program %u at server %u gets no answer after the storm",
                          which, checker->programs[which].server);
}

static const struct weft_checker_ops ops = {.start = start,
                                            .answer = answer,
                                            .timer = timer,
                                            .down = down,
                                            .phase = phase,
                                            .finish = finish};

WEFT_API const struct weft_checker weft_checker = {
    .version = WEFT_SIMULATION_VERSION,
    .name = "register",
    .size = sizeof(struct checker),
    .steady_nsec = 900000000,
    .ops = &ops,
};
