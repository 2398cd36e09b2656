"""cluster_shell: the base of tests of clusters: a private run directory, commands that use it, and
a check that nothing remains."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from processes import lives
from tap import weft

PATIENCE = 120  # seconds; nothing takes that long, even on a busy machine


class ClusterCase(unittest.TestCase):
    def setUp(self):
        self.above = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(self.above.cleanup)
        self.folder = pathlib.Path(self.above.name) / "run"
        self.pids = set()
        self.addCleanup(self.end)

    def end(self):
        """Removes what a failed test left."""
        if self.folder.exists():
            self.run_weft("down", "--grace", "0")

    def run_weft(self, *words, env=None, timeout=PATIENCE):
        return weft(words[0], *words[1:], "--dir", self.folder, env=env, timeout=timeout)

    def good(self, *words, env=None):
        """Runs a command that must succeed without errors."""
        done = self.run_weft(*words, env=env)
        self.assertEqual((done.code, done.err), (0, ""), (words, done.out))
        return done

    def ping(self, *words):
        """Pings with a timeout that only a very busy machine exceeds."""
        return self.good("ping", *words, "--timeout", 20000, "--json").json

    def up(self, *words, silence=30000):
        """Uses a long --silence, because processes wait for seconds on a busy machine."""
        found = self.good("up", *words, "--silence", silence, "--wait", PATIENCE, "--json").json
        self.pids.update(found["pids"])
        return found

    def refused(self, *words, code=1, says="", env=None):
        """Runs a command that must fail with one line of error and no output."""
        done = self.run_weft(*words, env=env)
        self.assertEqual((done.code, done.out), (code, ""), (words, done.err))
        self.assertRegex(done.err, r"^weft: [^\n]+\n\Z")
        self.assertRegex(done.err, says)
        return done.err

    def status(self, *words):
        """The status as JSON, healthy or not; the exit code must match the health."""
        done = self.run_weft("status", "--json", *words)
        self.assertEqual(done.err, "")
        self.assertEqual(done.code, 0 if done.json["health"] == "OK" else 1)
        return done.json

    def well(self):
        """Waits until the cluster is healthy."""
        status = self.status("--wait", PATIENCE)
        self.assertEqual((status["health"], self.codes(status)), ("OK", set()))
        return status

    def until(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"never: {what}")
            time.sleep(0.02)

    def codes(self, status):
        """Without the note that a function of a service took long: a busy machine is enough for that."""
        return {reason["code"] for reason in status["reasons"]} - {"SERVICES_SLOW"}

    def begin(self, *words):
        """Starts a command in another shell, which ends with the test."""
        shell = subprocess.Popen([os.environ["WEFT"], *map(str, words), "--dir", self.folder], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            if shell.poll() is None:
                shell.kill()
            shell.wait()
            shell.stdout.close()
            shell.stderr.close()

        self.addCleanup(end)
        return shell

    def finish(self, shell, how=signal.SIGINT):
        shell.send_signal(how)
        return shell.communicate(timeout=PATIENCE)

    def down(self, says=()):
        """Ends the cluster and checks that nothing remains. `says` is what services did wrong meanwhile."""
        run = self.run_weft("down", "--json")
        self.assertEqual((run.code, run.err.splitlines()), (0, [f"weft: {line}" for line in says]), run.out)
        done = run.json
        self.assertFalse(self.folder.exists())
        self.assertEqual([pid for pid in self.pids if lives(pid)], [])
        return done
