"""The examples run, and say what their readers are promised."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0])
from tap import main

FOLDER = pathlib.Path(os.environ["EXAMPLE_FOLDER"])
SOURCES = pathlib.Path(__file__).resolve().parent.parent / "examples"


class Examples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.env = {**os.environ, "WEFT_FOLDER": folder.name, "WEFT_DOMAIN": "examples"}

    def lines(self, name, *words):
        done = subprocess.run([FOLDER / name, *words], capture_output=True, text=True, timeout=60,
                              env=self.env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.splitlines()

    def test_request_reply(self):
        sums = [f"request {i}: status 0, sum {42 + i}" for i in range(3)]
        self.assertEqual(self.lines("request_reply"), sums)

    def test_request_reply_from_two_shells(self):
        server = subprocess.Popen([FOLDER / "request_reply", "server"], env=self.env)
        try:
            self.assertEqual(len(self.lines("request_reply", "client")), 3)
            self.assertEqual(server.wait(timeout=60), 0)
        finally:
            server.kill()
            server.wait()

    def test_request_reply_knows_two_words(self):
        done = subprocess.run([FOLDER / "request_reply", "nonsense"], capture_output=True, text=True,
                              timeout=60, env=self.env)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (2, "", "usage: request_reply [server|client]\n"))

    def test_long_transfer(self):
        self.assertEqual(sorted(self.lines("long_transfer")), [
            "receiver: the first item lies in the window",
            "receiver: the second item was fetched, it begins with 7",
            "sender: the answer lies in the return buffer",
            "sender: the receiver has both items, their memory is free again"])

    def test_notification(self):
        self.assertEqual(sorted(self.lines("notification")), [
            *(f"consumer: {i} is 'slot {i}'" for i in range(8)),
            "producer: a write after the grant was revoked: "
            "no such grant, or not for us, or revoked"])

    def test_group(self):
        heard = self.lines("group")
        for member in range(3):
            self.assertEqual([line for line in heard if line.startswith(f"member {member}")],
                             [f"member {member}: to all: {news}" for news in
                              ("the sun rises", "the sun sets", "good night")])

    def test_event_loop(self):
        self.assertRegex(self.lines("event_loop")[0], "^collector: 100 reports, and the timer ")

    def test_each_is_short_and_tells_how_to_run_it(self):
        sources = sorted(SOURCES.glob("*.c"))
        self.assertEqual([path.stem for path in sources],
                         sorted(name[5:] for name in dir(self) if name.startswith("test_")
                                and (SOURCES / (name[5:] + ".c")).exists()))
        for path in sources:
            text = path.read_text()
            self.assertLess(len(text.splitlines()), 150, path)
            self.assertIn(f"./{path.stem}", text.split("*/")[0])


main()
