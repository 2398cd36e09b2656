/* The guard of a row is never visible before the data that it guards.
 *
 * One process publishes rows of 4 KB as fast as it can. Every word of a row is the number of the
 * round, and so is the guard. Another process reads the guard and then words that it guards, none
 * of which may be older; that is one try. Some tries read the column with sst_get or the row with
 * sst_row, where all words must be from one round. Both designs are tested. Under ThreadSanitizer a
 * thread of the writer's process reads the row, too.
 *
 * Linked with sst_guard_weak.c, which stores the guard first, the same checks must find that error
 * (SST_GUARD_WEAK).
 *
 *   sst_guard_test [TRIES]     a thousand million take some minutes */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <weft/sst.h>

#include "process.h"

#ifdef SST_GUARD_WEAK
#define WEAK true
#else
#define WEAK false
#endif

/* ThreadSanitizer sees one process: there both are threads of it, with a context each. */
#ifdef __SANITIZE_THREAD__
#define TOGETHER true
#else
#define TOGETHER false
#endif

#define TABLE_ID   77
#define READER_ID  1
#define WRITER_ID  2
#define WORDS      511 /* together with the guard 4 KB */
#define SECOND     1000000000LL
#define PATIENCE   ripc_after(30 * SECOND)
#define WHOLE_MASK 63   /* tries between checks of all words, minus one */
#define COPY_MASK  1023 /* tries between copies, minus one */
#define ROUNDS_MIN 500  /* that must be seen, even on a busy machine */
#define SAME_MAX   2000 /* reads of the same guard before the reader yields to the writer */
#define PUTS_TRAIN 32   /* puts without a pause in which a copy certainly succeeds */

/* Ends the process with a line that gives the reason. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #condition);                              \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

struct row {
    uint64_t words[WORDS];
    uint64_t guard;
    uint64_t done; /* set by the reader: it has seen enough */
};
enum { DATA, GUARD, DONE };

static const struct sst_column columns[] = {
    [DATA] = SST_COLUMN(struct row, words, SST_U64, 0),
    [GUARD] = SST_COLUMN(struct row, guard, SST_U64, SST_GUARD | SST_GROWS),
    [DONE] = SST_COLUMN(struct row, done, SST_U64, 0),
};

struct findings {
    uint64_t tries;
    uint64_t rounds;     /* different guards seen */
    uint64_t early;      /* guards seen before their data */
    uint64_t copies;     /* successful copies */
    uint64_t torn;       /* copies of more than one round */
    uint64_t early_word; /* the first such word */
};

static void enter(ripc_id member, enum sst_design design, struct ripc **ripc, struct sst **table)
{
    char reason[RIPC_REASON_MAX] = "";
    struct sst_config config = {
        .table = TABLE_ID,
        .columns = columns,
        .column_count = sizeof columns / sizeof *columns,
        .row_size = sizeof(struct row),
        .member = member,
        .design = design,
        .flags = SST_MANUAL,
        .rows_max = 4,
        .rows_wanted = 2,
        .deadline = PATIENCE,
        .reason = reason,
    };
    demand(ripc_open(NULL, ripc) == 0);
    int result = sst_open(*ripc, &config, table);
    if (result)
        printf("# sst_open: %s\n", reason);
    demand(result == 0);
}

/* Both leave at the same time: each waits for the other's agreement. */
static void leave(struct ripc *ripc, struct sst *table)
{
    demand(sst_close(table, PATIENCE) == 0);
    demand(ripc_close(ripc, PATIENCE) == 0);
}

/* ---- the writer ---- */

struct writer {
    enum sst_design design;
    _Atomic(struct sst *) table; /* for read_beside; stored with release when open */
    _Atomic bool ended;          /* that thread is done; stored with release */
};

static void write_rounds(struct writer *writer)
{
    struct ripc *ripc;
    struct sst *table;
    enter(WRITER_ID, writer->design, &ripc, &table);
    int reader = sst_row_of(table, READER_ID);
    demand(reader >= 0);
    atomic_store_explicit(&writer->table, table, memory_order_release);
    struct row *own = sst_own(table);
    struct sst_range data = {.column = DATA};
    for (uint64_t round = 1; !sst_get_u64(table, (uint32_t)reader, DONE); round++) {
        for (unsigned i = 0; i < WORDS; i++)
            own->words[i] = round;
        demand(sst_publish(table, &data, 1, GUARD, round, NULL) >= 0);
        if (round % PUTS_TRAIN == 0)
            for (int64_t end = ripc_after(5000); ripc_now() < end;)
                ; /* busy wait: the next puts begin at once */
        if (round % 256 == 0 || writer->design == SST_READS)
            sst_step(table, RIPC_NOW);
    }
    while (TOGETHER && !atomic_load_explicit(&writer->ended, memory_order_acquire))
        usleep(100);
    leave(ripc, table);
}

static void *writer_run(void *argument)
{
    write_rounds(argument);
    return NULL;
}

/* ---- the reader ---- */

static void word_check(const struct row *cells, unsigned word, uint64_t guard,
                       struct findings *found)
{
    /* Relaxed: the acquire of the guard makes sure that the word is new enough. */
    uint64_t value = __atomic_load_n(&cells->words[word], __ATOMIC_RELAXED);
    if (value >= guard)
        return;
    if (found->early++ == 0)
        found->early_word = word;
}

/* Checks that copies are from one put. */
static void copies_check(const struct sst *table, uint32_t row, uint64_t guard,
                         struct findings *found)
{
    struct row copy = {0};
    bool whole = true;
    if (sst_get(table, row, &(struct sst_range){.column = DATA}, copy.words) == 0) {
        for (unsigned i = 1; i < WORDS; i++)
            whole &= copy.words[i] == copy.words[0];
        found->copies++;
        found->torn += !whole;
        found->early += copy.words[0] < guard;
    }
    if (sst_row(table, row, &copy) == 0) {
        for (unsigned i = 0; i < WORDS; i++)
            whole &= copy.words[i] == copy.guard;
        found->copies++;
        found->torn += !whole;
        found->early += copy.guard < guard;
    }
}

static void rows_read(const struct sst *table, uint32_t row, uint64_t tries, struct findings *found)
{
    const struct row *cells = sst_cells(table, row, DATA);
    uint64_t last = 0;
    unsigned turn = 0, same = 0;
    for (uint64_t i = 0; i < tries && found->early + found->torn < 1000; i++) {
        uint64_t guard = sst_get_u64(table, row, GUARD);
        word_check(cells, WORDS - 1, guard, found);
        word_check(cells, turn, guard, found);
        word_check(cells, 0, guard, found);
        turn = turn + 8 < WORDS ? turn + 8 : (turn + 1) % 8;
        found->rounds += guard != last;
        same = guard == last ? same + 1 : 0;
        last = guard;
        found->tries++;
        if ((i & WHOLE_MASK) == 0)
            for (unsigned word = 0; word < WORDS; word++)
                word_check(cells, word, guard, found);
        if ((i & COPY_MASK) == 0)
            copies_check(table, row, guard, found);
        if (same > SAME_MAX) {
            sched_yield();
            same = 0;
        }
    }
}

/* Reads the row in the writer's own process. */
static void *read_beside(void *argument)
{
    struct writer *writer = argument;
    static struct findings found;
    struct sst *table;
    found = (struct findings){0};
    while (!(table = atomic_load_explicit(&writer->table, memory_order_acquire)))
        usleep(100);
    rows_read(table, sst_row_own(table), 20000, &found);
    atomic_store_explicit(&writer->ended, true, memory_order_release);
    return &found;
}

static struct findings read_rounds(enum sst_design design, uint64_t tries)
{
    struct findings found = {0};
    struct ripc *ripc;
    struct sst *table;
    enter(READER_ID, design, &ripc, &table);
    int writer = sst_row_of(table, WRITER_ID);
    demand(writer >= 0);
    uint64_t part = design == SST_READS ? 256 : 65536; /* little changes in a fetched row */
    int64_t deadline = PATIENCE;
    while (found.tries < tries || found.rounds < ROUNDS_MIN || (WEAK && !found.early)) {
        rows_read(table, (uint32_t)writer, part, &found);
        sst_step(table, RIPC_NOW);
        if ((WEAK && found.early) || found.early + found.torn >= 1000)
            break;
        if (found.tries >= tries && ripc_now() > deadline)
            break;
    }
    demand(sst_set_u64(table, DONE, 1) == 0);
    leave(ripc, table);
    return found;
}

/* ---- main ---- */

static bool report(const char *what, const struct findings *found)
{
    bool good = WEAK || (found->rounds > 1 && found->copies > 0 && found->torn == 0);
    if (found->early)
        printf("# word %llu was the first\n", (unsigned long long)found->early_word);
    good &= WEAK ? found->early > 0 : found->early == 0;
    printf("%s: %llu of %llu guards early, %llu of %llu copies torn, %llu rounds\n", what,
           (unsigned long long)found->early, (unsigned long long)found->tries,
           (unsigned long long)found->torn, (unsigned long long)found->copies,
           (unsigned long long)found->rounds);
    return good;
}

static bool try_apart(enum sst_design design, uint64_t tries, struct findings *found)
{
    fflush(stdout);
    struct writer writer = {.design = design};
    pid_t pid = fork(); /* before there are threads */
    demand(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_rounds(&writer);
        _exit(0);
    }
    *found = read_rounds(design, tries);
    return process_ended_well(pid);
}

static bool try_together(enum sst_design design, uint64_t tries, struct findings *found)
{
    struct writer writer = {.design = design};
    struct findings *beside;
    pthread_t threads[2];
    demand(pthread_create(&threads[0], NULL, writer_run, &writer) == 0);
    demand(pthread_create(&threads[1], NULL, read_beside, &writer) == 0);
    *found = read_rounds(design, tries);
    demand(pthread_join(threads[1], (void **)&beside) == 0);
    demand(pthread_join(threads[0], NULL) == 0);
    return WEAK || report("# beside",
                          beside); /* sst_guard_weak.c affects only the copies at other members */
}

int main(int count, char **words)
{
    static const char *const names[] = {[SST_WRITES] = "writes", [SST_READS] = "reads"};
    uint64_t tries = count > 1 ? strtoull(words[1], NULL, 0) : TOGETHER ? 200000 : 2000000;
    char folder[] = "/dev/shm/weft-guard-XXXXXX";
    enum sst_design last = WEAK ? SST_WRITES : SST_READS; /* sst_guard_weak.c affects only writes */
    bool good = true;
    printf("1..%d\n", (int)last + 2);
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    for (enum sst_design design = SST_WRITES; design <= last; design++) {
        struct findings found;
        char what[80];
        int64_t begun = ripc_now();
        uint64_t share = design == SST_READS ? tries / 10 : tries;
        bool ended =
            TOGETHER ? try_together(design, share, &found) : try_apart(design, share, &found);
        snprintf(what, sizeof what, "# %s, %.1f s", names[design],
                 (double)(ripc_now() - begun) / 1e9);
        ended &= report(what, &found);
        printf("%sok %d - %s: %s\n", ended ? "" : "not ", (int)design + 1, names[design],
               WEAK ? "a guard that goes first is found" : "the guard is not seen before its data");
        good &= ended;
    }
    bool clean = rmdir(folder) == 0;
    printf("%sok %d - nothing is left behind\n", clean ? "" : "not ", (int)last + 2);
    return good && clean ? 0 : 1;
}
