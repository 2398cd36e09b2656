#pragma once
/* reach_pair: the setup of tests of reach. */

#include <errno.h>

#include "ripc/memory/own_file.h"
#include "ripc/memory/reach.h"
#include "ripc/scene/scene.h"

#define ROW 8192 /* bytes: two pages */

/* An owner of memory and a peer that accesses it, each in a context of its own. */
struct reach_pair {
    struct ripc *here, *there;
    struct ripc_service *owner, *peer;
    struct own_file own;
    struct ripc_grant grant;
};

static inline void pair_open(struct reach_pair *pair, const struct ripc_config *config,
                             uint32_t rights)
{
    pair->here = scene_open(config);
    pair->there = scene_open(config);
    pair->owner = scene_bind(pair->here, 1);
    pair->peer = scene_bind(pair->there, 2);
    assert_int_equal(own_file_open(pair->here, ROW, &pair->own), 0);
    assert_int_equal(ripc_grant(pair->owner, 2, pair->own.base, ROW, rights, &pair->grant), 0);
}

static inline void pair_close(struct reach_pair *pair)
{
    own_file_close(pair->here, &pair->own);
    scene_close(pair->there);
    scene_close(pair->here);
}

static inline struct reach *pair_reach(struct reach_pair *pair)
{
    struct reach *reach = NULL;
    assert_int_equal(reach_open(pair->peer, &pair->grant, scene_deadline(), &reach), 0);
    return reach;
}

static inline void wait_until_lost(struct ripc *ripc, const struct reach *reach)
{
    for (int64_t end = scene_deadline(); !reach_is_lost(reach);) {
        assert_true(ripc_now() < end);
        ripc_progress(ripc);
    }
}
