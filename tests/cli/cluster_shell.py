"""cluster_shell: what the tests of clusters share: a run directory of their own, the commands in it,
and a look at what is left."""

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

PATIENCE = 120  # seconds; nothing takes that long, also not on a busy machine


class ClusterCase(unittest.TestCase):
    def setUp(self):
        self.above = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(self.above.cleanup)
        self.folder = pathlib.Path(self.above.name) / "run"
        self.pids = set()
        self.addCleanup(self.end)

    def end(self):
        """Whatever a failed test left."""
        if self.folder.exists():
            self.run_weft("down", "--grace", "0")

    def run_weft(self, *words, env=None, timeout=PATIENCE):
        return weft(words[0], *words[1:], "--dir", self.folder, env=env, timeout=timeout)

    def good(self, *words, env=None):
        """A command that has nothing to complain about."""
        done = self.run_weft(*words, env=env)
        self.assertEqual((done.code, done.err), (0, ""), (words, done.out))
        return done

    def ping(self, *words):
        """Pings that nothing but a busy machine can hold up."""
        return self.good("ping", *words, "--timeout", 20000, "--json").json

    def up(self, *words, silence=30000):
        """A busy machine leaves processes waiting for seconds, so silence means little here."""
        found = self.good("up", *words, "--silence", silence, "--wait", PATIENCE, "--json").json
        self.pids.update(found["pids"])
        return found

    def refused(self, *words, code=1, says="", env=None):
        """One clear line, and nothing else."""
        done = self.run_weft(*words, env=env)
        self.assertEqual((done.code, done.out), (code, ""), (words, done.err))
        self.assertRegex(done.err, r"^weft: [^\n]+\n\Z")
        self.assertRegex(done.err, says)
        return done.err

    def status(self, *words):
        """What it says, whether good or bad; the exit code is the health."""
        done = self.run_weft("status", "--json", *words)
        self.assertEqual(done.err, "")
        self.assertEqual(done.code, 0 if done.json["health"] == "OK" else 1)
        return done.json

    def well(self):
        """All is well, now or soon."""
        status = self.status("--wait", PATIENCE)
        self.assertEqual((status["health"], status["reasons"]), ("OK", []))
        return status

    def until(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"never: {what}")
            time.sleep(0.02)

    def codes(self, status):
        return {reason["code"] for reason in status["reasons"]}

    def begin(self, *words):
        """Another shell; ended with the test."""
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

    def down(self):
        """Ends it, and looks that nothing is left."""
        done = self.good("down", "--json").json
        self.assertFalse(self.folder.exists())
        self.assertEqual([pid for pid in self.pids if lives(pid)], [])
        return done
