/* peer_mpi: ranks under mpirun, as Open MPI is used: two ranks, or several for bcast and turns.
 *
 *     peer_mpi ping|long|bcast|turns SIZE COUNT BATCHES
 *
 * Rank 0 prints the median of the batches in seconds per message: a round trip for ping, a transfer
 * for long (DEPTH under way, as in measured/pair.h), or a broadcast to all ranks (from rank 0, or
 * from each rank in turn). */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measured/payload.h"

#define DEPTH     2
#define BATCH_MAX 1000

struct task {
    int rank, ranks;
    size_t size;
    long count, batches; /* plus one batch that is discarded */
    unsigned char *buffers;
    uint64_t sum;
};

static double times[BATCH_MAX + 1];

static void ping(const struct task *task)
{
    unsigned char *out = task->buffers, *in = task->buffers + task->size;
    int size = (int)task->size, other = !task->rank;
    uint64_t number = 0;
    for (long batch = 0; batch <= task->batches; batch++) {
        double since = MPI_Wtime();
        for (long i = 0; i < task->count; i++, number++) {
            payload_number(out, number);
            if (task->rank == 0)
                MPI_Send(out, size, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(in, size, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (!payload_good(in, task->size, task->sum, number))
                MPI_Abort(MPI_COMM_WORLD, 1);
            if (task->rank == 1)
                MPI_Send(out, size, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        }
        times[batch] = (MPI_Wtime() - since) / (double)task->count;
    }
}

/* A batch ends with an answer: the receiver has all of it. */
static void transfer(const struct task *task)
{
    int size = (int)task->size;
    uint64_t number = 0;
    for (long batch = 0; batch <= task->batches; batch++) {
        MPI_Request requests[DEPTH];
        long answer;
        double since = MPI_Wtime();
        for (int i = 0; i < DEPTH; i++)
            requests[i] = MPI_REQUEST_NULL;
        for (long i = 0; i < task->count; i++, number++) {
            unsigned char *data = task->buffers + (number % DEPTH) * task->size;
            MPI_Request *request = &requests[number % DEPTH];
            MPI_Wait(request, MPI_STATUS_IGNORE); /* NOLINT: the request may be null */
            if (task->rank == 0) {
                payload_number(data, number);
                MPI_Isend(data, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, request);
            } else {
                MPI_Irecv(data, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request);
            }
        }
        MPI_Waitall(DEPTH, requests, MPI_STATUSES_IGNORE); /* NOLINT: some requests may be null */
        MPI_Sendrecv(&batch, 1, MPI_LONG, !task->rank, 1, &answer, 1, MPI_LONG, !task->rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        times[batch] = (MPI_Wtime() - since) / (double)task->count;
    }
    unsigned char *last = task->buffers + ((number - 1) % DEPTH) * task->size;
    if (task->rank == 1 && !payload_good(last, task->size, task->sum, number - 1))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A batch ends when all ranks have all of it. */
static void broadcast(const struct task *task, bool turns)
{
    uint64_t number = 0;
    for (long batch = 0; batch <= task->batches; batch++) {
        double since = MPI_Wtime();
        for (long i = 0; i < task->count; i++, number++) {
            int root = turns ? (int)(number % (uint64_t)task->ranks) : 0;
            if (root == task->rank)
                payload_number(task->buffers, number);
            MPI_Bcast(task->buffers, (int)task->size, MPI_BYTE, root, MPI_COMM_WORLD);
            if (!payload_good(task->buffers, task->size, task->sum, number))
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        times[batch] = (MPI_Wtime() - since) / (double)task->count;
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void task_run(const struct task *task, const char *what)
{
    if (strcmp(what, "ping") == 0)
        ping(task);
    else if (strcmp(what, "long") == 0)
        transfer(task);
    else
        broadcast(task, strcmp(what, "turns") == 0);
}

int main(int count, char **words)
{
    struct task task = {0};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &task.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &task.ranks);
    if (count != 5 || task.ranks < 2) {
        fprintf(stderr, "usage: mpirun -np 2 peer_mpi ping|long|bcast|turns SIZE COUNT BATCHES\n");
        return MPI_Abort(MPI_COMM_WORLD, 2);
    }
    task.size = strtoul(words[2], NULL, 10);
    task.count = strtol(words[3], NULL, 10);
    task.batches = strtol(words[4], NULL, 10);
    task.buffers = task.size >= PAYLOAD_MIN ? payload_memory(DEPTH * task.size) : NULL;
    if (!task.buffers || task.count < 1 || task.batches < 1 || task.batches > BATCH_MAX)
        return MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < DEPTH; i++)
        task.sum = payload_make(task.buffers + i * task.size, task.size);
    task_run(&task, words[1]);
    if (task.rank == 0) {
        qsort(times + 1, (size_t)task.batches, sizeof *times, by_value);
        printf("%.9e\n", (times[1 + (task.batches - 1) / 2] + times[1 + task.batches / 2]) / 2);
    }
    free(task.buffers);
    MPI_Finalize();
    return 0;
}
