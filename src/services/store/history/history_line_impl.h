#pragma once
/* history_line: the states of one key that its answers prove, in the order of their versions, and
 * the operations whose place this gives. A part of history_check. */

#include "services/store/history/history_model.h"

/* Operations are numbered within their key here. */
struct line_state {
    uint64_t version;
    uint32_t maker;   /* HISTORY_NONE: an unknown operation has made it, nothing says which */
    uint32_t witness; /* the maker, or the first operation whose answer proves the state */
    uint32_t last;    /* of the maker and the watchers, the one that began last */
    uint32_t watchers, watcher_count; /* those that saw it; part of line.watchers */
    uint32_t due;                     /* so many absences may be in this state or before it */
    uint64_t deadline; /* the first answer of its maker, its watchers and all later states */
};

/* An answer that shows that the key did not exist. It has no version, so only the order in time
 * says where it can be. */
struct line_absence {
    uint32_t op;
    uint32_t from; /* it is in this state, or in a later one */
    uint32_t why;  /* the operation that puts it there; HISTORY_NONE: from is 0 */
    /* Of this one and all that follow, the one that was answered first, and when. */
    uint32_t first;
    uint64_t answered_min;
};

struct line {
    const struct history_key *key; /* borrowed */
    uint64_t *versions;
    struct line_state *states; /* 0: before all changes; one more at the end has only a deadline */
    uint32_t *watchers;
    struct line_absence *absences; /* by `from`; one more at the end has only answered_min */
    uint32_t state_count;          /* with state 0 */
    uint32_t absence_count;
};

/* Wrong: operations contradict each other without any regard to unknown ones. */
enum history_verdict line_init(struct line *line, const struct history_key *key,
                               struct history_finding *finding);
void line_fini(struct line *line);

/* Sets the finding; an operation may be HISTORY_NONE. */
enum history_verdict line_wrong(const struct line *line, struct history_finding *finding,
                                const char *reason, const uint32_t ops[3]);
