/* sst_election: the live member with the lowest id leads.
 *
 * Each member writes into its row which member it considers the leader. A leader starts when all
 * rows name it. In this example every new leader kills itself at once, by SIGKILL, and the next
 * member is elected. The last one exits.
 *
 *     cc -o sst_election sst_election.c $(pkg-config --cflags --libs weft)
 *     ./sst_election [PROCESSES] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst.h>

#define TABLE_ID      2002
#define MEMBER_ID     3000 /* plus the number of the process */
#define PROCESSES_MAX 64
#define DEADLINE      ripc_after(60000000000)

struct row {
    uint64_t leader;
};
enum { LEADER };
static const struct sst_column columns[] = {
    [LEADER] = SST_COLUMN(struct row, leader, SST_U64, 0),
};

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

static ripc_id lowest_living(const struct sst *table)
{
    ripc_id lowest = UINT64_MAX;
    for (uint32_t row = 0; row < sst_row_count(table); row++)
        if (sst_is_live(table, row) && sst_member(table, row) < lowest)
            lowest = sst_member(table, row);
    return lowest;
}

static bool leader_is_another(const struct sst *table, void *argument)
{
    return sst_get_u64(table, sst_row_own(table), LEADER) != lowest_living(table);
}

static void follow(struct sst *table, void *argument)
{
    must("follow", sst_set_u64(table, LEADER, lowest_living(table)));
}

/* All members name this process as the leader. */
static bool am_elected(const struct sst *table, void *argument)
{
    uint64_t leader = sst_get_u64(table, sst_row_own(table), LEADER);
    return leader == sst_member(table, sst_row_own(table)) && leader == lowest_living(table) &&
           sst_all_equal(table, LEADER);
}

static void lead(struct sst *table, void *argument)
{
    uint32_t living = sst_live_count(table);
    printf("process %llu leads %u\n",
           (unsigned long long)sst_member(table, sst_row_own(table)) - MEMBER_ID, living);
    fflush(stdout);
    if (living > 1)
        raise(SIGKILL);
}

static bool am_alone(const struct sst *table, void *argument)
{
    return sst_live_count(table) == 1 && am_elected(table, argument);
}

static void member_run(int number, uint32_t processes)
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
                                        .member = MEMBER_ID + (ripc_id)number,
                                        .rows_wanted = processes,
                                    },
                                    &table));
    struct sst_predicate election = {
        .name = "election",
        .kind = SST_RECURRENT,
        .holds = leader_is_another,
        .fire = follow,
        .columns = (uint32_t[]){LEADER},
        .column_count = 1,
    };
    struct sst_predicate office = {
        .name = "office",
        .kind = SST_TRANSITION,
        .holds = am_elected,
        .fire = lead,
        .columns = (uint32_t[]){LEADER},
        .column_count = 1,
    };
    must("add a predicate", sst_predicate_add(table, &election, NULL));
    must("add a predicate", sst_predicate_add(table, &office, NULL));
    must("wait", sst_wait(table, am_alone, NULL, (uint32_t[]){LEADER}, 1, DEADLINE));
    must("close the table", sst_close(table, DEADLINE));
    ripc_close(ripc, DEADLINE);
    exit(EXIT_SUCCESS);
}

int main(int count, char **words)
{
    int processes = count > 1 ? atoi(words[1]) : 4;
    if (count > 2 || processes < 1 || processes > PROCESSES_MAX) {
        fprintf(stderr, "usage: sst_election [PROCESSES]\n");
        return 2;
    }
    for (int i = 1; i <= processes; i++) {
        pid_t pid = fork(); /* before any context is open: a child must not use its parent's
                             * contexts */
        if (pid < 0) {
            perror("fork");
            return EXIT_FAILURE;
        }
        if (pid == 0)
            member_run(i, (uint32_t)processes);
    }
    int status, killed = 0, ended = 0;
    while (wait(&status) > 0) {
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        ended += WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
    }
    return killed == processes - 1 && ended == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
