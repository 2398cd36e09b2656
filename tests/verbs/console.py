"""The reader of the virtual machine's console: missing results fail."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools" / "verbs")]

import run  # noqa: E402
import tap  # noqa: E402


def follow(*lines):
    """Returns the report, the console and the output after these lines."""
    report = run.Report()
    console = run.Console(report)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for line in lines:
            console.line(line)
    return report, console, out.getvalue()


class TheConsole(unittest.TestCase):
    def test_results_are_renumbered_and_named(self):
        report, console, out = follow(
            *("begin one", "1..2", "ok 1 - a", "ok 2 - b", "end one 0"),
            *("begin two", "ok 1 - c", "1..1", "# ok - tests", "end two 0", "closed"),
        )
        self.assertEqual(out, "ok 1 - one: a\nok 2 - one: b\nok 3 - two: c\n")
        self.assertEqual((report.failed, console.seen), (0, ["one", "two"]))
        self.assertTrue(console.closed)

    def test_a_failed_result_counts_once(self):
        report, _, out = follow("begin one", "1..1", "# why", "not ok 1 - a", "end one 1")
        self.assertEqual(out, "# one: why\nnot ok 1 - one: a\n")
        self.assertEqual(report.failed, 1)

    def test_tests_that_cmocka_skips_are_skipped(self):
        report, _, out = follow("begin one", "1..1", "not ok 1 # SKIP a", "end one 0")
        self.assertEqual((report.failed, out), (0, "ok 1 - one: a # SKIP\n"))

    def test_missing_results_fail(self):
        for lines in [("1..2", "ok 1 - a"), ("ok 1 - a",), ("1..0",), ()]:
            with self.subTest(lines=lines):
                report, _, _ = follow("begin one", *lines, "end one 0")
                self.assertEqual(report.failed, 1)

    def test_a_program_that_ends_badly_fails(self):
        report, _, _ = follow("begin one", "1..1", "ok 1 - a", "end one 137")
        self.assertEqual(report.failed, 1)

    def test_a_machine_that_stops_early_is_noticed(self):
        report, console, _ = follow("begin one", "1..1", "ok 1 - a", "closed")
        self.assertFalse(console.closed)
        self.assertEqual((report.failed, console.name), (0, "one"))

    def test_a_program_cannot_end_another(self):
        report, console, _ = follow("begin one", "1..1", "end two 0", "ok 1 - a", "end one 0")
        self.assertEqual((report.failed, console.seen), (0, ["one"]))


if __name__ == "__main__":
    tap.main()
