#pragma once
/* peer: a Python library that a benchmark compares with, run by a script that
 * reads a problem from a file and prints its answer. A script ends with
 * PEER_MISSING where its library is not installed; the benchmark then goes on
 * without it. */

#include <stdbool.h>
#include <stdio.h>

#define PEER_MISSING 3

struct peer_script {
    FILE *problem; /* to write the problem to, until peer_start */
    FILE *answer;  /* to read the answer from, from then on */
    char path[32];
};

void peer_open(struct peer_script *peer);
void peer_start(struct peer_script *peer, const char *script);

/* False if the library is missing. Ends the program if the script failed
 * otherwise, or `answered` is false although it did not. */
bool peer_close(struct peer_script *peer, const char *library, bool answered);
