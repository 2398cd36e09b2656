/* primes: finds out whether large numbers are prime, on worker threads, so that no packet waits.
 *
 *   cc -shared -fPIC -o primes.so primes.c $(pkg-config --cflags weft)
 *   weft up torus:3x3 --service ./primes.so
 *
 * A program sends "1000000007" to a server; the answer is "prime", or a divisor. "busy" means that
 * the server computes as many answers as it may. docs/guide/work.md explains each part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/work.h>

#define QUESTIONS 16

struct question {          /* one request */
    struct weft_call call; /* the first member: a pointer to it is a pointer to the question */
    bool used;
    uint64_t client, ticket; /* of the program, and of its request */
    uint64_t number;         /* the thread reads it until done() */
};

struct primes {
    struct question questions[QUESTIONS];
    uint64_t primes, others;
};

/* ---- on a worker thread ---- */

/* Returns the smallest divisor, or 1 for a prime number. */
static int64_t divide(const struct weft_work *work, void *argument)
{
    const struct question *question = argument;
    uint64_t number = question->number;
    for (uint64_t divisor = 2; divisor <= number / divisor; divisor++) {
        if (number % divisor == 0)
            return (int64_t)divisor;
        if (divisor % 65536 == 0 && weft_work_is_cancelled(work))
            return 0; /* the program has gone, or the server stops */
    }
    return 1;
}

/* ---- in the service ---- */

static void divided(struct weft_self *self, struct weft_call *call)
{
    struct primes *primes = weft_memory(self);
    struct question *question = (struct question *)call;
    char text[32] = "prime";
    question->used = false;
    if (call->result < 1)
        return; /* cancelled: no program waits for the answer */
    primes->primes += call->result == 1;
    primes->others += call->result > 1;
    if (call->result > 1)
        snprintf(text, sizeof text, "%lld", (long long)call->result);
    weft_answer(self, question->client, question->ticket, text, (uint32_t)strlen(text));
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct primes *primes = weft_memory(self);
    struct question *question = primes->questions;
    char text[32] = "";
    memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
    while (question < primes->questions + QUESTIONS && question->used)
        question++;
    if (question == primes->questions + QUESTIONS) {
        weft_answer(self, client, ticket, "busy", 4);
        return;
    }
    question->client = client;
    question->ticket = ticket;
    question->number = strtoull(text, NULL, 10);
    question->call.done = divided;
    question->used = weft_work_run(self, &question->call, divide, question, 0) == 0;
    if (!question->used) /* the operator allows fewer calls than we asked for */
        weft_answer(self, client, ticket, "busy", 4);
}

static void gone(struct weft_self *self, uint64_t client)
{
    struct primes *primes = weft_memory(self);
    for (unsigned i = 0; i < QUESTIONS; i++)
        if (primes->questions[i].used && primes->questions[i].client == client)
            weft_work_cancel(self, &primes->questions[i].call);
}

static void stats(struct weft_self *self, struct weft_report *report)
{
    const struct primes *primes = weft_memory(self);
    weft_stat(report, "primes", primes->primes);
    weft_stat(report, "others", primes->others);
}

static const struct weft_service_ops ops = {.request = request, .gone = gone, .stats = stats};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "primes",
    .id = 259,
    .size = sizeof(struct primes),
    .ops = &ops,
    .work = QUESTIONS, /* calls under way at once: the service uses weft/work.h */
};
