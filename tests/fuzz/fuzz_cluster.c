/* Tests the requests of the command line to a server, the answers, and the file by which they find
 * each other: any bytes are refused, or are valid and the same when written again. The first byte
 * selects which of the three the rest is. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "os/cluster/cluster_file.h"
#include "services/control/control_wire.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t again[CONTROL_ANSWER_MAX];

static void check_request(const uint8_t *data, size_t size)
{
    struct control_request request;
    int result = control_request_read(&request, data, size);
    assert(result == 0 || result == -EPROTO);
    if (result == 0) {
        assert(control_request_write(&request, again) == size);
        assert(memcmp(again, data, size) == 0);
    }
}

static void check_stats(struct reader *in, struct writer *out)
{
    struct control_stat stat;
    int result;
    control_stats_write(out, control_stats_read(in));
    while ((result = control_stat_read(in, &stat)) == 1)
        assert(control_stat_write(out, stat.service, stat.name, stat.value));
    assert(result == 0 || result == -EPROTO);
    out->failed |= result < 0;
}

static void check_parameters(struct reader *in, struct writer *out)
{
    struct control_parameter parameter;
    int result;
    control_stats_write(out, control_stats_read(in));
    while ((result = control_parameter_read(in, &parameter)) == 1) {
        const struct weft_parameter same = {.name = parameter.name, .type = parameter.type};
        assert(control_parameter_write(out, parameter.service, &same, parameter.value));
    }
    assert(result == 0 || result == -EPROTO);
    out->failed |= result < 0;
}

static void check_answer(const uint8_t *data, size_t size)
{
    static struct control_snapshot snapshot;
    struct control_where where;
    struct control_route route;
    struct control_answer answer;
    struct reader in = reader_make(data, size);
    struct writer out = writer_make(again, sizeof again);
    if (size > sizeof again || control_answer_read(&in, &answer) < 0)
        return;
    control_answer_write(&out, &answer);
    if (!answer.error && answer.kind == CONTROL_SNAPSHOT) {
        if (control_snapshot_read(&in, &snapshot) < 0)
            return;
        control_snapshot_write(&out, &snapshot);
    } else if (!answer.error && answer.kind == CONTROL_WHERE) {
        if (control_where_read(&in, &where) < 0)
            return;
        control_where_write(&out, &where);
    } else if (!answer.error && answer.kind == CONTROL_ROUTE) {
        if (control_route_read(&in, &route) < 0)
            return;
        control_route_write(&out, &route);
    } else if (!answer.error && answer.kind == CONTROL_STATS) {
        check_stats(&in, &out);
    } else if (!answer.error && answer.kind == CONTROL_PARAMETERS) {
        check_parameters(&in, &out);
    }
    if (out.failed || in.left)
        return;
    assert(sizeof again - out.left == size);
    assert(memcmp(again, data, size) == 0);
}

static void check_file(const uint8_t *data, size_t size)
{
    struct why why = {""};
    struct cluster_file file, other;
    struct text out = {0}, twice = {0};
    if (cluster_file_parse(&file, "file", (const char *)data, size, &why)) {
        assert(why.text[0] && !strchr(why.text, '\n'));
        return;
    }
    assert(file.process_count >= 1 && file.process_count <= file.server_count);
    cluster_file_write(&file, &out);
    assert(text_ok(&out));
    assert(cluster_file_parse(&other, "file", out.data, out.size, &why) == OK);
    cluster_file_write(&other, &twice);
    assert(text_ok(&twice) && twice.size == out.size);
    assert(memcmp(twice.data, out.data, out.size) == 0);
    text_fini(&out);
    text_fini(&twice);
    cluster_file_fini(&file);
    cluster_file_fini(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0]) {
    case 'q':
        check_request(data + 1, size - 1);
        break;
    case 'a':
        check_answer(data + 1, size - 1);
        break;
    default:
        check_file(data, size);
    }
    return 0;
}
