"""Tests of all of weft.sst, with contexts in one process and with several processes."""

import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import layout
from tap import main

layout.skip_if_sanitized()
FOLDER = tempfile.TemporaryDirectory(prefix="weft-")
os.environ["WEFT_FOLDER"] = FOLDER.name
os.environ["WEFT_DOMAIN"] = "python"

from weft import ripc, sst  # noqa: E402

PATIENCE = 20  # seconds; nothing takes that long
COLUMNS = {"step": ("u64", "grows"), "debt": "i32", "load": ("f64", 4), "flag": "bool",
           "word": ("bytes", 6), "ready": ("u64", "guard"), "heat": "f32"}


def until(condition):
    """Waits until another thread or process makes the condition true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.001)


class Case(unittest.TestCase):
    design = sst.WRITES

    def context(self):
        context = ripc.Context()
        self.addCleanup(context.close)
        return context

    def open(self, context=None, name=7, columns=COLUMNS, **options):
        options = {"design": self.design, "timeout": PATIENCE, **options}
        table = sst.Table(context or self.context(), name, columns, **options)
        self.addCleanup(table.close)
        return table

    def pair(self, **options):
        one = self.open(member=101, **options)
        other = self.open(member=102, rows_wanted=2, **options)
        one.wait(lambda table: len(table.live) == 2, ["step"], PATIENCE)
        return one, other


class Writes(Case):
    def test_columns_are_declared_by_tuples_or_by_column_objects(self):
        made = {name: sst.Column.of(name, words) for name, words in COLUMNS.items()}
        self.assertEqual(made["load"], sst.Column("load", "f64", 4))
        self.assertEqual(made["ready"], sst.Column("ready", guard=True))
        self.assertEqual(made["step"], sst.Column("step", "u64", 1, False, True))
        for words in ("u63", ("u64", "gard"), ("u64", 2, 3), ("u64", 0)):
            with self.assertRaises(ValueError, msg=words):
                sst.Column.of("bad", words)
        table = self.open(columns=list(made.values()))
        self.assertEqual([column.name for column in table.columns], list(COLUMNS))

    def test_numbers_of_every_kind_arrive(self):
        one, other = self.pair()
        row = one.row_own
        for column, value in (("step", 2**64 - 1), ("debt", -2**31), ("flag", True), ("heat", 0.5),
                              ("load", [1.5, -2.0, 0.0, 1e300]), ("word", b"a\0b\0cd")):
            one.set(column, value)
            one.flush(PATIENCE)
            other.wait(lambda table: table.get(row, column) == value, [column], PATIENCE)
            self.assertEqual(type(other.get(row, column)), type(value))
        self.assertEqual(other.row(row), (2**64 - 1, -2**31, [1.5, -2.0, 0.0, 1e300], True,
                                          b"a\0b\0cd", 0, 0.5))
        self.assertEqual(other.row(row).load, other.get(row, "load"))
        self.assertEqual(other.get(row, 1), -2**31)  # columns can be given by number

    def test_values_that_do_not_fit_are_refused(self):
        table = self.open()
        for column, value in (("debt", 2**31), ("debt", -2**31 - 1), ("step", -1), ("step", 2**64),
                              ("flag", 2), ("debt", -2**70)):
            with self.assertRaises(ripc.Error, msg=(column, value)) as caught:
                table.set(column, value)
            self.assertEqual(caught.exception.errno, errno.ERANGE)
        table.set("step", 5)
        with self.assertRaises(ripc.Error):
            table.set("step", 4)
        self.assertEqual(table.get(table.row_own, "step"), 5)
        with self.assertRaises(TypeError):
            table.set("step", 1.5)
        with self.assertRaises(ValueError):
            table.set("load", [1.0])
        with self.assertRaises(KeyError):
            table.set("nothing", 1)
        with self.assertRaises(IndexError):
            table.get(sst.ROWS_MAX, "step")
        with self.assertRaises(IndexError):
            table.get(0, len(COLUMNS))
        with self.assertRaises(TypeError):
            table.minimum("load")
        with self.assertRaises(ripc.Error):
            table.publish("load", guard="ready", value=-1)

    def test_parts_of_the_image_are_put(self):
        one, other = self.pair()
        one.own.load[:] = [1, 2, 3, 4]
        one.own.debt = -7
        one.put("debt", ("load", 1, 2))
        other.wait(lambda table: table.get(one.row_own, "debt") == -7, ["debt"], PATIENCE)
        self.assertEqual(other.get(one.row_own, "load"), [0, 2, 3, 0])
        one.put(("load", 3))
        other.wait(lambda table: table.get(one.row_own, "load")[3] == 4, ["load"], PATIENCE)

    def test_data_is_visible_when_its_guard_is(self):
        one, other = self.pair()
        seen = []
        other.predicate(lambda table: table.get(one.row_own, "ready") > len(seen),
                        lambda table: seen.append((table.get(one.row_own, "ready"),
                                                   table.get(one.row_own, "load"))),
                        columns=["ready"])
        for number in range(1, 50):
            one.own.load[:] = [number] * 4
            one.publish("load", guard="ready", value=number)
            self.assertEqual(one.own.ready, number)
            until(lambda: seen and seen[-1][0] == number)
        for number, load in seen:
            self.assertEqual(load, [number] * 4)

    def test_aggregates_cover_all_live_rows(self):
        one, other = self.pair()
        one.set("debt", -3)
        other.set("debt", 9)
        one.set("heat", 0.25)
        one.wait(lambda table: table.maximum("debt") == 9, ["debt"], PATIENCE)
        self.assertEqual([one.minimum("debt"), one.maximum("debt"), one.sum("debt")], [-3, 9, 6])
        self.assertEqual([one.minimum("heat"), one.sum("heat")], [0, 0.25])
        self.assertEqual([one.count("debt", value) for value in (-4, -3, 0, 9, 10, 2**63, 0.5)],
                         [2, 2, 1, 1, 0, 0, 1])
        self.assertTrue(one.all_at_least("debt", -3))
        self.assertFalse(one.all_at_least("debt", 0))
        self.assertTrue(one.all_equal("step"))
        self.assertFalse(one.all_equal("debt"))

    def test_a_snapshot_stays_valid_after_its_table_is_closed(self):
        one, other = self.pair()
        other.set("load", [1, 2, 3, 4])
        one.wait(lambda table: table.get(other.row_own, "load")[3] == 4, ["load"], PATIENCE)
        snapshot, row, epoch = one.snapshot(), other.row_own, one.epoch
        self.assertTrue(snapshot.consistent)
        other.set("load", [5, 6, 7, 8])
        other.close()
        one.close()
        self.assertEqual((snapshot.epoch, len(snapshot), len(list(snapshot))), (epoch, 2, 2))
        self.assertEqual(snapshot[row].load, [1, 2, 3, 4])
        with self.assertRaises(IndexError):
            snapshot[sst.ROWS_MAX]

    def test_members_join_and_leave(self):
        news = []
        one = self.open(member=101, upcall=lambda table, told: news.append(told))
        first = one.epoch
        other = self.open(member=102, rows_wanted=2)
        one.wait(lambda table: len(table.live) == 2, ["step"], PATIENCE)
        self.assertEqual(set(one.members.values()), {101, 102})
        self.assertEqual(one.members[other.row_own], 102)
        self.assertEqual((one.row_of(102), one.row_of(55)), (other.row_own, None))
        self.assertGreater(one.epoch, first)
        other.close(PATIENCE)
        until(lambda: one.row_of(102) is None)
        self.assertEqual(one.live, [one.row_own])
        self.assertTrue({told.kind for told in news} <= {sst.EPOCH}, news)
        self.assertEqual(news[-1].epoch, one.epoch)

    def test_barriers_and_statistics(self):
        one, other = self.pair()
        passed = []
        thread = threading.Thread(target=lambda: passed.append(one.barrier(PATIENCE)))
        thread.start()
        self.assertFalse(passed)
        other.barrier(PATIENCE)
        thread.join()
        self.assertEqual(passed, [None])
        one.set("step", 1)
        self.assertGreaterEqual(one.stats()["puts"], 1)
        with self.assertRaises(TimeoutError):
            one.barrier(0.01)
        with self.assertRaises(ripc.WouldBlock):
            one.barrier(0)
        other.barrier(PATIENCE)
        one.barrier(PATIENCE)

    def test_a_member_with_other_columns_is_refused(self):
        self.open()
        for columns in ({**COLUMNS, "debt": "i64"}, {"step": "u64"}):
            with self.assertRaises(sst.Mismatch) as caught:
                self.open(columns=columns)
            self.assertTrue(caught.exception.strerror)

    def test_joining_a_full_table_raises_full(self):
        self.open(rows_max=1)
        with self.assertRaises(sst.Full):
            self.open(rows_max=1)

    def test_a_member_id_in_use_is_refused(self):
        self.open(member=101)
        with self.assertRaises(ripc.InUse):
            self.open(member=101)

    def test_closed_objects_raise_value_error(self):
        context = self.context()
        table = self.open(context)
        predicate = table.predicate(lambda table: False, columns=["step"])
        context.close()  # closes its tables too
        for call in (table.snapshot, predicate.remove, lambda: table.set("step", 1),
                     lambda: table.epoch, lambda: table.predicate(bool)):
            with self.assertRaises(ValueError):
                call()
        table.close()

    def test_a_garbage_collected_table_leaves(self):
        watcher = self.open()
        context = self.context()
        table = sst.Table(context, 7, COLUMNS, design=self.design)
        table.predicate(lambda table: False, lambda _: table, columns=["step"])
        self.assertEqual(len(table.live), 2)
        gone = weakref.ref(table)
        del table
        gc.collect()
        self.assertIsNone(gone())
        until(lambda: len(watcher.live) == 1)


class Reads(Writes):
    design = sst.READS

    def test_puts_to_some_members_are_refused_in_this_design(self):
        one, other = self.pair()
        with self.assertRaises(ripc.Error) as caught:
            one.put("step", to=[other.row_own])
        self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP)


class Subsets(Case):
    def test_puts_to_some_members_reach_only_these(self):
        one, other = self.pair()
        third = self.open(member=103, rows_wanted=3)
        until(lambda: len(one.live) == 3)
        one.own.debt = 5
        one.put("debt", to=[third.row_own])
        third.wait(lambda table: table.get(one.row_own, "debt") == 5, ["debt"], PATIENCE)
        one.flush(PATIENCE)
        self.assertEqual(other.get(one.row_own, "debt"), 0)


class Predicates(Case):
    def test_each_kind_of_predicate_fires_when_it_should(self):
        table = self.open(manual=True)
        fired = []
        for kind in (sst.ONCE, sst.RECURRENT, sst.TRANSITION):
            table.predicate(lambda table: table.get(table.row_own, "debt") % 2 == 1,
                            lambda _, kind=kind: fired.append(kind), columns=["debt"], kind=kind)
        for value, expected in ((1, [sst.ONCE, sst.RECURRENT, sst.TRANSITION]),
                                (3, [sst.RECURRENT]), (4, []),
                                (5, [sst.RECURRENT, sst.TRANSITION])):
            table.set("debt", value)
            for _ in range(3):
                table.step()
            self.assertEqual(fired, expected, value)
            fired.clear()
        self.assertEqual(len(table._predicates), 2)  # the predicate that fired once is removed

    def test_triggers_run_in_order_until_one_removes_the_predicate(self):
        table = self.open()
        ran = []
        predicate = table.predicate(lambda table: table.get(table.row_own, "debt") > 0,
                                    lambda _: ran.append(1), columns=["debt"])
        predicate.trigger(lambda _: ran.append(2))
        predicate.trigger(lambda _: (ran.append(3), predicate.remove()))
        predicate.trigger(lambda _: ran.append(4))
        table.set("debt", 1)
        until(lambda: 3 in ran)
        table.set("debt", 2)
        table.wait(lambda table: table.get(table.row_own, "debt") == 2, ["debt"], PATIENCE)
        self.assertEqual(ran, [1, 2, 3])
        self.assertFalse(predicate.remove())
        with self.assertRaises(ValueError):
            predicate.trigger(bool)

    def test_triggers_may_add_predicates_and_set_the_row(self):
        table = self.open()
        done = threading.Event()

        def second(table):
            table.set("step", 2)
            done.set()

        def first(table):
            table.set("step", 1)
            table.predicate(lambda table: table.get(table.row_own, "step") == 1, second,
                            columns=["step"], kind=sst.ONCE)

        table.predicate(lambda table: True, first, columns=["debt"], kind=sst.ONCE)
        self.assertTrue(done.wait(PATIENCE))
        self.assertEqual(table.get(table.row_own, "step"), 2)

    def test_calls_that_wait_are_refused_in_a_trigger(self):
        table = self.open()
        refused = []

        def fire(table):
            for call in (lambda: table.close(1), lambda: table.barrier(1),
                         lambda: table.wait(lambda table: True, ["step"], 1)):
                try:
                    call()
                except ripc.Error as error:
                    refused.append(error.errno)

        table.predicate(lambda table: True, fire, columns=["step"], kind=sst.ONCE)
        until(lambda: len(refused) == 3)
        self.assertEqual(refused, [errno.EDEADLK] * 3)
        table.set("step", 1)

    def test_a_stuck_trigger_is_reported_by_name(self):
        news, go_on = [], threading.Event()
        table = self.open(trigger_nsec=20_000_000, upcall=lambda table, told: news.append(told))
        table.predicate(lambda table: True, lambda table: go_on.wait(PATIENCE), columns=["step"],
                        kind=sst.ONCE, name="the slow one")
        try:
            until(lambda: any(told.kind == sst.STUCK for told in news))
        finally:
            go_on.set()
        told = next(told for told in news if told.kind == sst.STUCK)
        self.assertEqual(told.name, "the slow one")
        self.assertGreaterEqual(told.nsec, 20_000_000)

    def test_a_signal_interrupts_a_wait(self):
        class Rung(Exception):
            pass

        def ring(*_):
            raise Rung

        table = self.open()
        old = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(Rung):
            table.wait(lambda table: False, ["step"])
        with self.assertRaises(ripc.Timeout):
            table.wait(lambda table: False, ["step"], 0.01)

    def test_a_manual_table_runs_triggers_on_the_calling_thread(self):
        table = self.open(manual=True)
        fired, here = [], threading.get_ident()
        table.predicate(lambda table: table.get(table.row_own, "step") > len(fired),
                        lambda _: fired.append(threading.get_ident()), columns=["step"])
        while table.step():  # finish what opening started
            pass
        table.set("step", 1)
        self.assertEqual(fired, [])
        self.assertEqual(table.step(PATIENCE), 1)
        self.assertEqual(fired, [here])
        while table.step():
            pass
        self.assertEqual(table.step(0.01), 0)


class Mistake(Exception):
    pass


class Mistakes(Case):
    """An exception in a callback is raised by the next call from outside, and never lost."""

    def err(self, table):
        raise Mistake

    def raised_by(self, call):
        """Repeats call() until it raises the exception of a callback."""
        def attempt():
            try:
                call()
            except Mistake:
                return True
        until(attempt)

    def test_an_exception_in_a_trigger_is_raised_later(self):
        table = self.open()
        table.predicate(lambda table: True, self.err, columns=["step"], kind=sst.ONCE)
        self.raised_by(lambda: table.get(0, "step"))
        table.set("step", 1)  # raised only once

    def test_an_exception_in_a_predicate_is_raised_later(self):
        table = self.open()
        calls = []

        def holds(table):
            calls.append(table.get(table.row_own, "step"))  # raises no kept exception
            raise Mistake

        table.predicate(holds, lambda table: calls.append("fired"), columns=["step"])
        table._handle.value  # not a call of a table method: nothing is raised yet
        until(lambda: table._kept)
        self.raised_by(lambda: table.epoch)
        table.set("step", 1)
        until(lambda: 1 in calls)
        with self.assertRaises(Mistake):
            until(lambda: table.row(0) is None)
        self.assertNotIn("fired", calls)

    def test_a_repeated_exception_is_raised_once_with_its_count(self):
        table = self.open(manual=True)
        table.predicate(self.err)  # on every pass
        notes = None
        try:
            for _ in range(10):
                sst.lib.sst_step(table._handle, 0)
            table.epoch
        except Mistake as error:
            notes = error.__notes__
        self.assertEqual(notes, ["raised 9 more times since"])

    def test_an_exception_in_an_upcall_is_raised_later(self):
        one = self.open(upcall=lambda table, news: self.err(table))
        self.raised_by(lambda: one.members)

    def test_an_exception_ends_the_wait_for_its_predicate(self):
        table = self.open()
        with self.assertRaises(Mistake):
            table.wait(self.err, ["step"], PATIENCE)

    def test_an_exception_in_a_step_is_raised_by_that_step(self):
        table = self.open(manual=True)
        table.predicate(lambda table: True, self.err, columns=["step"], kind=sst.ONCE)
        with self.assertRaises(Mistake):
            until(lambda: table.step(1))

    def test_close_raises_a_kept_exception(self):
        context = self.context()
        table = sst.Table(context, 7, COLUMNS, manual=True)
        table.predicate(lambda table: True, self.err, columns=["step"], kind=sst.ONCE)
        for _ in range(3):
            sst.lib.sst_step(table._handle, 0)
        with self.assertRaises(Mistake):
            table.close()
        table.close()


class Processes(Case):
    EXAMPLE = layout.ROOT / "bindings" / "python" / "examples" / "sst_counter.py"
    MEMBER = """
import sys
from weft import ripc, sst
with ripc.Context() as context, sst.Table(context, 7, {"step": "u64"}, member=102, drop=True) as table:
    table.set("step", 41)
    table.wait(lambda table: table.maximum("step") == 42, ["step"], 60)
    print(table.epoch, flush=True)
    sys.stdin.read()
"""

    def member(self):
        env = {**os.environ, "PYTHONPATH": str(layout.ROOT / "bindings" / "python")}
        process = subprocess.Popen([sys.executable, "-c", self.MEMBER], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=env)

        def end():
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

        self.addCleanup(end)
        return process

    def test_the_example_counts_to_the_end(self):
        done = subprocess.run([sys.executable, self.EXAMPLE, "3", "200"], capture_output=True,
                              text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "3 members counted to 200: 600 in all\n", ""))
        self.assertLess(len(self.EXAMPLE.read_text().splitlines()), 40)

    def test_a_killed_member_is_frozen_and_can_join_again(self):
        news = []
        table = self.open(columns={"step": "u64"}, member=101, drop=True,
                          upcall=lambda table, told: news.append(told))
        for _ in range(2):
            process = self.member()
            until(lambda: table.maximum("step") == 41)
            row = table.row_of(102)
            table.set("step", 42)
            self.assertEqual(int(process.stdout.readline()), table.epoch)
            process.kill()
            process.wait()
            until(lambda: len(table.live) == 1)
            until(lambda: any(told.kind == sst.FAILED for told in news))
            self.assertEqual([(told.row, told.member) for told in news if told.kind == sst.FAILED],
                             [(row, 102)])
            until(lambda: table.row_of(102) is None)  # the next epoch does not contain it
            table.set("step", 0)
            news.clear()
        self.assertEqual(table.stats()["failures"], 2)

    def test_an_interpreter_that_exits_leaves_its_table(self):
        table = self.open(columns={"step": "u64"}, member=101)
        script = ("from weft import ripc, sst\n"
                  "table = sst.Table(ripc.Context(), 7, {'step': 'u64'}, member=103)\n"
                  "table.predicate(lambda table: True, columns=['step'])\n"
                  "table.set('step', 1)\n")
        env = {**os.environ, "PYTHONPATH": str(layout.ROOT / "bindings" / "python")}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                              timeout=60, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        until(lambda: table.live == [table.row_own])
        self.assertEqual(table.stats()["failures"], 0)


try:
    main()
finally:
    FOLDER.cleanup()
