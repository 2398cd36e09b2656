"""The parts of the tour about clusters, messages and tables run, print what they promise, and leave
nothing behind."""

import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main

TOUR = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "tour"
PATIENCE = 60  # seconds; nothing takes that long


class Tour(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "temporary").mkdir()
        (self.folder / "shared").mkdir(mode=0o700)
        self.env = {**os.environ, "WEFT": os.path.abspath(os.environ["WEFT"]),
                    "WEFT_FOLDER": str(self.folder / "shared"),
                    "TMPDIR": str(self.folder / "temporary")}

    def left(self):
        return [*(self.folder / "temporary").iterdir(), *(self.folder / "shared").iterdir()]

    def test_the_tour_of_a_cluster_runs(self):
        done = subprocess.run([TOUR, "cluster"], env=self.env, capture_output=True, text=True,
                              timeout=3 * PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for promised in (r"(?m)^27 servers are up after ", r"(?m)^OK$", r"(?m)^home +8 \(2,2,0\)$",
                         r"(?m)^server 8 killed \(pid \d+\)$", r"(?m)^WARN$", "1 of 27 servers is dead: 8",
                         r"(?m)^server 8 revived ", r"(?m)^z 0 +z 1 +z 2$", r"(?m)^27 servers sending to random keys",
                         r"(?m)^27 servers ended; "):
            self.assertRegex(done.stdout, promised)
        self.assertEqual(self.left(), [])

    def test_the_tour_of_messages_runs(self):
        done = subprocess.run([TOUR, "messages"], env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for promised in (r"(?m)^serving 42, pid \d+$", "1000 answered, 0 lost",
                         "long, received by the service", "100 long pings of 1048576 bytes, 100 answered",
                         r"(?m)^5: no process holds that id$"):
            self.assertRegex(done.stdout, promised)
        self.assertEqual(self.left(), [])

    def test_the_tour_of_tables_runs(self):
        done = subprocess.run([TOUR, "tables"], env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for promised in (r"(?m)is killed \(pid \d+\)$", r"(?m)is back, as a new process, in epoch \d+$",
                         r"(?m)^\d+ steps, \d+ a second", r"(?m)^table 7, epoch \d+: 4 members$",
                         r"(?m)^row +member +state +step "):
            self.assertRegex(done.stdout, promised)
        self.assertEqual(self.left(), [])

    def test_an_interrupted_tour_cleans_up(self):
        tour = subprocess.Popen([TOUR, "messages"], env=self.env, text=True,
                                stdout=subprocess.PIPE, start_new_session=True)
        for line in tour.stdout:
            if line.startswith("serving 42"):
                break
        os.killpg(tour.pid, signal.SIGINT)
        tour.communicate(timeout=PATIENCE)
        self.assertEqual(tour.returncode, 130)
        deadline = time.monotonic() + PATIENCE
        while self.left() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.left(), [])

    def test_headings_are_bold_on_a_terminal_only(self):
        words, env = [TOUR, "messages"], {**self.env, "TERM": "xterm"}
        env.pop("NO_COLOR", None)
        piped = subprocess.run(words, env=env, capture_output=True, text=True, timeout=PATIENCE)
        self.assertNotIn("\033", piped.stdout)
        self.assertIn("\033[1mMessages: ", self.on_terminal(words, env))
        self.assertNotIn("\033[1m", self.on_terminal(words, {**env, "NO_COLOR": "1"}))

    def on_terminal(self, words, env):
        try:
            terminal, end = pty.openpty()
        except OSError:  # a chroot without /dev/pts
            raise unittest.SkipTest("no pseudo-terminals here")
        tour = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=end, stderr=end)
        os.close(end)
        shown = b""
        try:
            while more := os.read(terminal, 4096):
                shown += more
        except OSError:  # Linux's way to say that the other end is closed
            pass
        os.close(terminal)
        self.assertEqual(tour.wait(timeout=PATIENCE), 0)
        return shown.decode()

    def test_an_unknown_part_is_refused(self):
        done = subprocess.run([TOUR, "nonsense"], env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^tour: [^\n]+\n\Z")


main()
