#pragma once
/* history_check: is there an order of all operations of a history that explains every answer, and
 * in which each operation takes effect between its beginning and its answer? (Linearizability.)
 * Keys are independent, so each is judged alone.
 *
 * The versions give the order of the changes, so that a key with n operations is placed in
 * O(n log n) (history_line.c). Open are then only the unknown operations, and the answers that
 * found nothing, which have no version. Going from version to version, the check keeps all ways in
 * which unknown operations can have been used (history_fill.c), mostly one.
 *
 * HISTORY_FINE and HISTORY_WRONG are both exact, given that the history is complete and its moments
 * are right (history.h). Fine: the check has built such an order. Wrong: there is none. For in
 * every such order
 *
 * - the states that answers report come in the order of their versions, and a change that is done
 *   makes the state of its version, and every answer with a version is at the state with it;
 * - states that no answer reports are made by unknown operations, at most as many between two
 *   states as there are versions between theirs;
 * - an unknown operation comes before everything that was answered before it began. It has no
 *   latest time. So of unknown operations that are alike, it is always right to use the one that
 *   began first, and of two that would do the same now, the one with the stricter condition:
 *   whatever the other one is needed for later, it can still do;
 * - an answer that found nothing may be placed at the first absence of the key that it can have;
 * - a way is needless if another one comes to the same state, has used no more of any sort of
 *   unknown operation, and has placed at least as many answers that found nothing.
 *
 * The check leaves out only such needless ways, and those in which an unknown operation takes
 * effect where nothing needs it. If there are too many ways left, the verdict is HISTORY_UNDECIDED,
 * never a guess. That takes hundreds of unknown operations that can stand in for each other: a test
 * avoids it if it writes each value only once. */

#include "services/store/history/history.h"

enum history_verdict history_check(const struct history *history, struct history_finding *finding);
