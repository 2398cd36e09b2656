"""weft sst, as a user runs it in two shells. Every test has its own folder, so that it shares nothing
with other tests or other programs."""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

PATIENCE = 60  # seconds; nothing takes that long


def lives(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


class Shells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {"WEFT_FOLDER": folder.name, "WEFT_DOMAIN": "tables"}

    def sst(self, *words):
        return weft("sst", *words, env=self.env, timeout=PATIENCE)

    def begin(self, *words, **options):
        """Starts a command in another shell, which ends with the test."""
        shell = subprocess.Popen([os.environ["WEFT"], "sst", *map(str, words)],
                                 env={**os.environ, **self.env}, text=True,
                                 **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

        def end():
            if shell.poll() is None:
                shell.kill()
            shell.wait()
            for stream in (shell.stdout, shell.stderr):
                if stream:
                    stream.close()

        self.addCleanup(end)
        return shell

    def demo(self, *words):
        """Starts a demo in another shell and waits until its members share the table."""
        shell = self.begin("demo", *words)
        self.assertRegex(shell.stdout.readline(), r"^ +[0-9.]+ s  \d+ members share table \S+, epoch \d+\n$")
        return shell

    def finish(self, shell, how=None):
        """Waits for the end, perhaps after a signal; returns exit code, output and errors."""
        if how:
            shell.send_signal(how)
        out, err = shell.communicate(timeout=PATIENCE)
        return shell.returncode, out, err

    def look(self, table=7):
        done = self.sst("watch", table, "--once", "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        return done.json

    def pids(self):
        return [row["values"]["pid"] for row in self.look()["rows"]]

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it does not come to that")
            time.sleep(0.02)

    def nothing_is_left(self):
        self.assertEqual([*self.folder.rglob("*")], [])


class Demo(Shells):
    def test_members_take_steps_together(self):
        for design in ("writes", "reads"):
            done = self.sst("demo", "--members", 3, "--seconds", 0.5, "--design", design, "--json")
            self.assertEqual((done.code, done.err), (0, ""))
            told = done.json
            self.assertEqual((told["table"], told["design"], told["members"], told["killed"]),
                             (7, design, 3, None))
            self.assertGreaterEqual(told["seconds"], 0.5)
            self.assertGreater(told["steps"], 0)
            self.assertAlmostEqual(told["counts_per_second"], 3 * told["steps"] / told["seconds"], places=3)
            # Each step is a trigger at each member; steps that are not finished do not count.
            self.assertGreaterEqual(told["detections"], 3 * (told["steps"] - 1))
            self.assertEqual(told["epoch_first"], told["epoch_last"])
            self.assertEqual(len(told["events"]), 1)
            self.nothing_is_left()

    def test_a_killed_leader_is_noticed_and_replaced(self):
        for design in ("writes", "reads"):
            done = self.sst("demo", "--members", 3, "--seconds", 1.5, "--kill", "--design", design, "--json")
            self.assertEqual((done.code, done.err), (0, ""))
            told = done.json
            killed = told["killed"]
            self.assertEqual((killed["member"], killed["noticed_by"]), (701, 2))
            self.assertLessEqual(killed["noticed_first_ns"], killed["noticed_last_ns"])
            self.assertIsNotNone(killed["rejoined_ns"])
            self.assertGreaterEqual(told["epoch_last"], told["epoch_first"] + 1)
            self.assertGreater(told["steps"], 0)
            self.assertFalse(lives(killed["pid"]))
            self.nothing_is_left()

    def test_events_are_printed_without_a_terminal(self):
        done = self.sst("demo", "--seconds", 1.5, "--kill")
        self.assertEqual((done.code, done.err), (0, ""))
        for line in (r"s  4 members share table 7, epoch \d+$",
                     r"s  ada, member 701, the leader, is killed \(pid \d+\)$",
                     r"s  its row is frozen at all 3 others, the last after \S+ [num]?s$",
                     r"s  ada is back, as a new process, in epoch \d+$",
                     r"^4 members by writes for \S+ s, epoch \d+ to \d+$",
                     r"^\d+ steps, \d+ a second; \d+ counts a second by all$",
                     r"^\d+ detections of \d+ evaluations, \d+ puts, \d+ sleeps$",
                     r"^the death was noticed by 3 of 3, after \S+ [num]?s to \S+ [num]?s$"):
            self.assertRegex(done.out, "(?m)" + line)
        self.assertNotIn("\033", done.out)

    def test_a_table_can_have_one_member(self):
        told = self.sst("demo", "--members", 1, "--seconds", 0.2, "--table", "0x1234567890", "--json").json
        self.assertEqual((told["table"], told["members"]), (0x1234567890, 1))
        self.assertGreater(told["steps"], 0)
        self.nothing_is_left()

    def test_control_c_leaves_nothing(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            shell = self.demo("--seconds", 600)
            pids = self.pids()
            self.assertEqual(len(pids), 4)
            code, out, err = self.finish(shell, how)
            self.assertEqual((code, err), (128 + how, ""))
            self.assertRegex(out, r"(?m)^\d+ steps, ")
            self.assertEqual([pid for pid in pids if lives(pid)], [])
            self.nothing_is_left()

    def test_members_leave_when_the_demo_dies(self):
        shell = self.demo("--seconds", 600, "--kill")
        pids = self.pids()
        shell.kill()
        shell.wait()
        self.until(lambda: not any(lives(pid) for pid in pids))
        weft("ripc", "clean", env=self.env)  # what the demo itself had
        self.nothing_is_left()

    def test_a_member_that_is_killed_is_reported(self):
        shell = self.demo("--seconds", 600)
        pids = self.pids()
        os.kill(pids[2], signal.SIGKILL)
        self.assertRegex(shell.stdout.readline(), r"s  \w+, member 70\d, has died: Killed\n$")
        self.until(lambda: [row["live"] for row in self.look()["rows"]].count(True) == 3)
        steps = [row["values"]["step"] for row in self.look()["rows"] if row["live"]]
        self.until(lambda: min(row["values"]["step"] for row in self.look()["rows"] if row["live"]) >
                   max(steps))
        self.assertEqual(self.finish(shell, signal.SIGINT)[0], 130)
        self.nothing_is_left()

    def test_a_second_demo_on_the_same_table_is_refused(self):
        shell = self.demo("--seconds", 600)
        before = self.pids()
        done = self.sst("demo", "--seconds", 1)
        self.assertEqual((done.code, done.out, done.err),
                         (1, "", "weft: table 7: another demo uses it; choose another one with --table\n"))
        self.assertEqual(self.sst("demo", "--seconds", 0.2, "--table", 8, "--json").json["members"], 4)
        self.assertEqual(self.pids(), before)
        self.assertEqual(self.finish(shell, signal.SIGINT)[0], 130)
        self.nothing_is_left()

    def test_invalid_arguments_are_refused_in_one_line(self):
        for words in (["--members", 0], ["--members", 65], ["--seconds", 0], ["--design", "both"],
                      ["--table", 0], ["--kill", "--members", 1], ["--nonsense"], ["word"]):
            done = self.sst("demo", *words)
            self.assertEqual((done.code, done.out), (2, ""), words)
            self.assertRegex(done.err, r"^weft: [^\n]+\n\Z")
        self.nothing_is_left()


class Watch(Shells):
    def test_a_missing_table_is_refused(self):
        done = self.sst("watch", 7)
        self.assertEqual((done.code, done.out, done.err),
                         (1, "", "weft: table 7: no process has it; 'weft sst demo' starts one\n"))

    def test_watch_prints_a_json_object(self):
        self.demo("--seconds", 600)
        seen = self.look()
        self.assertEqual(seen["table"], 7)
        self.assertEqual([column["name"] for column in seen["columns"]],
                         ["step", "leader", "load", "rates", "beats", "pid", "name"])
        self.assertEqual(seen["columns"][0], {"name": "step", "type": "u64", "count": 1,
                                              "guard": False, "grows": True})
        self.assertEqual(seen["columns"][3], {"name": "rates", "type": "u32", "count": 8,
                                              "guard": False, "grows": False})
        self.assertEqual(seen["columns"][4]["guard"], True)
        rows = seen["rows"]
        self.assertEqual([row["row"] for row in rows], [0, 1, 2, 3])
        self.assertEqual(sorted(row["member"] for row in rows), [701, 702, 703, 704])
        self.assertEqual(sorted(row["values"]["name"] for row in rows), ["ada", "bea", "cem", "dora"])
        for row in rows:
            self.assertTrue(row["live"])
            self.assertEqual(row["values"]["leader"], 701)
            self.assertTrue(lives(row["values"]["pid"]))
            self.assertEqual(len(row["values"]["rates"]), 8)

    def test_each_picture_is_one_object(self):
        self.demo("--seconds", 600)
        done = self.sst("watch", 7, "--count", 3, "--interval", 50, "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        looks = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual(len(looks), 3)
        steps = [look["rows"][0]["values"]["step"] for look in looks]
        self.assertEqual(steps, sorted(steps))

    def test_watch_prints_a_table(self):
        self.demo("--seconds", 600)
        done = self.sst("watch", 7, "--once")
        self.assertEqual((done.code, done.err), (0, ""))
        lines = done.out.splitlines()
        self.assertRegex(lines[0], r"^table 7, epoch \d+: 4 members$")
        self.assertEqual(lines[1].split(), ["row", "member", "state", "step", "leader", "load",
                                            "rates", "beats", "pid", "name"])
        self.assertEqual(len(lines), 6)
        self.assertEqual(sorted(line.split()[-1] for line in lines[2:]), ["ada", "bea", "cem", "dora"])
        self.assertNotIn("\033", done.out)
        frames = self.sst("watch", 7, "--count", 2, "--interval", 10).out.split("\n\n")
        self.assertEqual([frame.strip().count("\n") for frame in frames], [5, 5])

    def test_wide_shows_all_elements(self):
        self.demo("--seconds", 600)
        self.until(lambda: min(row["values"]["beats"] for row in self.look()["rows"]) > 8)
        out = self.sst("watch", 7, "--once", "--wide").out
        self.assertEqual(len(re.findall(r"(?m)^row \d, member 70\d, state live$", out)), 4)
        self.assertEqual(len(re.findall(r"(?m)^  rates +\d+( \d+){7}$", out)), 4)

    def test_watch_ends_when_all_members_leave(self):
        demo = self.demo("--seconds", 600)
        watch = self.begin("watch", 7, "--interval", 20)
        self.assertRegex(watch.stdout.readline(), "^table 7, ")
        demo.send_signal(signal.SIGINT)
        code, _, err = self.finish(watch)
        self.assertEqual((code, err), (1, "weft: table 7: all members have left it\n"))
        self.finish(demo)
        self.nothing_is_left()

    def test_watch_survives_the_death_of_a_member_and_ends_at_control_c(self):
        self.demo("--seconds", 600)
        pids = self.pids()
        watch = self.begin("watch", 7, "--interval", 20, "--json")
        watch.stdout.readline()
        os.kill(pids[0], signal.SIGKILL)
        for line in watch.stdout:
            rows = json.loads(line)["rows"]
            if [row["live"] for row in rows].count(True) == 3:
                break
        code, _, err = self.finish(watch, signal.SIGINT)
        self.assertEqual((code, err), (130, ""))

    def test_invalid_arguments_are_refused_in_one_line(self):
        for words in ([], [0], ["x"], [7, 8], [7, "--interval", 0], [7, "--count", 0],
                      [7, "--once", "--count", 2], [7, "--nonsense"]):
            done = self.sst("watch", *words)
            self.assertEqual((done.code, done.out), (2, ""), words)
            self.assertRegex(done.err, r"^weft: [^\n]+\n\Z")


class Terminal(Shells):
    def shown(self, *words, columns=80, lines=24, env=None, how=None):
        """The output of a run on a terminal of that size, perhaps ended by a signal."""
        try:
            terminal, end = pty.openpty()
        except OSError:  # a chroot without /dev/pts
            raise unittest.SkipTest("no pseudo-terminals here")
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.env.update({"TERM": "xterm", "NO_COLOR": "", **(env or {})})
        shell = self.begin(*words, stdin=end, stdout=end, stderr=end)
        os.close(end)
        out = b""
        try:
            while more := os.read(terminal, 65536):
                out += more
        except OSError:  # Linux's way to say that the other end is closed
            pass
        os.close(terminal)
        self.assertEqual(shell.wait(timeout=PATIENCE), 0, out)
        return out.decode()

    @staticmethod
    def plain(text):
        return re.sub(r"\033\[[0-9;]*[A-Za-z]", "", text)

    def test_the_table_is_updated_in_place(self):
        out = self.shown("demo", "--members", 2, "--seconds", 1.5, "--kill")
        self.assertRegex(out, r"\033\[\d+A\rtable 7, epoch ")
        self.assertIn("\033[31m", out)  # the frozen row
        self.assertIn("\033[1m", out)   # what changed
        self.assertNotIn("share table", out.split("\033[J")[-1])  # below the last frame is the summary alone
        self.assertRegex(out.split("\033[J")[-1], r"^2 members by writes")

    def test_no_color_disables_colours(self):
        out = self.shown("demo", "--members", 2, "--seconds", 0.5, env={"NO_COLOR": "1"})
        self.assertNotIn("m", re.findall(r"\033\[[0-9;]*([A-Za-z])", out))
        self.assertIn("\033[J", out)
        dumb = self.shown("demo", "--members", 2, "--seconds", 0.2, env={"TERM": "dumb"})
        self.assertNotIn("\033", dumb)

    def test_the_table_fits_small_terminals(self):
        self.demo("--seconds", 600)
        for columns, lines in ((80, 24), (60, 40), (40, 8), (20, 60)):
            for words in ([], ["--wide"]):
                out = self.shown("watch", 7, "--count", 3, "--interval", 10, *words, columns=columns,
                                 lines=lines)
                frames = out.split("\033[J")
                self.assertEqual(len(frames), 4)  # the last is empty
                for frame in frames[:-1]:
                    rows = self.plain(frame).strip("\r\n").split("\r\n")
                    self.assertLess(len(rows), lines)
                    self.assertLessEqual(max(len(row.strip("\r")) for row in rows), columns, (columns, rows))


main()
