#pragma once
/* peer: a Python library that a benchmark compares with. A script reads a problem from a file and
 * prints its answer. The script exits with PEER_MISSING if its library is not installed; the
 * benchmark then continues without it. */

#include <stdbool.h>
#include <stdio.h>

#define PEER_MISSING 3

struct peer_script {
    FILE *problem; /* the problem is written here, until peer_start */
    FILE *answer;  /* the answer is read here, after peer_start */
    char path[32];
};

void peer_open(struct peer_script *peer);
void peer_start(struct peer_script *peer, const char *script);

/* Returns false if the library is missing. Ends the program if the script failed in another way, or
 * if `answered` is false although the script succeeded. */
bool peer_close(struct peer_script *peer, const char *library, bool answered);
