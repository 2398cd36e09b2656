/* Opens a context and binds a service, or with the argument "table" opens a table. Complains about
 * the first thing that fails, as a program should: with the reason that the library gives. */
#include <errno.h>
#include <stdio.h>
#include <weft/ripc.h>
#include <weft/sst.h>

static int complain(const char *what, int error, const char *reason)
{
    fprintf(stderr, "%s: %s\n", what, *reason ? reason : ripc_strerror(error));
    return 1;
}

static int open_table(struct ripc *ripc)
{
    char reason[RIPC_REASON_MAX] = "";
    const struct sst_column columns[] = {{.name = "count", .type = SST_U64, .count = 1}};
    struct sst *table;
    struct sst_config config = {
        .table = 5,
        .columns = columns,
        .column_count = 1,
        .row_size = 8,
        .reason = reason,
    };
    int error = sst_open(ripc, &config, &table);
    return error < 0 ? complain("sst_open", error, reason) : 0;
}

int main(int argc, char *argv[])
{
    char reason[RIPC_REASON_MAX] = "";
    struct ripc *ripc;
    struct ripc_service *service;
    int error = ripc_open(&(struct ripc_config){.reason = reason}, &ripc);
    if (error < 0)
        return complain("ripc_open", error, reason);
    if (argc > 1)
        return open_table(ripc);
    (void)argv;
    error = ripc_bind(ripc, 77, 0, &service);
    if (error == -ENOSPC)
        snprintf(reason, sizeof reason, "%s: %s", ripc_folder(ripc), ripc_strerror(error));
    return error < 0 ? complain("ripc_bind", error, reason) : 0;
}
