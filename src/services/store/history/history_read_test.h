#pragma once
/* Reads histories of one key that are written by hand: operations with semicolons between them. An
 * operation is "BEGUN-ANSWERED KIND [VALUE] ANSWER":
 *
 *   0-1 put a = 5        done, it made version 5      4-? put b       unknown
 *   2-3 get = 5 a        found version 5, value a     4-5 get -       not found
 *   2-3 put@5 b = 6      a put if version 5           4-5 put b x     refused
 *   2-3 add b ! 5        a conflict with version 5    add, replace    put if absent, if present
 *   2-3 incr 2 = 6 9     version 6, the value is 9 now
 *   2-3 put/9 b = 6      it may expire from 9 on      2-3 touch/9 = 7 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "services/store/history/history.h"

static inline struct history_value value_of(const char *word)
{
    return history_value(word, strlen(word));
}

static inline void kind_read(struct history_op *op, char *word)
{
    static const char *const kinds[] = {"get",     "put",  "delete", "append",
                                        "prepend", "incr", "decr",   "touch"};
    char *expires = strchr(word, '/'), *at = strchr(word, '@');
    if (expires) {
        op->expires = strtoull(expires + 1, NULL, 10);
        *expires = 0;
    }
    if (at) {
        op->condition = HISTORY_IF_VERSION;
        op->if_version = strtoull(at + 1, NULL, 10);
        *at = 0;
    }
    if (strcmp(word, "add") == 0 || strcmp(word, "replace") == 0) {
        op->kind = HISTORY_PUT;
        op->condition = *word == 'a' ? HISTORY_IF_ABSENT : HISTORY_IF_PRESENT;
        return;
    }
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(word, kinds[i]) == 0) {
            op->kind = (enum history_kind)i;
            return;
        }
    }
    fail_msg("no kind '%s'", word);
}

static inline void op_read(struct history *history, const char *line)
{
    char words[7][24] = {{0}}, *end;
    struct history_op op = {.key = 1, .client = (uint32_t)history->count};
    int count = sscanf(line, " %23s %23s %23s %23s %23s %23s %23s", words[0], words[1], words[2],
                       words[3], words[4], words[5], words[6]);
    assert_true(count >= 2);
    op.begun = strtoull(words[0], &end, 10);
    bool is_unknown = end[1] == '?';
    uint64_t answered = strtoull(end + 1, NULL, 10);
    kind_read(&op, words[1]);
    int at = 2;
    if (op.kind == HISTORY_INCR || op.kind == HISTORY_DECR)
        op.delta = strtoull(words[at++], NULL, 10);
    else if (op.kind != HISTORY_GET && op.kind != HISTORY_DELETE && op.kind != HISTORY_TOUCH)
        op.value = value_of(words[at++]);
    uint32_t number = history_begin(history, &op);
    if (is_unknown) {
        assert_int_equal(count, at);
        return;
    }
    static const char signs[] = "?x=-!"; /* in the order of enum history_outcome */
    const char *sign = strchr(signs + 1, words[at][0]);
    assert_true(sign && count > at);
    struct history_value result = value_of(words[at + 2]);
    history_answer(history, number, answered, (enum history_outcome)(sign - signs),
                   strtoull(words[at + 1], NULL, 10), words[at + 2][0] ? &result : NULL);
}

static inline void history_read(struct history *history, const char *ops)
{
    char line[100];
    for (int used = 0; sscanf(ops, " %99[^;]%n", line, &used) == 1; used = 0) {
        op_read(history, line);
        ops += used;
        ops += *ops == ';';
    }
    assert_true(history->count);
}
