"""A benchmark prints each row when it has measured it, and shows its progress on a terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

LIMIT = 200  # seconds until a hung benchmark ends
ROWS = ["--quick", "--alone", "--only", "4 KB"]  # more than one row


def start(*words, stderr=subprocess.DEVNULL):
    return subprocess.Popen(
        [os.environ["BENCH"], *ROWS, *words],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


class Rows(unittest.TestCase):
    def setUp(self):
        self.running = []

    def tearDown(self):
        for process in self.running:
            self.end(process)
            process.stdout.close()

    def end(self, process):
        """Ends the benchmark and the processes that it measures."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def start(self, *words, **more):
        process = start(*words, **more)
        self.running.append(process)
        return process

    def test_a_row_comes_before_the_next_is_measured(self):
        process = self.start()
        first = process.stdout.readline()
        self.end(process)  # what is printed only at the end is in the pipe already
        self.assertIn("weft", first)
        self.assertEqual(process.stdout.read(), "")

    def test_an_object_comes_before_the_next_row_is_measured(self):
        process = self.start("--json")
        text = ""
        while "}" not in text:
            text += process.stdout.read(1)
        self.end(process)
        self.assertNotIn("}", process.stdout.read())

    def test_all_objects_are_one_document(self):
        out, _ = self.start("--json").communicate(timeout=LIMIT)
        rows = json.loads(out)["rows"]
        self.assertGreater(len(rows), 1)
        for row in rows:
            self.assertIn("4 KB", row["what"])
            self.assertGreater(row["weft"], 0)

    def test_a_terminal_shows_what_is_measured(self):
        reader, writer = pty.openpty()
        process = self.start(stderr=writer)
        os.close(writer)
        shown = b""
        while b"round 1 of 3, weft" not in shown:
            piece = os.read(reader, 1024)
            self.assertTrue(piece, "the benchmark ended")
            shown += piece
        self.end(process)
        os.close(reader)


if __name__ == "__main__":
    tap.main()
