/* node: what a real node does in a second, and how long a way through several takes. */
#include "bench.h"
#include "node_forward.h"

int main(int argc, char **argv)
{
    struct bench bench;
    bench_start(&bench, argc, argv);
    forward_run(&bench);
    return bench_finish(&bench);
}
