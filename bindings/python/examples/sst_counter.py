"""Distributed counting: each member counts on once all members have counted as far.

    python3 sst_counter.py [MEMBERS [COUNT]]
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # not needed once installed
from weft import ripc, sst


def member(number, members, last):
    with ripc.Context() as context, sst.Table(context, 2006, {"count": ("u64", "grows")},
                                              member=number, rows_wanted=members) as table:
        def all_have_caught_up(table):
            mine = table.get(table.row_own, "count")
            return mine < last and table.all_at_least("count", mine)

        def count(table):
            table.set("count", table.get(table.row_own, "count") + 1)

        table.predicate(all_have_caught_up, count, columns=["count"], name="count on")
        table.wait(lambda table: table.all_at_least("count", last), ["count"], timeout=60)
        total = table.sum("count")
        table.barrier(timeout=60)  # no member leaves while others count
        return total


members, last = (*map(int, sys.argv[1:]), *(3, 1000)[len(sys.argv) - 1:])
children = []
for number in range(2, members + 1):
    if (child := os.fork()) == 0:
        sys.exit(member(number, members, last) != members * last)
    children.append(child)
print(f"{members} members counted to {last}: {member(1, members, last)} in all")
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
