/* sst_counting: processes that count in step.
 *
 * A process increments its count when no process is behind it. A predicate over all rows tests
 * that, and its trigger changes the process's own row. So no process is ever more than one ahead of
 * another.
 *
 *     cc -o sst_counting sst_counting.c $(pkg-config --cflags --libs weft)
 *     ./sst_counting [PROCESSES [COUNT]] */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst.h>

#define TABLE_ID      2001
#define PROCESSES_MAX 64
#define DEADLINE      ripc_after(60000000000)

struct row {
    uint64_t count;
};
enum { COUNT };
static const struct sst_column columns[] = {
    [COUNT] = SST_COLUMN(struct row, count, SST_U64, SST_GROWS),
};

struct counting {
    uint64_t wanted;
    uint64_t count;
    uint64_t astray; /* times that a process was more than one ahead */
};

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

static bool no_row_is_behind(const struct sst *table, void *argument)
{
    const struct counting *counting = argument;
    return counting->count < counting->wanted &&
           sst_all_at_least_u64(table, COUNT, counting->count);
}

static void count_on(struct sst *table, void *argument)
{
    struct counting *counting = argument;
    counting->astray += sst_maximum_u64(table, COUNT) > counting->count + 1;
    must("count", sst_set_u64(table, COUNT, ++counting->count));
}

static bool all_are_done(const struct sst *table, void *argument)
{
    const struct counting *counting = argument;
    return sst_all_at_least_u64(table, COUNT, counting->wanted);
}

static void member_run(int number, uint32_t processes, uint64_t wanted)
{
    struct counting counting = {.wanted = wanted};
    struct ripc *ripc;
    struct sst *table;
    must("open", ripc_open(NULL, &ripc));
    must("open the table", sst_open(ripc,
                                    &(struct sst_config){
                                        .table = TABLE_ID,
                                        .columns = columns,
                                        .column_count = 1,
                                        .row_size = sizeof(struct row),
                                        .rows_wanted = processes,
                                    },
                                    &table));
    int64_t begun = ripc_now();
    must("add a predicate", sst_predicate_add(table,
                                              &(struct sst_predicate){
                                                  .name = "no process is behind",
                                                  .kind = SST_RECURRENT,
                                                  .holds = no_row_is_behind,
                                                  .fire = count_on,
                                                  .argument = &counting,
                                                  .columns = (uint32_t[]){COUNT},
                                                  .column_count = 1,
                                              },
                                              NULL));
    must("wait", sst_wait(table, all_are_done, &counting, (uint32_t[]){COUNT}, 1, DEADLINE));
    double seconds = (double)(ripc_now() - begun) / 1e9;
    must("close the table", sst_close(table, DEADLINE)); /* no trigger runs after this */
    ripc_close(ripc, DEADLINE);
    printf("process %d: counted to %llu, %s\n", number, (unsigned long long)counting.count,
           counting.astray ? "but not in step" : "always in step");
    if (number == 0)
        printf("%.0f counts a second\n", (double)wanted / seconds);
    fflush(stdout);
    exit(counting.astray ? EXIT_FAILURE : EXIT_SUCCESS);
}

int main(int count, char **words)
{
    int processes = count > 1 ? atoi(words[1]) : 3;
    long long wanted = count > 2 ? atoll(words[2]) : 10000;
    if (count > 3 || processes < 1 || processes > PROCESSES_MAX || wanted < 1) {
        fprintf(stderr, "usage: sst_counting [PROCESSES [COUNT]]\n");
        return 2;
    }
    for (int i = 0; i < processes; i++) {
        pid_t pid = fork(); /* before any context is open: a child must not use its parent's
                             * contexts */
        if (pid < 0) {
            perror("fork");
            return EXIT_FAILURE;
        }
        if (pid == 0)
            member_run(i, (uint32_t)processes, (uint64_t)wanted);
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
