#pragma once
/* scene: the setup of tests of ripc: a folder of their own in shared memory, so that they can run
 * in parallel, and contexts in it. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/test.h"
#include "transport/scratch.h"
#include "transport/wake/safety.h"

#define SCENE_SECOND 1000000000LL

/* Long enough for a loaded machine; a test that reaches it has failed. A call that sleeps until its
 * deadline checks once more then, so that a lost wake-up would go unnoticed; therefore a build
 * without safety timeouts has no deadline here either. */
static inline int64_t scene_deadline(void)
{
    return ripc_after(SAFETY_NSEC(20 * SCENE_SECOND));
}

static unsigned scene_descriptors; /* open when the test began */

static inline int scene_begin(void **state)
{
    static char folder[64];
    snprintf(folder, sizeof folder, "/dev/shm/weft-test-XXXXXX");
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return -1;
    unsetenv("WEFT_DOMAIN");
    *state = folder;
    scene_descriptors = scratch_descriptors();
    return 0;
}

/* The last context to close removes the domain's folder. Anything that a test left behind prevents
 * that and fails the test. */
static inline int scene_remove(void **state)
{
    return rmdir(*state);
}

/* A descriptor that is still open fails the test too. */
static inline int scene_end(void **state)
{
    assert_int_equal(scratch_descriptors(), scene_descriptors);
    return scene_remove(state);
}

static inline struct ripc *scene_open(const struct ripc_config *config)
{
    struct ripc *ripc = NULL;
    assert_int_equal(ripc_open(config, &ripc), 0);
    return ripc;
}

static inline struct ripc_service *scene_bind(struct ripc *ripc, ripc_id id)
{
    struct ripc_service *service = NULL;
    assert_int_equal(ripc_bind(ripc, id, 0, &service), 0);
    return service;
}

static inline void scene_close(struct ripc *ripc)
{
    assert_int_equal(ripc_close(ripc, scene_deadline()), 0);
}

static inline struct ripc_message scene_receive(struct ripc_service *service)
{
    struct ripc_message message;
    assert_int_equal(ripc_receive(service, &message, 1, scene_deadline()), 1);
    return message;
}

#define SCENE(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
/* libfabric keeps descriptors open for as long as the process lives. */
#define SCENE_OF_FABRIC(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_remove)
