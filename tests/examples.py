"""The examples run and print what they promise."""

import os
import pathlib
import re
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

    def test_request_reply_prints_three_sums(self):
        sums = [f"request {i}: status 0, sum {42 + i}" for i in range(3)]
        self.assertEqual(self.lines("request_reply"), sums)

    def test_request_reply_works_from_two_shells(self):
        server = subprocess.Popen([FOLDER / "request_reply", "server"], env=self.env)
        try:
            self.assertEqual(len(self.lines("request_reply", "client")), 3)
            self.assertEqual(server.wait(timeout=60), 0)
        finally:
            server.kill()
            server.wait()

    def test_request_reply_refuses_unknown_arguments(self):
        done = subprocess.run([FOLDER / "request_reply", "nonsense"], capture_output=True, text=True,
                              timeout=60, env=self.env)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (2, "", "usage: request_reply [server|client]\n"))

    def test_long_transfer_prints_what_both_sides_received(self):
        self.assertEqual(sorted(self.lines("long_transfer")), [
            "receiver: the first item lies in the window",
            "receiver: the second item was fetched, it begins with 7",
            "sender: the answer lies in the return buffer",
            "sender: the receiver has both items, their memory is free again"])

    def test_notification_prints_every_slot_and_the_refused_write(self):
        self.assertEqual(sorted(self.lines("notification")), [
            *(f"consumer: {i} is 'slot {i}'" for i in range(8)),
            "producer: a write after the grant was revoked: "
            "no such grant for this process, or it was revoked"])

    def test_group_prints_all_messages_at_every_member(self):
        heard = self.lines("group")
        for member in range(3):
            self.assertEqual([line for line in heard if line.startswith(f"member {member}")],
                             [f"member {member}: to all: {news}" for news in
                              ("the sun rises", "the sun sets", "good night")])

    def test_event_loop_prints_its_reports(self):
        self.assertRegex(self.lines("event_loop")[0], "^collector: 100 reports, and the timer ")

    def test_ask_gets_the_answers_of_echo(self):
        self.env["WEFT_DIR"] = self.env["WEFT_FOLDER"] + "/run"
        weft = FOLDER.parent / "weft"
        up = [weft, "up", "torus:3x3", "--service", FOLDER / "echo.so", "--silence", "30000", "--wait", "120"]
        try:
            subprocess.run(up, check=True, capture_output=True, timeout=150, env=self.env)
            self.assertEqual(self.lines("ask"),
                             ["attached to server 0", "asked: hello",
                              "answered: servers whose numbers sum to 36", "in a loop: 9 answers"])
        finally:
            subprocess.run([weft, "down", "--grace", "0"], capture_output=True, timeout=60, env=self.env)

    def test_bank_loses_no_money(self):
        self.env["WEFT_DIR"] = self.env["WEFT_FOLDER"] + "/run"
        weft = FOLDER.parent / "weft"
        up = [weft, "up", "torus:3x3", "--service", "store", "--silence", "30000", "--wait", "120"]
        try:
            subprocess.run(up, check=True, capture_output=True, timeout=150, env=self.env)
            programs = [subprocess.Popen([FOLDER / "bank", "30"], stdout=subprocess.PIPE, text=True, env=self.env)
                        for _ in range(3)]
            said = [program.communicate(timeout=120)[0].splitlines() for program in programs]
            self.assertEqual([program.returncode for program in programs], [0, 0, 0])
            self.assertEqual({lines[1] for lines in said}, {"the accounts have 100 in all"})
            self.assertEqual(sorted(int(lines[0].split()[0]) for lines in said), [30, 60, 90])
        finally:
            subprocess.run([weft, "down", "--grace", "0"], capture_output=True, timeout=60, env=self.env)

    def test_sst_counting_counts_in_step(self):
        *counted, rate = sorted(self.lines("sst_counting", "3", "5000"), key=lambda line: line[0] != "p")
        self.assertEqual(sorted(counted), [
            f"process {i}: counted to 5000, always in step" for i in range(3)])
        self.assertRegex(rate, r"^\d+ counts a second$")

    def test_sst_election_elects_one_process_after_the_other(self):
        self.assertEqual(self.lines("sst_election", "4"),
                         [f"process {i} leads {5 - i}" for i in range(1, 5)])

    def test_sst_barrier_prints_the_expected_values(self):
        cells = sorted(self.lines("sst_barrier", "4", "200"))
        self.assertEqual([line.split(":")[0] for line in cells], [f"cell {i}" for i in range(4)])
        for line in cells:
            self.assertRegex(line, r": 1\.500000 after 200 rounds, as it should be$")

    def test_sst_multicast_delivers_in_one_order(self):
        *delivered, rate = sorted(self.lines("sst_multicast", "4", "5000"),
                                  key=lambda line: line[0] != "p")
        self.assertEqual(len(delivered), 4)
        self.assertEqual(len({line.split(": ")[1] for line in delivered}), 1, delivered)
        self.assertIn(": 20000 messages in the order ", delivered[0])
        self.assertRegex(rate, r"^\d+ messages a second$")

    def test_sst_routing_computes_routes_less_often_but_correctly(self):
        routers = sorted(self.lines("sst_routing", "4", "100", "7"))
        self.assertEqual(len(routers), 4)
        for i, line in enumerate(routers):
            self.assertRegex(line, f"^router {i}: found its routes [0-9]+ times instead of "
                                   "[0-9]+, and they are the same$")
            lazy, eager = (int(word.strip(",")) for word in line.split()[2:]
                           if word.strip(",").isdigit())
            self.assertLess(lazy, eager)

    def test_sst_examples_refuse_wrong_arguments(self):
        for name, words in (("sst_counting", ["0"]), ("sst_election", ["1", "2"]),
                            ("sst_barrier", ["65"]), ("sst_multicast", ["4", "0"]),
                            ("sst_routing", ["1"])):
            done = subprocess.run([FOLDER / name, *words], capture_output=True, text=True,
                                  timeout=60, env=self.env)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertTrue(done.stderr.startswith(f"usage: {name} ["), done.stderr)

    def test_each_example_is_short_and_explains_how_to_run_it(self):
        sources = sorted(SOURCES.glob("*.c"))
        services = [path for path in sources if re.search("WEFT_(SERVICE|SIMULATION)_VERSION", path.read_text())]
        self.assertEqual([path.stem for path in services],  # other tests run these
                         ["counter", "echo", "journal", "letters", "lines", "primes", "register", "register_checker"])
        programs = [path.stem for path in sources if path not in services]
        self.assertGreater(len(programs), 8)
        for program in programs:  # a test whose name begins with the program's runs it
            self.assertTrue(any(name.startswith(f"test_{program}_") for name in dir(self)), program)
        for path in sources:
            text = path.read_text()
            self.assertLess(len(text.splitlines()), 320 if path.stem == "register" else 200, path)
            self.assertIn(f"./{path.stem}", text.split("*/")[0])


main()
