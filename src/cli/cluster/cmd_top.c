/* weft top */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_view.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/sst/sst_screen.h"
#include "transport/clock.h"

#define INTERVAL_MS_DEFAULT 500
#define INTERVAL_MS_MAX     60000
#define LIVE_ANSWER_NSEC    400000000LL /* a live picture does not wait for slow servers */

struct top {
    struct call *call;
    struct cluster cluster;
    struct cluster_seen *now, *before;
    struct sst_screen screen;
    uint64_t interval_ms, count; /* count 0: until the user quits */
    struct termios usual;        /* settings of the terminal, restored at the end */
    bool typed;                  /* keys are read one by one */
};

/* ---- keys ---- */

static void keys_begin(struct top *top)
{
    struct termios quiet;
    if (!top->screen.live || !isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &top->usual))
        return;
    quiet = top->usual;
    quiet.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    quiet.c_cc[VMIN] = 0;
    quiet.c_cc[VTIME] = 0;
    top->typed = tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0;
}

static void keys_end(struct top *top)
{
    if (top->typed)
        tcsetattr(STDIN_FILENO, TCSANOW, &top->usual);
}

/* Waits for the next picture. Returns true if the user quits. */
static bool quit_wait(const struct top *top, int64_t until)
{
    if (!top->typed) {
        ripc_call_sleep(until);
        return stop_asked();
    }
    while (!stop_asked() && clock_now() < until) {
        char key;
        struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
        int64_t left = (until - clock_now()) / 1000000;
        if (poll(&keys, 1, left > 0 ? (int)left : 0) <= 0)
            continue;
        if (read(STDIN_FILENO, &key, 1) == 1 && (key == 'q' || key == 'Q'))
            return true;
    }
    return stop_asked();
}

/* ---- frames ---- */

static void frame_json(struct top *top, const struct cluster_view *view,
                       const struct cluster_load *loads)
{
    struct json json = json_make(&top->call->out, top->count == 1);
    json_object(&json);
    json_put_string(&json, "health", health_names[view->health->health]);
    json_put_uint(&json, "live", view->health->live);
    json_put_uint(&json, "servers", view->health->server_count);
    json_key(&json, "links");
    json_array(&json);
    for (uint32_t i = 0; i < view->health->cable_count; i++) {
        const struct cluster_cable *cable = &view->health->cables[i];
        json_object(&json);
        json_put_uint(&json, "a", cable->a);
        json_put_uint(&json, "b", cable->b);
        json_put_string(&json, "state", cluster_link_names[cable->state]);
        json_put_number(&json, "bytes_per_second", loads[i].forth);
        json_put_number(&json, "bytes_per_second_back", loads[i].back);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
}

static enum err frame_print(struct top *top, const struct cluster_view *view, struct why *why)
{
    enum err err = OK;
    if (top->call->json) {
        struct cluster_load *loads = calloc(view->health->cable_count + 1, sizeof *loads);
        if (!loads)
            return why_memory(why);
        cluster_view_loads(view, loads);
        frame_json(top, view, loads);
        free(loads);
        return call_flush(top->call, why);
    }
    struct text lines = {0};
    struct table_text_style style = sst_screen_style(&top->screen);
    err = cluster_view_text(view, &lines, &style, why);
    if (!err)
        err = sst_screen_show(&top->screen, top->call, &lines, why);
    text_fini(&lines);
    return err;
}

static enum err servers_survey(const struct top *top, struct cluster_seen *seen, struct why *why)
{
    int64_t patience = top->screen.live ? LIVE_ANSWER_NSEC : CLUSTER_SURVEY_NSEC;
    return cluster_survey(&top->cluster, seen, patience, why);
}

static enum err frame_show(struct top *top, bool coming, struct why *why)
{
    struct cluster_health health;
    enum err err = servers_survey(top, top->now, why);
    if (!err)
        err = cluster_health(&health, &top->cluster.plan, top->now, why);
    if (err)
        return err;
    struct cluster_view view = {.plan = &top->cluster.plan,
                                .now = top->now,
                                .before = top->before,
                                .health = &health,
                                .rate = top->cluster.file.rate,
                                .coming = coming && top->screen.live};
    err = frame_print(top, &view, why);
    cluster_health_fini(&health);
    struct cluster_seen *last = top->before;
    top->before = top->now;
    top->now = last;
    return err;
}

static enum err top_loop(struct top *top, struct why *why)
{
    enum err err = servers_survey(top, top->before, why);
    for (uint64_t shown = 0; !err && (!top->count || shown < top->count); shown++) {
        if (quit_wait(top, clock_after((int64_t)top->interval_ms * 1000000)))
            break;
        err = frame_show(top, shown + 1 != top->count, why);
    }
    return err;
}

static enum err top_parse(struct top *top, struct why *why)
{
    struct call *call = top->call;
    enum err err = call_uint(call, "interval", 50, INTERVAL_MS_MAX, &top->interval_ms, why);
    /* Without a terminal there is one picture, unless --count asks for more. */
    top->count = top->screen.live && !call->json ? 0 : 1;
    if (!err)
        err = call_uint(call, "count", 1, UINT32_MAX, &top->count, why);
    return err;
}

static enum err top_run(struct call *call, struct why *why)
{
    struct top top = {
        .call = call, .interval_ms = INTERVAL_MS_DEFAULT, .screen = sst_screen_make()};
    enum err err = top_parse(&top, why);
    if (!err)
        err = cluster_open(&top.cluster, call, why);
    if (err)
        return err;
    top.now = cluster_seen_new(&top.cluster);
    top.before = cluster_seen_new(&top.cluster);
    if (top.now && top.before) {
        stop_catch();
        keys_begin(&top);
        err = top_loop(&top, why);
        keys_end(&top);
    } else {
        err = why_memory(why);
    }
    free(top.now);
    free(top.before);
    cluster_close(&top.cluster);
    return err;
}

static const struct option top_options[] = {
    CLUSTER_OPTIONS,
    {"interval", "MS", "time between two pictures (default 500)"},
    {"count", "N", "end after N pictures (default: 1; on a terminal until q)"},
    {0},
};

const struct command command_top = {
    .name = "top",
    .group = "cluster",
    .arguments = "",
    .summary = "show the load of every link of a cluster, live",
    .description =
        "Draws the servers of a torus plane by plane. Between two servers it shows the load of "
        "their link, in the direction that carries more. The link along the first axis is to the "
        "right of a server, the link along the second axis below it, the link along the third axis "
        "diagonally. The last link in a row or column is the one that closes the ring. A full "
        "block means the rate of the links (weft up --rate) or, without a rate, the load of the "
        "busiest link. The names of the busiest links follow below. Other topologies are shown as "
        "a list of servers, each with its ports in order.\n\n"
        "On a terminal the picture is updated in place until q or Ctrl-C. Otherwise the command "
        "prints one picture of half a second, or as many as --count says.\n\n"
        "With --json: health, live, servers, links (a, b, state, bytes_per_second and "
        "bytes_per_second_back), each picture on one line unless there is only one.",
    .options = top_options,
    .examples = "  weft top\n"
                "  weft top --interval 100\n"
                "  weft top --count 10 --json",
    .streams = true,
    .run = top_run,
};
