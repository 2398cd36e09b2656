#include "ripc/memory/grant.h"

#include <errno.h>
#include <string.h>

#include "ripc/memory/reach.h"
#include "ripc/scene/scene.h"

static void a_grant_serves_its_peer_until_it_is_revoked(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *owner = scene_bind(here, 1);
    struct ripc_service *peer = scene_bind(there, 2);
    struct ripc_service *other = scene_bind(there, 3);
    uint8_t *data = ripc_alloc(here, 1 << 22);
    uint8_t *copy = malloc(1 << 22);
    struct ripc_grant grant;
    for (size_t i = 0; i < 1 << 22; i++)
        data[i] = (uint8_t)(i * 13 + (i >> 9));
    assert_int_equal(ripc_grant(owner, 2, data, 1 << 22, RIPC_READ | RIPC_WRITE, &grant), 0);
    assert_int_equal(ripc_free(here, data), -EBUSY);

    assert_int_equal(ripc_read(peer, &grant, 0, copy, 1 << 22, scene_deadline()), 0);
    assert_memory_equal(copy, data, 1 << 22);
    assert_int_equal(ripc_read(peer, &grant, 100, copy, 50, scene_deadline()), 0);
    assert_memory_equal(copy, data + 100, 50);
    assert_int_equal(ripc_write(peer, &grant, 1000, "written", 7, scene_deadline()), 0);
    assert_memory_equal(data + 1000, "written", 7);
    assert_int_equal(ripc_read(peer, &grant, 1 << 22, copy, 1, scene_deadline()), -ERANGE);
    assert_int_equal(ripc_read(peer, &grant, UINT64_MAX, copy, 2, scene_deadline()), -ERANGE);

    struct ripc_grant guess = grant;
    guess.key ^= 1;
    assert_int_equal(ripc_read(peer, &guess, 0, copy, 1, scene_deadline()), -EACCES);
    assert_int_equal(ripc_revoke(owner, &guess, scene_deadline()), -ENOENT);

    assert_int_equal(ripc_revoke(owner, &grant, scene_deadline()), 0);
    assert_int_equal(ripc_read(peer, &grant, 0, copy, 1, scene_deadline()), -EACCES);
    assert_int_equal(ripc_revoke(owner, &grant, scene_deadline()), -ENOENT);
    assert_int_equal(ripc_free(here, data), 0);
    (void)other;
    free(copy);
    scene_close(here);
    scene_close(there);
}

static void a_grant_is_for_one_peer_and_one_right(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc *elsewhere = scene_open(NULL);
    struct ripc_service *owner = scene_bind(here, 1);
    struct ripc_service *peer = scene_bind(there, 2);
    struct ripc_service *thief = scene_bind(elsewhere, 3);
    uint8_t *data = ripc_alloc(here, 4096);
    uint8_t byte = 7;
    struct ripc_grant grant;
    assert_int_equal(ripc_grant(owner, 2, data, 4096, RIPC_READ, &grant), 0);
    assert_int_equal(ripc_read(thief, &grant, 0, &byte, 1, scene_deadline()), -EACCES);
    assert_int_equal(ripc_write(peer, &grant, 0, &byte, 1, scene_deadline()), -EACCES);
    assert_int_equal(ripc_read(peer, &grant, 0, &byte, 1, scene_deadline()), 0);
    assert_int_equal(byte, data[0]);

    uint8_t foreign[16];
    assert_int_equal(ripc_grant(owner, 2, foreign, 16, RIPC_READ, &grant), -EFAULT);
    assert_int_equal(ripc_grant(owner, 2, data, 0, RIPC_READ, &grant), -EINVAL);
    assert_int_equal(ripc_grant(owner, 0, data, 1, RIPC_READ, &grant), -EINVAL);
    assert_int_equal(ripc_grant(owner, 2, data, 1, 8, &grant), -EINVAL);
    scene_close(elsewhere);
    scene_close(there);
    scene_close(here);
}

static void revoking_does_not_wait_for_dead_peers(void **state)
{
    struct ripc *here = scene_open(NULL);
    struct ripc *there = scene_open(NULL);
    struct ripc_service *owner = scene_bind(here, 1);
    struct ripc_service *peer = scene_bind(there, 2);
    uint8_t *data = ripc_alloc(here, 64);
    uint8_t byte;
    struct ripc_grant grant;
    assert_int_equal(ripc_grant(owner, 2, data, 64, RIPC_READ, &grant), 0);
    assert_int_equal(ripc_read(peer, &grant, 0, &byte, 1, scene_deadline()), 0);
    scene_close(there);
    assert_int_equal(ripc_revoke(owner, &grant, scene_deadline()), 0);
    scene_close(here);
}

/* A service moves from process to process, and each process keeps its view of the memory. */
static void the_seventeenth_holder_is_refused(void **state)
{
    enum { HOLDERS = 16 };
    struct ripc *here = scene_open(NULL), *there[HOLDERS + 1];
    struct ripc_service *owner = scene_bind(here, 1);
    uint8_t *data = ripc_alloc(here, 64), byte;
    struct ripc_grant grant;
    assert_int_equal(ripc_grant(owner, 2, data, 64, RIPC_READ, &grant), 0);
    for (unsigned i = 0; i <= HOLDERS; i++) {
        there[i] = scene_open(NULL);
        struct ripc_service *holder = scene_bind(there[i], 2);
        assert_int_equal(ripc_read(holder, &grant, 0, &byte, 1, scene_deadline()),
                         i < HOLDERS ? 0 : -EBUSY);
        assert_int_equal(ripc_unbind(holder), 0);
    }
    scene_close(there[0]); /* makes room for another */
    there[0] = scene_open(NULL);
    struct ripc_service *next = scene_bind(there[0], 2);
    int64_t deadline = scene_deadline();
    int result;
    while ((result = ripc_read(next, &grant, 0, &byte, 1, scene_deadline())) == -EBUSY)
        assert_true(ripc_now() < deadline); /* the owner may notice the death later */
    assert_int_equal(result, 0);
    for (unsigned i = 0; i <= HOLDERS; i++)
        scene_close(there[i]);
    scene_close(here);
}

static void a_grant_is_voided_only_by_its_own_service(void **state)
{
    struct ripc *here = scene_open(NULL), *there = scene_open(NULL);
    struct ripc_service *owner = scene_bind(here, 1), *beside = scene_bind(here, 3);
    struct ripc_service *peer = scene_bind(there, 2);
    uint8_t *data = ripc_alloc(here, 64), byte;
    struct ripc_grant grant;
    assert_int_equal(ripc_grant(owner, 2, data, 64, RIPC_READ, &grant), 0);
    reach_void(beside, &grant);
    assert_int_equal(ripc_read(peer, &grant, 0, &byte, 1, scene_deadline()), 0);
    reach_void(owner, &grant);
    int64_t deadline = scene_deadline();
    int result;
    while ((result = ripc_read(peer, &grant, 0, &byte, 1, scene_deadline())) == 0)
        assert_true(ripc_now() < deadline); /* the peer may be notified later */
    assert_int_equal(result, -EACCES);
    scene_close(there);
    scene_close(here);
}

TEST_MAIN(SCENE(a_grant_serves_its_peer_until_it_is_revoked),
          SCENE(a_grant_is_for_one_peer_and_one_right),
          SCENE(revoking_does_not_wait_for_dead_peers), SCENE(the_seventeenth_holder_is_refused),
          SCENE(a_grant_is_voided_only_by_its_own_service))
