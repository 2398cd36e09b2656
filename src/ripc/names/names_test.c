/* The front end: its list of services, and programs that call it from their callbacks. */
#include "ripc/names/names.h"

#include "ripc/names/names_world.h"

static void an_invalid_list_is_refused_with_a_reason(void **state)
{
    static const struct {
        const char *services, *reason;
    } wrong[] = {
        {"", "empty entry"},
        {",", "empty entry"},
        {"host,", "empty entry"},
        {"hosts", "unknown name service 'hosts'"},
        {"host,zookeeper:1.2.3.4", "unknown name service 'zookeeper'"},
        {"host:x", "takes no argument"},
        {"host,host", "twice"},
        {"multicast:1.2.3.4:5,host", "not an IPv4 multicast address"},
        {"host,file:", "needs a path"},
        {"host,file", "needs a path"},
    };
    struct names_world world;
    world_open(&world);
    struct names_config config = {.poller = world.poller,
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .events = &side_events};
    struct names *names;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct why why = {""};
        config.services = wrong[i].services;
        assert_int_equal(names_open(&names, &config, &why), -EINVAL);
        if (!strstr(why.text, wrong[i].reason))
            fail_msg("'%s': %s", wrong[i].services, why.text);
    }
    char list[1024] = "";
    for (int i = 0; i < 9; i++)
        strcat(list, "file:/dev/null,");
    struct why why = {""};
    config.services = list;
    assert_int_equal(names_open(&names, &config, &why), -EINVAL); /* not a plain file */
    memset(list, 'x', sizeof list - 1);
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    assert_non_null(strstr(why.text, "longer than 511 bytes"));
    names_close(NULL);
    world_close(&world);
}

static void at_most_eight_name_services_are_opened(void **state)
{
    struct names_world world;
    struct names_side side;
    char path[96], list[1024] = "host";
    world_open(&world);
    snprintf(path, sizeof path, "%s/names", world.scratch.above);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    for (int i = 0; i < 7; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",file:%s", path);
    side_open(&side, &world, list, NULL);
    assert_int_equal(side_claims(&side, 1, 1, 1), 0);
    side_close(&side);
    snprintf(list + strlen(list), sizeof list - strlen(list), ",file:%s", path);
    struct names_config config = {.poller = world.poller,
                                  .services = list,
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .events = &side_events};
    struct names *names;
    struct why why = {""};
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    assert_non_null(strstr(why.text, "more than 8"));
    assert_int_equal(unlink(path), 0);
    world_close(&world);
}

/* A program that makes a call in every event. */
struct meddler {
    struct names *names;
    unsigned announced, found, gone;
};

static void meddler_announced(void *owner, uint64_t id, uint64_t member, int status)
{
    struct meddler *meddler = owner;
    meddler->announced++;
    if (id == 1)
        names_withdraw(meddler->names, id, member);
}

static void meddler_found(void *owner, const struct claim *claim)
{
    struct meddler *meddler = owner;
    meddler->found++;
    if (claim->id == 2)
        names_withdraw(meddler->names, 2, 2);
    if (meddler->found < 50)
        (void)names_ask(meddler->names, claim->id + 1000);
}

static void meddler_gone(void *owner, const struct claim *claim)
{
    struct meddler *meddler = owner;
    meddler->gone++;
    assert_true(meddler->gone < 10000);
    (void)names_ask(meddler->names, claim->id); /* it is alive, and is found again */
}

static void callbacks_may_call_names(void **state)
{
    enum { IDS = 150 }; /* more than one batch */
    static const struct names_events events = {
        .announced = meddler_announced, .found = meddler_found, .gone = meddler_gone};
    struct names_world world;
    struct names_side side;
    struct meddler meddler = {0};
    struct why why = {""};
    world_open(&world);
    side_open(&side, &world, "host", NULL);
    struct names_config config = {.poller = world.poller,
                                  .services = "host",
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .events = &events,
                                  .owner = &meddler};
    assert_int_equal(names_open(&meddler.names, &config, &why), 0);
    struct names_side absent = {.context = 5000};
    for (uint64_t id = 1; id <= 2; id++) { /* withdrawn when announced, and when found */
        struct claim claim = side_claim(&absent, id, id, 1);
        assert_int_equal(names_announce(meddler.names, &claim), 0);
        assert_int_equal(names_known(meddler.names, id, NULL, 0), 0);
    }
    assert_int_equal(meddler.announced, 2);
    assert_int_equal(meddler.found, 1);
    assert_int_equal(meddler.gone, 2);

    side.count = 0;
    for (uint64_t id = 10; id < 10 + IDS; id++) {
        assert_int_equal(side_claims(&side, id, id, 1), 0);
        side.count = 0;
        assert_int_equal(names_ask(meddler.names, id), 1);
    }
    meddler.found = 100;
    meddler.gone = 0;
    names_forget(meddler.names, side.context);
    assert_int_equal(meddler.gone, IDS);
    assert_int_equal(meddler.found, 100 + IDS);
    assert_int_equal(names_known(meddler.names, 10, NULL, 0), 1);
    names_close(meddler.names);
    side_close(&side);
    world_close(&world);
}

TEST_MAIN(TEST(an_invalid_list_is_refused_with_a_reason),
          TEST(at_most_eight_name_services_are_opened), TEST(callbacks_may_call_names))
