/* node: how much a real node forwards in a second, and how long a trip through several nodes
 * takes. */
#include "bench.h"
#include "node_forward.h"
#include "node_trip.h"

int main(int argc, char **argv)
{
    struct bench bench;
    bool forward = false, trip = false;
    const struct bench_word words[] = {{"forward", &forward, NULL}, {"trip", &trip, NULL}, {0}};
    bench_start_with(&bench, argc, argv, words);
    if (forward || !trip)
        forward_run(&bench);
    if (trip || !forward)
        trip_run(&bench);
    return bench_finish(&bench);
}
