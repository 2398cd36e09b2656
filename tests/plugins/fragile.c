/* fragile: a service that ends its server in the way that a program asks for, or that its
 * parameters name for start() and stop(). For tests/cli/cluster_crash.py, written with the public
 * headers alone. A request is a letter:
 *
 *     s  an invalid pointer            i  an illegal instruction
 *     b  a page beyond the end of a    f  SIGFPE
 *        file (SIGBUS)                 a  abort()
 *     o  overflows the stack           e  exit(0)
 *     m  a mistake that weft refuses   x  exit(3)
 *     h  never returns
 *     w  the next letter, on a thread of weft_work_run */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <weft/work.h>

struct fragile {
    const char *begin, *end; /* parameters: letters for start() and stop() */
    struct weft_call call;
    char letter;
};

static volatile int sink;
static int *volatile nowhere;
static volatile int endless = 1;

static int overflow(int depth)
{
    volatile char memory[4096];
    memory[0] = (char)depth;
    if (endless)
        sink = overflow(depth + 1);
    return memory[0];
}

static void beyond_the_file(void)
{
    FILE *file = tmpfile();
    char *page = file ? mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fileno(file), 0) : MAP_FAILED;
    if (page != MAP_FAILED)
        *(volatile char *)page = 1; /* a crash */
    if (file)
        fclose(file);
}

static void fail(struct weft_self *self, char letter)
{
    switch (letter) {
    case 's':
        *nowhere = 1;
        break;
    case 'b':
        beyond_the_file();
        break;
    case 'o':
        sink = overflow(0);
        break;
    case 'i':
        __builtin_trap();
    case 'f':
        raise(SIGFPE); /* a division does not fail on every processor */
        break;
    case 'a':
        abort();
    case 'e':
        exit(0);
    case 'x':
        exit(3);
    case 'h':
        while (endless)
            continue;
        break;
    case 'm':
        (void)weft_wake(self, 1); /* it has no poll() */
        break;
    default:
        break;
    }
}

static int64_t work(const struct weft_work *under_way, void *argument)
{
    struct fragile *fragile = argument;
    fail(NULL, fragile->letter);
    return 0;
}

static void done(struct weft_self *self, struct weft_call *call)
{
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct fragile *fragile = weft_memory(self);
    const char *letters = bytes;
    if (size > 1 && letters[0] == 'w') {
        fragile->letter = letters[1];
        fragile->call.done = done;
        (void)weft_work_run(self, &fragile->call, work, fragile, 0);
    } else if (size > 0) {
        fail(self, letters[0]);
    }
    (void)weft_answer(self, client, ticket, "alive", 5);
}

static int start(struct weft_self *self)
{
    fail(self, ((struct fragile *)weft_memory(self))->begin[0]);
    return 0;
}

static void stop(struct weft_self *self)
{
    fail(self, ((struct fragile *)weft_memory(self))->end[0]);
}

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct fragile, begin, TEXT), .value = "-", .help = "what start() does"},
    {WEFT_PARAMETER(struct fragile, end, TEXT), .value = "-", .help = "what stop() does"},
    {0},
};

static const struct weft_service_ops ops = {.start = start, .stop = stop, .request = request};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "fragile",
    .id = 303,
    .size = sizeof(struct fragile),
    .ops = &ops,
    .parameters = parameters,
    .work = 1,
};
