"""Services that end their server: a crash or exit() in any of their functions is the last line of the server's log,
in real clusters."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_files import Program
from cluster_shell import PATIENCE, ClusterCase
from processes import lives
from tap import main

FRAGILE = 303
DATE = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
# With a sanitizer, its own handler reports most of these signals.
SANITIZED = os.environ.get("SANITIZE", "none") != "none"
CRASHES = {} if SANITIZED else {
    "s": "crashed (Segmentation fault)", "b": "crashed (Bus error)", "o": "crashed (Segmentation fault)",
    "i": "crashed (Illegal instruction)", "f": "crashed (Floating point exception)"}
# A trap is another signal on some processors.
if os.uname().machine != "x86_64":
    CRASHES.pop("i", None)
ENDS = {**CRASHES, "a": "crashed (Aborted)", "e": "called exit()", "x": "called exit()"}


class Crash(ClusterCase):
    def up_fragile(self, *words, processes=3):
        return self.up("torus:3", "--service", os.environ["FRAGILE"], "--processes", processes, *words)

    def log(self, server):
        return (self.folder / f"node-{server}.log").read_text()

    def last(self, server, log=None):
        """The last line of a log, without its date."""
        line = self.log(server if log is None else log).splitlines()[-1]
        self.assertRegex(line, DATE)
        return line.split(" ", 1)[1]

    def end_by(self, server, letters):
        """Ends the server by a request."""
        with Program(self.folder, server, FRAGILE) as program:
            try:
                program.send(letters)
                while program.answer():
                    pass
            except ConnectionResetError:
                pass
        self.until(lambda: server in self.status()["servers"]["dead"], "the server is dead")

    def revive(self, server):
        self.pids.add(self.good("revive", server, "--json").json["pid"])
        self.well()

    def test_the_log_names_the_function_that_crashed_or_called_exit(self):
        self.up_fragile()
        for letter, text in ENDS.items():
            self.end_by(1, letter)
            self.assertEqual(self.last(1), f"node 1: service fragile: request() {text}")
            self.revive(1)
        self.down()

    def test_the_log_names_the_service_whose_function_ran_on_a_thread(self):
        self.up_fragile()
        for letter in ["a", "e", *(["s", "o"] if CRASHES else [])]:
            self.end_by(2, "w" + letter)
            self.assertEqual(self.last(2), f"node 2: service fragile: a function of weft_work_run {ENDS[letter]}")
            self.revive(2)
        self.down()

    def test_a_process_of_several_servers_names_the_one_that_ran(self):
        self.up_fragile(processes=1)
        with Program(self.folder, 2, FRAGILE) as program:
            program.send("a")
            self.until(lambda: len(self.status()["servers"]["dead"]) == 3, "all servers are dead")
        self.assertEqual(self.last(2, log=0), "node 2: service fragile: request() crashed (Aborted)")
        self.down()

    def test_the_command_that_starts_the_servers_shows_the_line(self):
        for letter, how, text in (("a", "Aborted", "crashed (Aborted)"), ("e", "exit code 1", "called exit()"),
                                  ("x", "exit code 3", "called exit()"),
                                  *([("s", "Segmentation fault", ENDS["s"])] if CRASHES else [])):
            said = self.refused("up", "torus:1", "--service", os.environ["FRAGILE"], "--set", f"fragile.begin={letter}",
                                says="server 0 ended")
            self.assertIn(f"server 0 ended ({how}); its log ends: ", said)
            self.assertIn(f"Z node 0: service fragile: start() {text}", said)

    def test_a_signal_from_another_process_blames_no_service(self):
        if SANITIZED:
            self.skipTest("the handlers are those of the sanitizer")
        pid = self.up_fragile(processes=1)["pids"][0]
        os.kill(pid, signal.SIGBUS)
        self.until(lambda: not lives(pid), "the process has ended")
        self.assertEqual(self.last(0), "ended by a signal (Bus error)")
        self.down()

    def test_the_end_of_a_cluster_shows_what_its_services_did_wrong_meanwhile(self):
        for letter, crashed, text in (("a", 3, "stop() crashed (Aborted)"), ("e", 3, "stop() called exit()"),
                                      ("m", 0, "weft_wake: the service has no poll function"),
                                      *([("s", 3, "stop() " + ENDS["s"])] if CRASHES else [])):
            self.up_fragile("--set", f"fragile.end={letter}")
            done = self.run_weft("down", "--json")
            self.assertEqual((done.code, done.json["crashed"]), (int(crashed > 0), crashed))
            self.assertEqual(done.err.splitlines(), [f"weft: node {v}: service fragile: {text}" for v in range(3)])
            self.assertFalse(self.folder.exists())

    def test_the_end_of_a_cluster_names_a_function_that_does_not_return(self):
        self.up_fragile("--set", "fragile.end=h")
        done = self.run_weft("down", "--grace", 10)
        self.assertEqual(done.code, 0)
        self.assertRegex(done.out, "3 of them killed")
        self.assertEqual(len(done.err.splitlines()), 3, done.err)
        for line in done.err.splitlines():
            self.assertRegex(line, r"service fragile: stop\(\) has not returned for \d+\.\d s; the server hangs")

    def test_the_end_of_a_large_cluster_shows_ten_lines(self):
        self.up("torus:4x4", "--service", os.environ["FRAGILE"], "--set", "fragile.end=m", "--processes", 2)
        lines = self.run_weft("down").err.splitlines()
        self.assertEqual((len(lines), lines[-1]), (11, "weft: and 6 more lines about services"))

    def test_an_old_crash_is_not_shown_again(self):
        self.up_fragile()
        self.end_by(1, "a")
        self.down()

    def test_the_exit_status_tells_the_signal(self):
        self.up("torus:1", "--service", os.environ["FRAGILE"])
        self.end_by(0, "a")
        weftd = os.environ["WEFT"] + "d"
        for letter, code in (("a", -signal.SIGABRT), ("e", 1), ("x", 3),
                             *([("s", -signal.SIGSEGV), ("o", -signal.SIGSEGV)] if CRASHES else [])):
            done = subprocess.run([weftd, "--dir", self.folder, "--node", "0", "--set", f"fragile.begin={letter}"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (code, 1), done.stderr)
            self.assertRegex(done.stderr, DATE + r"node 0: service fragile: start\(\) c[^\n]+\n\Z")
        self.down()


main()
