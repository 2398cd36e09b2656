/* weft sst watch */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/sst/sst_screen.h"
#include "cli/sst/sst_watcher.h"

#define INTERVAL_MS 500
#define ANSWER_NSEC 3000000000LL

struct watch {
    struct call *call;
    ripc_id table;
    uint64_t interval_ms;
    uint64_t count; /* 0: no end */
    uint64_t shown;
    struct ripc *ripc;
    struct sst_watcher *watcher;
    struct sst_view view;
    struct sst_screen screen;
};

static enum err watch_parse(struct watch *watch, struct call *call, struct why *why)
{
    *watch = (struct watch){.call = call, .interval_ms = INTERVAL_MS, .screen = sst_screen_make()};
    watch->view.wide = call_has(call, "wide");
    enum err err = ripc_call_id(call->arguments[0], &watch->table, why);
    if (!err)
        err = call_uint(call, "interval", 1, 3600000, &watch->interval_ms, why);
    if (!err)
        err = call_uint(call, "count", 1, UINT64_MAX, &watch->count, why);
    if (!err && call_has(call, "once")) {
        if (call_has(call, "count") || call_has(call, "interval"))
            return why_fail(why, ERR_USAGE,
                            "--once: cannot be combined with --count or --interval");
        watch->count = 1;
        watch->screen.live = false; /* it is not redrawn, so its height has no limit */
    }
    return err;
}

static enum err picture_show(struct watch *watch, const struct sst_picture *picture,
                             struct why *why)
{
    struct call *call = watch->call;
    if (call->json) {
        struct json json = json_make(&call->out, watch->count == 1);
        json_object(&json);
        sst_view_json(&json, picture);
        json_end(&json, '}');
        return call_flush(call, why);
    }
    struct text lines = {0};
    struct table_text_style style = sst_screen_style(&watch->screen);
    sst_view_text(&watch->view, &lines, picture, &style);
    enum err err = sst_screen_show(&watch->screen, call, &lines, why);
    text_fini(&lines);
    return err;
}

/* Takes a picture. If the table was replaced by another one, opens that. */
static enum err picture_take(struct watch *watch, struct sst_picture *picture, struct why *why)
{
    char name[RIPC_ID_TEXT];
    int64_t deadline = ripc_after(ANSWER_NSEC);
    int error = sst_watcher_take(watch->watcher, deadline, picture);
    if (error == -ESTALE) {
        sst_watcher_close(watch->watcher);
        watch->watcher = NULL;
        enum err err = sst_watcher_open(watch->ripc, watch->table, deadline, &watch->watcher, why);
        if (err)
            return err;
        error = sst_watcher_take(watch->watcher, deadline, picture);
    }
    ripc_id_text(watch->table, name);
    if (error == -ENOENT)
        return why_fail(why, ERR_SYSTEM, "table %s: all members have left it", name);
    return error < 0 ? ripc_call_fail(why, error, "table %s", name) : OK;
}

static enum err watch_loop(struct watch *watch, struct why *why)
{
    while (!stop_asked() && (!watch->count || watch->shown < watch->count)) {
        struct sst_picture picture;
        int64_t begun = ripc_now();
        enum err err = picture_take(watch, &picture, why);
        if (stop_asked())
            break;
        if (!err)
            err = picture_show(watch, &picture, why);
        if (err)
            return err;
        watch->shown++;
        if (watch->shown != watch->count)
            ripc_call_sleep(begun + (int64_t)watch->interval_ms * 1000000);
    }
    return OK;
}

static enum err watch_run(struct call *call, struct why *why)
{
    static struct watch watch;
    enum err err = watch_parse(&watch, call, why);
    if (err)
        return err;
    stop_catch();
    err = ripc_call_open(call, NULL, &watch.ripc, why);
    if (err)
        return err;
    err = sst_watcher_open(watch.ripc, watch.table, ripc_after(ANSWER_NSEC), &watch.watcher, why);
    if (!err)
        err = watch_loop(&watch, why);
    sst_watcher_close(watch.watcher);
    ripc_close(watch.ripc, RIPC_NOW);
    return err;
}

static const struct option watch_options[] = {
    {"interval", "MS", "time between two pictures (default 500)"},
    {"count", "N", "end after N pictures"},
    {"once", NULL, "show one picture"},
    {"wide", NULL, "show all elements of arrays, with a block of lines for every row"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_sst_watch = {
    .name = "sst watch",
    .arguments = "TABLE",
    .summary = "show a table of any program as it changes",
    .description =
        "Shows the rows of a table of the domain: the number of the row, its member, whether the "
        "member is alive or the row is frozen, and all columns by name. On a terminal the table "
        "is updated in place, and changed values are highlighted; columns that do not fit follow "
        "below. Long arrays end in an ellipsis and the number of their elements; --wide shows "
        "all elements.\n\n"
        "The members send their column definitions to the viewer. Watching changes nothing in "
        "the table and needs no row. It ends after --count pictures, at Ctrl-C, or with an error "
        "when all members have left.\n\n"
        "With --json it prints one object for every picture, each on one line unless there is "
        "only one. Bytes are strings, without the zero bytes at their end, in which bytes that "
        "are not text are \\xHH.",
    .options = watch_options,
    .examples = "  weft sst watch 7\n"
                "  weft sst watch 7 --interval 100\n"
                "  weft sst watch 7 --once --wide\n"
                "  weft sst watch 7 --count 10 --json",
    .streams = true,
    .run = watch_run,
};
