#pragma once
/* sst_scene: members of a table for tests, each with a context of its own, in one process. */
#include <weft/sst.h>

#include <pthread.h>

#include "ripc/scene/scene.h"
#include "sst/table/columns_test.h"

#define MEMBERS_MAX 5

struct member {
    struct ripc *ripc;
    struct sst *sst;
    struct sst_config config;
    int result;
    _Atomic uint64_t fired;
    _Atomic unsigned failures; /* counted by the upcall */
    char reason[RIPC_REASON_MAX];
};

static inline struct sst_config config_of(enum sst_design design, uint32_t wanted)
{
    return (struct sst_config){
        .table = 7,
        .columns = test_columns,
        .column_count = TEST_COLUMNS,
        .row_size = sizeof(struct test_row),
        .design = design,
        .rows_wanted = wanted,
        .deadline = scene_deadline(),
    };
}

static inline void note_news(struct sst *sst, const struct sst_news *news, void *argument)
{
    struct member *member = argument;
    member->failures += news->kind == SST_FAILED;
}

static inline void *open_member(void *argument)
{
    struct member *member = argument;
    member->config.reason = member->reason;
    member->config.upcall = note_news;
    member->config.argument = member;
    member->result = ripc_open(NULL, &member->ripc);
    if (member->result == 0)
        member->result = sst_open(member->ripc, &member->config, &member->sst);
    return NULL;
}

/* Opens all members at the same time, as programs do. */
static inline void open_members(struct member *members, unsigned count,
                                const struct sst_config *config)
{
    pthread_t threads[MEMBERS_MAX];
    for (unsigned i = 0; i < count; i++) {
        members[i] = (struct member){.config = *config};
        assert_int_equal(pthread_create(&threads[i], NULL, open_member, &members[i]), 0);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < count; i++) {
        if (members[i].result)
            print_message("# %s\n", members[i].reason);
        assert_int_equal(members[i].result, 0);
    }
}

static inline void close_member(struct member *member)
{
    assert_int_equal(sst_close(member->sst, scene_deadline()), 0);
    scene_close(member->ripc);
}

static inline void close_members(struct member *members, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close_member(&members[i]);
}

struct wish {
    uint32_t row, column;
    uint64_t value;
};

static inline bool has_value(const struct sst *sst, void *argument)
{
    const struct wish *wish = argument;
    return sst_get_u64(sst, wish->row, wish->column) == wish->value;
}

static inline void wait_value(struct sst *sst, uint32_t row, uint32_t column, uint64_t value)
{
    struct wish wish = {row, column, value};
    assert_int_equal(sst_wait(sst, has_value, &wish, &column, 1, scene_deadline()), 0);
}

static inline bool lives_alone(const struct sst *sst, void *argument)
{
    return sst_live_count(sst) == 1;
}
