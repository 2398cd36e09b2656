/* weft paper list, run, all */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/parallel.h"
#include "cli/core/progress.h"
#include "cli/paper/figure_list.h"
#include "cli/paper/figure_report.h"
#include "paper/figure.h"
#include "paper/plot.h"
#include "paper/report.h"
#include "paper/verdict.h"
#include "process/program.h"

/* --- list --- */

static const char list_page[] = "name             paper        time  what\n"
                                "{#figures}{name%-16s} {paper%-10s} "
                                "{?under_a_second} < 1 s{:}{seconds%4.0f} s{/}  {what}\n{/}";

static enum err list_run(struct call *call, struct why *why)
{
    const struct figure *figure;
    bool names = call_has(call, "names");
    struct result *result = call_result(call, names ? "{#figures}{name}\n{/}" : list_page);
    result_array(result, "figures");
    for (int i = 0; (figure = figure_list_at(i)); i++) {
        result_object(result, NULL);
        result_string(result, "name", figure->name);
        result_string(result, "paper", figure->paper);
        result_string(result, "what", figure->what);
        result_string(result, "size", figure->full.what);
        result_string(result, "size_quick", figure->quick.what);
        result_number(result, "seconds", figure->full.seconds);
        result_bool(result_hide(result), "under_a_second", figure->full.seconds < 1);
        result_number(result, "seconds_quick", figure->quick.seconds);
        result_bool(result, "measured", figure->measured);
        result_end(result);
    }
    result_end(result);
    return OK;
}

static const struct option list_options[] = {
    {"names", NULL, "print the names only, for scripts"},
    {0},
};

const struct command command_paper_list = {
    .name = "paper list",
    .arguments = "",
    .summary = "list the figures of papers that weft can compute again",
    .description =
        "Lists the figures, equations and claims of papers that weft computes again: the name, "
        "the paper, about how long it takes on one core, and what it shows.",
    .options = list_options,
    .run = list_run,
};

/* --- run and all --- */

static const char session_page[] =
    "{#figures}{?ran}" FIGURE_REPORT_PAGE "{/}"
    "{?error}{name}: could not {?ran}be written{:}run{/}: {error}\n{/}\n{/}"
    "{claim_count|claim|claims}: {agree|agrees|agree}, {differ|differs|differ}, "
    "{not_run_at_this_size} not run at this size, {cannot_be_reproduced} cannot be reproduced"
    "{?could_not_run}; {could_not_run|figure failed|figures failed}{/}\n"
    "{?gnuplot_missing}no plots were drawn: gnuplot is not installed\n{/}";

/* One invocation, which runs one or more figures. */
struct session {
    struct call *call;
    struct figure_call figure_call;
    const char *folder;               /* for the output files; NULL: none */
    const char *title;                /* of the current figure, for the progress bar */
    unsigned verdicts[VERDICT_COUNT]; /* how many claims have which verdict */
    unsigned failures;                /* figures that could not run */
    bool plots_missing;               /* there is no gnuplot */
};

static void session_progress(void *context, uint64_t done, uint64_t total)
{
    struct session *session = context;
    progress_show(session->title, done, total);
}

static enum err session_distances(void *context, struct distance_tally *tally,
                                  const struct topology *topology, struct why *why)
{
    const struct session *session = context;
    return parallel_distances(tally, topology, session->figure_call.threads, NULL, why);
}

/* Writes the file folder/name + ending. */
static enum err session_write(const struct session *session, const char *name, const char *ending,
                              const struct text *text, struct why *why)
{
    char *path;
    if (asprintf(&path, "%s/%s%s", session->folder, name, ending) < 0)
        return why_memory(why);
    enum err err = file_write(path, text, why);
    free(path);
    return err;
}

/* Writes the first table to NAME.csv, further ones to NAME-TABLE.csv. */
static enum err write_tables(const struct session *session, const struct figure *figure,
                             const struct figure_result *result, struct why *why)
{
    enum err err = OK;
    for (size_t i = 0; i < result->table_count && !err; i++) {
        char ending[64];
        struct text csv = {0};
        snprintf(ending, sizeof ending, "%s%s.csv", i ? "-" : "", i ? result->tables[i].name : "");
        report_csv(&csv, &result->tables[i]);
        err = session_write(session, figure->name, ending, &csv, why);
        text_fini(&csv);
    }
    return err;
}

static enum err write_json(const struct session *session, const struct figure *figure,
                           const struct figure_result *found, struct why *why)
{
    struct text text = {0};
    struct result result = {0};
    result_begin(&result, "");
    figure_report(&result, figure, &session->figure_call, found);
    result_json(&result, &text);
    enum err err = session_write(session, figure->name, ".json", &text, why);
    result_fini(&result);
    text_fini(&text);
    return err;
}

/* Writes the script, and the picture that gnuplot makes of it. */
static enum err write_plot(struct session *session, const struct figure *figure,
                           const struct figure_result *result, struct why *why)
{
    const char *const words[] = {"gnuplot", "-", NULL};
    struct text script = {0};
    struct program program;
    plot_script(&script, figure, result);
    enum err err = session_write(session, figure->name, ".gp", &script, why);
    if (!err)
        err = program_run(&program, words, &script, why);
    text_fini(&script);
    if (err)
        return err;
    if (program.missing)
        session->plots_missing = true;
    else if (program.status != 0 || program.out.size == 0)
        err = why_fail(why, ERR_SYSTEM, "%s: gnuplot failed: %.200s", figure->name,
                       program.fail.size ? program.fail.data : "no output");
    else
        err = session_write(session, figure->name, ".svg", &program.out, why);
    program_fini(&program);
    return err;
}

static enum err figure_write(struct session *session, const struct figure *figure,
                             const struct figure_result *result, struct why *why)
{
    enum err err = write_tables(session, figure, result, why);
    if (!err)
        err = write_json(session, figure, result, why);
    return err ? err : write_plot(session, figure, result, why);
}

/* Runs a figure and adds its result. If it fails, or if its files cannot be written, the
 * other figures still run. */
static void figure_add(struct session *session, const struct figure *figure)
{
    struct figure_result found;
    struct why why = {""};
    struct result *result = &session->call->result;
    session->title = figure->name;
    enum err err = figure_run(figure, &found, &session->figure_call, &why);
    bool ran = !err;
    if (ran && session->folder)
        err = figure_write(session, figure, &found, &why);
    for (size_t i = 0; ran && i < found.claim_count; i++)
        session->verdicts[found.claims[i].verdict]++;
    session->failures += err != OK;
    for (char *at = why.text; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    result_object(result, NULL);
    result_bool(result_hide(result), "ran", ran);
    if (ran)
        figure_report(result, figure, &session->figure_call, &found);
    else
        result_string(result, "name", figure->name);
    if (err)
        result_string(result, "error", why.text[0] ? why.text : err_text(err));
    result_end(result);
    if (ran)
        figure_result_fini(&found);
}

static void session_close(struct session *session)
{
    struct result *result = &session->call->result;
    const unsigned *verdicts = session->verdicts;
    unsigned claims = 0;
    for (int i = 0; i < VERDICT_COUNT; i++)
        claims += verdicts[i];
    result_uint(result_hide(result), "claim_count", claims);
    result_uint(result, "agree", verdicts[VERDICT_AGREES]);
    result_uint(result, "differ", verdicts[VERDICT_DIFFERS]);
    result_uint(result, "not_run_at_this_size", verdicts[VERDICT_NOT_RUN]);
    result_uint(result, "cannot_be_reproduced", verdicts[VERDICT_MISSING]);
    result_uint(result, "could_not_run", session->failures);
    result_bool(result, "gnuplot_missing", session->plots_missing);
    session->call->no = session->failures || verdicts[VERDICT_DIFFERS];
}

static enum err session_run(struct call *call, const struct figure *const *list, struct why *why)
{
    struct session session = {.call = call, .folder = call_option(call, "out")};
    session.figure_call = (struct figure_call){
        .quick = call_has(call, "quick"),
        .seed = 1,
        .context = &session,
        .progress = session_progress,
        .distances = session_distances,
    };
    enum err err = call_uint(call, "seed", 0, UINT64_MAX, &session.figure_call.seed, why);
    if (!err)
        err = parallel_threads(call, &session.figure_call.threads, why);
    if (!err && session.folder)
        err = file_make_folder(session.folder, why);
    if (err)
        return err;
    struct result *result = call_result(call, session_page);
    result_array(result, "figures");
    for (int i = 0; list[i]; i++)
        figure_add(&session, list[i]);
    result_end(result);
    session_close(&session);
    return OK;
}

static enum err no_such_figure(const char *word, struct why *why)
{
    struct nearest nearest = nearest_make(word, strlen(word));
    const struct figure *figure;
    for (int i = 0; i < FIGURE_LIST_MAX && (figure = figure_list_at(i)); i++)
        nearest_try(&nearest, figure->name);
    return why_fail(why, ERR_USAGE, "paper run: no figure '%s'%s; see 'weft paper list'", word,
                    nearest_hint(&nearest));
}

static enum err run_run(struct call *call, struct why *why)
{
    const struct figure *list[CALL_ARGUMENT_MAX + 1];
    for (int i = 0; i < call->argument_count; i++) {
        list[i] = figure_list_find(call->arguments[i]);
        if (!list[i])
            return no_such_figure(call->arguments[i], why);
    }
    list[call->argument_count] = NULL;
    return session_run(call, list, why);
}

static enum err all_run(struct call *call, struct why *why)
{
    const struct figure *list[FIGURE_LIST_MAX + 1] = {0};
    for (int i = 0; i < FIGURE_LIST_MAX && (list[i] = figure_list_at(i)); i++)
        ;
    return session_run(call, list, why);
}

static const struct option run_options[] = {
    {"quick", NULL, "use smaller sizes, about a second for each figure"},
    {"out", "DIR", "write NAME.csv, NAME.json, NAME.gp and NAME.svg into this folder"},
    {"seed", "N", "seed of all random choices (default 1)"},
    {"threads", "N", "number of threads (default: all cores)"},
    {0},
};

const struct command command_paper_run = {
    .name = "paper run",
    .arguments = "FIGURE...",
    .summary = "compute figures again and compare them with the paper",
    .description =
        "Prints for each claim of a figure the number that the paper states, the number that\n"
        "weft finds, and a verdict:\n"
        "\n"
        "  agrees                the numbers are equal within the rounding of the printed one,\n"
        "                        or the paper states a bound and our number satisfies it\n"
        "  differs               neither is the case\n"
        "  not run at this size  this run is too small to check the claim; a larger one checks\n"
        "                        it: without --quick, or on a machine with more cores\n"
        "  cannot be reproduced  weft has no number, however large the run: data or programs\n"
        "                        that the claim needs are not available\n"
        "\n"
        "For the last two verdicts a line below the claim gives the reason. For the\n"
        "verdict \"differs\" this line says what the figure measured about the difference. In\n"
        "JSON, \"verdict\" has the same words, \"reason\" has the reason, and our number\n"
        "(\"weft\") is null where there is none.\n"
        "\n"
        "With --out it writes the numbers of the figure as CSV (a figure's second table is\n"
        "NAME-TABLE.csv), everything as JSON, the plot as a gnuplot script, and, if gnuplot is\n"
        "installed, the plot as SVG.\n"
        "\n"
        "The exit code is 1 if a claim differs or a figure could not run. Claims that cannot be\n"
        "reproduced do not change the exit code.",
    .options = run_options,
    .examples = "  weft paper run nova-eq3\n"
                "  weft paper run jelly-fig2a jelly-fig2b --out figures",
    .run = run_run,
};

const struct command command_paper_all = {
    .name = "paper all",
    .arguments = "",
    .summary = "run all figures of 'weft paper list'",
    .description = "Does the same as 'weft paper run' with the names of all figures.",
    .options = run_options,
    .examples = "  weft paper all --quick --out figures",
    .run = all_run,
};
