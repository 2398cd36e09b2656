#pragma once
/* cable_scene: how tests of cables begin: with a folder of their own in shared memory, so that they
 * can run side by side. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[64];

static int scene_begin(void **state)
{
    snprintf(folder, sizeof folder, "/dev/shm/weft-cable-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* Fails if a test left something in the folder. */
static int scene_end(void **state)
{
    return rmdir(folder);
}
