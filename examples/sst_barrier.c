/* sst_barrier: heat in a ring of cells, with one process per cell.
 *
 * In every round each cell becomes the mean of itself and its two neighbours. No process may begin
 * a round before all have finished the previous one, so they meet at a barrier. Everything that was
 * put before the barrier is visible after it. The result is the same as that of a single process.
 *
 *     cc -o sst_barrier sst_barrier.c $(pkg-config --cflags --libs weft)
 *     ./sst_barrier [PROCESSES [ROUNDS]] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst.h>

#define TABLE_ID      2003
#define PROCESSES_MAX 64
#define DEADLINE      ripc_after(60000000000)

/* Two values: neighbours read that of the current round while the next one is computed. */
struct row {
    double heat[2];
};
enum { HEAT };
static const struct sst_column columns[] = {
    [HEAT] = SST_COLUMN(struct row, heat, SST_F64, 0),
};

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

static double mean(double left, double own, double right)
{
    return (left + own + right) / 3;
}

/* The expected result: the same computation in one process. */
static double heat_alone(uint32_t cell, uint32_t cells, int rounds)
{
    double heat[PROCESSES_MAX], next[PROCESSES_MAX];
    for (uint32_t i = 0; i < cells; i++)
        heat[i] = i;
    for (int round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < cells; i++)
            next[i] = mean(heat[(i + cells - 1) % cells], heat[i], heat[(i + 1) % cells]);
        memcpy(heat, next, sizeof heat);
    }
    return heat[cell];
}

static double heat_of(const struct sst *table, uint32_t cell, uint32_t which)
{
    double heat;
    must("read", sst_get(table, cell, &(struct sst_range){HEAT, which, 1}, &heat));
    return heat;
}

static void member_run(uint32_t cells, int rounds)
{
    struct ripc *ripc;
    struct sst *table;
    must("open", ripc_open(NULL, &ripc));
    must("open the table", sst_open(ripc,
                                    &(struct sst_config){
                                        .table = TABLE_ID,
                                        .columns = columns,
                                        .column_count = 1,
                                        .row_size = sizeof(struct row),
                                        .rows_wanted = cells,
                                    },
                                    &table));
    uint32_t cell = sst_row_own(table);
    struct row *own = sst_own(table);
    own->heat[0] = cell;
    for (uint32_t round = 0; round < (uint32_t)rounds; round++) {
        uint32_t now = round % 2, then = 1 - now;
        must("put", sst_put(table, &(struct sst_range){HEAT, now, 1}, 1, NULL));
        must("barrier", sst_barrier(table, DEADLINE));
        own->heat[then] = mean(heat_of(table, (cell + cells - 1) % cells, now), own->heat[now],
                               heat_of(table, (cell + 1) % cells, now));
    }
    must("barrier", sst_barrier(table, DEADLINE)); /* no member may leave while others read */
    double found = own->heat[rounds % 2];
    bool right = found == heat_alone(cell, cells, rounds); /* equal to the last bit: the same
                                                            * steps */
    printf("cell %u: %.6f after %d rounds, %s\n", cell, found, rounds,
           right ? "as it should be" : "which is wrong");
    fflush(stdout);
    must("close the table", sst_close(table, DEADLINE));
    ripc_close(ripc, DEADLINE);
    exit(right ? EXIT_SUCCESS : EXIT_FAILURE);
}

int main(int count, char **words)
{
    int processes = count > 1 ? atoi(words[1]) : 4;
    int rounds = count > 2 ? atoi(words[2]) : 1000;
    if (count > 3 || processes < 1 || processes > PROCESSES_MAX || rounds < 1) {
        fprintf(stderr, "usage: sst_barrier [PROCESSES [ROUNDS]]\n");
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
            member_run((uint32_t)processes, rounds);
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
