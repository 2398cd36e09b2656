/* history_line: places each answer that has a version, and checks the order in time.
 *
 * The maker of state i has the position 2i, those that saw the state have 2i + 1. Answers with
 * positions agree with the time if no operation was answered before another one began that has a
 * lower position. Then they can be ordered by position, and by time where this is equal.
 *
 * An absence must come after all operations that were answered before it began. This gives the
 * first state that it can be in; history_fill.c finds one. It suffices to look for the first place
 * of each absence, because of two absences the one that began after the other was answered has no
 * earlier `from`. */

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "base/compare.h"
#include "services/store/history/history_line_impl.h"

/* A moment of an operation. */
struct moment {
    uint64_t at;
    uint32_t op;
};

struct moments {
    struct moment *begun, *answered; /* of all operations that are answered, sorted */
    uint32_t count;
};

void line_fini(struct line *line)
{
    free(line->versions);
    free(line->states);
    free(line->watchers);
    free(line->absences);
}

enum history_verdict line_wrong(const struct line *line, struct history_finding *finding,
                                const char *reason, const uint32_t ops[3])
{
    unsigned count = 0;
    finding->reason = reason;
    for (unsigned i = 0; i < 3; i++) {
        bool is_again = false;
        for (unsigned j = 0; j < i; j++)
            is_again = is_again || ops[j] == ops[i];
        if (ops[i] != HISTORY_NONE && !is_again)
            finding->ops[count++] = line->key->numbers[ops[i]];
    }
    return HISTORY_WRONG;
}

static const struct history_op *op_of(const struct line *line, uint32_t op)
{
    return history_op_of(line->key, op);
}

static bool is_absence(const struct history_op *op)
{
    return op->outcome == HISTORY_ABSENT;
}

static struct line_state *state_of(const struct line *line, uint64_t version)
{
    uint32_t count = line->state_count - 1;
    uint32_t index = history_version_index(line->versions, count, version);
    assert(index < count);
    return &line->states[index + 1];
}

/* Of an operation whose answer has a version. */
static uint32_t position_of(const struct line *line, uint32_t op)
{
    uint32_t state = (uint32_t)(state_of(line, op_of(line, op)->version) - line->states);
    return 2 * state + !history_is_change(op_of(line, op));
}

/* ---- states ---- */

static void state_note(const struct line *line, struct line_state *state, uint32_t op)
{
    const struct history_op *noted = op_of(line, op);
    if (noted->answered < state->deadline || state->witness == HISTORY_NONE)
        state->witness = op;
    state->deadline = least_u64(state->deadline, noted->answered);
    if (state->last == HISTORY_NONE || op_of(line, state->last)->begun < noted->begun)
        state->last = op;
}

static enum history_verdict makers_find(struct line *line, struct history_finding *finding)
{
    for (uint32_t i = 0; i < line->key->count; i++) {
        const struct history_op *op = op_of(line, i);
        if (!history_is_answered(op) || is_absence(op))
            continue;
        if (op->version == 0 ||
            (history_is_change(op) && op->if_version == 0 && op->condition == HISTORY_IF_VERSION))
            return line_wrong(line, finding, "no state has version 0",
                              (uint32_t[]){i, HISTORY_NONE, HISTORY_NONE});
        struct line_state *state = state_of(line, op->version);
        state_note(line, state, i);
        if (!history_is_change(op)) {
            state->watcher_count++;
            continue;
        }
        if (state->maker != HISTORY_NONE)
            return line_wrong(line, finding, "two operations have made the same version",
                              (uint32_t[]){state->maker, i, HISTORY_NONE});
        state->maker = i;
    }
    return HISTORY_FINE;
}

static void watchers_find(struct line *line)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < line->state_count; i++) {
        struct line_state *state = &line->states[i];
        state->watchers = count;
        count += state->watcher_count;
        state->watcher_count = 0;
        if (state->maker != HISTORY_NONE)
            state->witness = state->maker;
    }
    for (uint32_t i = 0; i < line->key->count; i++) {
        const struct history_op *op = op_of(line, i);
        if (history_is_change(op) && op->condition == HISTORY_IF_VERSION) {
            struct line_state *before = state_of(line, op->if_version);
            if (before->witness == HISTORY_NONE)
                before->witness = i;
        }
        if (!history_is_answered(op) || is_absence(op) || history_is_change(op))
            continue;
        struct line_state *state = state_of(line, op->version);
        line->watchers[state->watchers + state->watcher_count++] = i;
    }
    for (uint32_t i = line->state_count; i-- > 0;)
        line->states[i].deadline =
            least_u64(line->states[i].deadline, line->states[i + 1].deadline);
}

/* ---- time ---- */

static int moment_compare(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    int order = compare_u64(a->at, b->at);
    return order ? order : compare_u64(a->op, b->op);
}

static void moments_fill(const struct line *line, struct moments *moments)
{
    for (uint32_t i = 0; i < line->key->count; i++) {
        const struct history_op *op = op_of(line, i);
        if (!history_is_answered(op))
            continue;
        moments->begun[moments->count] = (struct moment){op->begun, i};
        moments->answered[moments->count++] = (struct moment){op->answered, i};
    }
    qsort(moments->begun, moments->count, sizeof *moments->begun, moment_compare);
    qsort(moments->answered, moments->count, sizeof *moments->answered, moment_compare);
}

/* Goes through all beginnings; `high` is the operation with the highest position among those that
 * were answered before. */
static enum history_verdict times_check(struct line *line, const struct moments *moments,
                                        struct history_finding *finding)
{
    uint32_t answered = 0, high = HISTORY_NONE, highest = 0;
    for (uint32_t i = 0; i < moments->count; i++) {
        uint32_t now = moments->begun[i].op;
        for (; moments->answered[answered].at < moments->begun[i].at; answered++) {
            uint32_t op = moments->answered[answered].op;
            if (is_absence(op_of(line, op)) || position_of(line, op) < highest)
                continue;
            high = op;
            highest = position_of(line, op);
        }
        if (is_absence(op_of(line, now))) {
            line->absences[line->absence_count++] =
                (struct line_absence){.op = now, .from = highest / 2, .why = high};
        } else if (position_of(line, now) < highest) {
            return line_wrong(line, finding,
                              "the second began after the first was answered, but comes before it "
                              "in the order of versions",
                              (uint32_t[]){high, now, HISTORY_NONE});
        }
    }
    return HISTORY_FINE;
}

/* They were added in the order of their beginnings, so they are sorted by `from`. */
static enum history_verdict absences_finish(struct line *line, struct history_finding *finding)
{
    const struct history_state absent = {0};
    uint32_t count = line->absence_count, due = 0;
    line->absences[count].answered_min = UINT64_MAX;
    line->absences[count].first = HISTORY_NONE;
    for (uint32_t i = count; i-- > 0;) {
        struct line_absence *absence = &line->absences[i];
        const struct history_op *op = op_of(line, absence->op);
        if (!history_answer_fits(op, &absent))
            return line_wrong(line, finding, "the operation does not need the key to exist",
                              (uint32_t[]){absence->op, HISTORY_NONE, HISTORY_NONE});
        bool is_first = op->answered < absence[1].answered_min;
        absence->first = is_first ? absence->op : absence[1].first;
        absence->answered_min = is_first ? op->answered : absence[1].answered_min;
    }
    for (uint32_t i = 0; i < line->state_count; i++) {
        while (due < count && line->absences[due].from <= i)
            due++;
        line->states[i].due = due;
    }
    return HISTORY_FINE;
}

static enum history_verdict times_judge(struct line *line, struct history_finding *finding)
{
    uint32_t count = line->key->count;
    struct moments moments = {array_new(count, sizeof *moments.begun),
                              array_new(count, sizeof *moments.answered), 0};
    enum history_verdict verdict = HISTORY_UNDECIDED;
    if (moments.begun && moments.answered) {
        moments_fill(line, &moments);
        verdict = times_check(line, &moments, finding);
    }
    free(moments.begun);
    free(moments.answered);
    return verdict == HISTORY_FINE ? absences_finish(line, finding) : verdict;
}

enum history_verdict line_init(struct line *line, const struct history_key *key,
                               struct history_finding *finding)
{
    uint32_t versions = 0;
    *line = (struct line){.key = key};
    finding->reason = "there is no memory";
    line->versions = history_versions(key, &versions);
    line->state_count = versions + 1;
    line->states = array_new((size_t)versions + 2, sizeof *line->states);
    line->watchers = array_new(key->count, sizeof *line->watchers);
    line->absences = array_new((size_t)key->count + 1, sizeof *line->absences);
    if (!line->versions || !line->states || !line->watchers || !line->absences)
        return HISTORY_UNDECIDED;
    for (uint32_t i = 0; i <= line->state_count; i++) {
        line->states[i] = (struct line_state){
            .version = i > 0 && i <= versions ? line->versions[i - 1] : 0,
            .maker = HISTORY_NONE,
            .witness = HISTORY_NONE,
            .last = HISTORY_NONE,
            .deadline = UINT64_MAX,
        };
    }
    enum history_verdict verdict = makers_find(line, finding);
    if (verdict != HISTORY_FINE)
        return verdict;
    watchers_find(line);
    return times_judge(line, finding);
}
