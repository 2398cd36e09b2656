"""Programs that are attached to different servers of a cluster communicate through the servers between
them. They survive the death of such a server, and notice the death of each other."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

PATIENCE = 120  # seconds; nothing takes that long, even on a busy machine
ANSWERED = re.compile(r"^\d+: [\d.]+ .?s$")  # the line of an answered ping


class Fabric(unittest.TestCase):
    """One cluster for all tests of a class; each test uses its own ids."""

    @classmethod
    def setUpClass(cls):
        above = tempfile.TemporaryDirectory(prefix="weft-")
        cls.addClassCleanup(above.cleanup)
        cls.above = pathlib.Path(above.name)
        cls.folder = cls.above / "run"
        (cls.above / "shared").mkdir(mode=0o700)
        cls.addClassCleanup(weft, "down", "--dir", cls.folder, "--grace", 0, timeout=PATIENCE)
        # No server hangs here and deaths are noticed at once, so only a busy machine delays hellos.
        done = weft("up", "torus:3x3", "--dir", cls.folder, "--silence", 20000,
                    "--wait", PATIENCE, timeout=PATIENCE)
        if done.code:
            raise RuntimeError(done.err)

    def setUp(self):
        self.programs = []
        self.addCleanup(self.end)

    def end(self):
        for program in self.programs:
            if program.poll() is None:
                program.kill()
            program.communicate()

    def env(self, server):
        """Options of a program at that server, which reaches others only through the server."""
        return {**os.environ, "WEFT_NODE": str(self.folder / f"node-{server}.socket"),
                "WEFT_FOLDER": str(self.above / "shared"), "WEFT_TRANSPORTS": "routed"}

    def start(self, server, *words):
        program = subprocess.Popen([os.environ["WEFT"], "ripc", *map(str, words)],
                                   env=self.env(server), text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.programs.append(program)
        return program

    def serve(self, server, number):
        program = self.start(server, "serve", number)
        line = program.stdout.readline()
        self.assertRegex(line, rf"^serving {number}, pid {program.pid}$")
        return program

    def ping(self, server, number, *words):
        return weft("ripc", "ping", number, "--timeout", 20000, *words, env=self.env(server),
                    timeout=PATIENCE)


class Talk(Fabric):
    def test_short_messages_cross_servers(self):
        self.serve(0, 77)
        for size in (16, 64, 8900):
            done = self.ping(4, 77, "--count", 50, "--size", size)
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertRegex(done.out, r"server 0/\d+\) over routed: 50 short pings of .* 50 answered, 0 lost")
        done = self.ping(0, 77, "--count", 5)  # from the same server
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertIn("5 answered", done.out)

    def test_programs_share_memory_with_their_server(self):
        server, number = 6, 67  # no other program uses this server
        self.serve(server, number)
        self.assertIn("over routed", self.ping(1, number, "--count", 5).out)
        log = (self.folder / f"node-{server}.log").read_text()
        self.assertRegex(log, rf"node {server}: program \d+ attached through shared memory")
        self.assertNotIn("attached through its socket", log)

    def test_long_messages_cross_servers(self):
        self.serve(0, 87)
        for size in (16, 8192, 3000000):
            done = self.ping(4, 87, "--long", "--count", 5, "--size", size)
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertRegex(done.out, "over routed: 5 long pings of .* 5 answered, 0 lost")
        sent = self.above / "sent"
        sent.write_bytes(os.urandom(700001))
        taker = self.start(7, "recv", 88, "--count", 1, "--quiet", "--out", self.above / "taken")
        done = weft("ripc", "send", 88, "--file", sent, "--long", "--wait", "--timeout", 60000,
                    env=self.env(2), timeout=PATIENCE)
        self.assertEqual((done.code, done.err), (0, ""))
        taker.communicate(timeout=PATIENCE)
        self.assertEqual((self.above / "taken").read_bytes(), sent.read_bytes())

    def test_an_id_belongs_to_one_program(self):
        first = self.serve(0, 97)
        second = self.start(5, "serve", 97)
        out, _ = second.communicate(timeout=PATIENCE)
        self.assertEqual(second.returncode, 1, out)
        self.assertIn("a live process holds that id", out)
        first.kill()
        first.wait()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            third = self.start(5, "serve", 97)
            if third.stdout.readline().startswith("serving"):
                break
            third.wait()
        self.assertIn("over routed", self.ping(8, 97, "--count", 3).out)

    def test_groups_span_servers(self):
        members = [self.start(server, "recv", 500, "--group", "--count", 1) for server in (2, 6, 7)]
        deadline = time.monotonic() + PATIENCE
        while any(member.poll() is None for member in members) and time.monotonic() < deadline:
            done = weft("ripc", "send", 500, "to all of you", env=self.env(4), timeout=PATIENCE)
            self.assertIn(done.code, (0, 1), done.err)  # 1: no member, or one that has just ended
            time.sleep(0.1)
        for member in members:
            out, _ = member.communicate(timeout=PATIENCE)
            self.assertIn("to all of you", out)

    def test_messages_sent_before_the_end_arrive(self):
        for number in range(130, 134):
            taker = self.start(6, "recv", number, "--count", 20, "--json")
            done = weft("ripc", "send", number, "x", "--count", 20, "--wait", "--timeout", 60000,
                        env=self.env(2), timeout=PATIENCE)
            self.assertEqual((done.code, done.err), (0, ""))
            out, _ = taker.communicate(timeout=PATIENCE)
            self.assertEqual(taker.returncode, 0, out)
            self.assertEqual(json.loads(out)["received"], 20)

    def test_the_death_of_a_program_is_noticed(self):
        served = self.serve(0, 107)
        pings = self.start(4, "ping", 107, "--interval", 20, "--timeout", 20000)
        for _ in range(5):
            self.assertRegex(pings.stdout.readline(), ANSWERED)
        served.send_signal(signal.SIGKILL)
        lost = 0  # only a ping in flight may be lost; the next one finds no service
        for line in pings.stdout:
            if "no process holds" in line or "has ended" in line:
                return
            lost += "no answer" in line
            self.assertLessEqual(lost, 1, line)
        self.fail(line)


class Death(Fabric):
    def test_programs_survive_the_death_of_a_server_between_them(self):
        self.serve(0, 77)
        pings = self.start(4, "ping", 77, "--interval", 20, "--count", 200, "--timeout", 20000)
        for _ in range(20):
            pings.stdout.readline()
        for server in (1, 3):  # one of the two shortest paths from 4 to 0, then the other
            done = weft("kill", server, "--dir", self.folder, timeout=PATIENCE)
            self.assertEqual((done.code, done.err), (0, ""))
        out, _ = pings.communicate(timeout=PATIENCE)
        self.assertEqual(pings.returncode, 0, out)
        self.assertRegex(out, "200 answered, 0 lost")

    def test_the_death_of_a_program_s_server_is_noticed(self):
        self.serve(8, 117)
        pings = self.start(4, "ping", 117, "--interval", 20, "--timeout", 5000)
        for _ in range(5):
            self.assertRegex(pings.stdout.readline(), ANSWERED)
        weft("kill", 8, "--dir", self.folder, timeout=PATIENCE)
        for line in pings.stdout:
            if "no process holds" in line or "has ended" in line:
                return
        self.fail(line)


class Revival(Fabric):
    """Programs whose server dies and is revived continue to work."""

    def cluster(self, word, server):
        done = weft(word, server, "--dir", self.folder, timeout=PATIENCE)
        self.assertEqual((done.code, done.err), (0, ""))

    def ping_until_answered(self, server, number):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            done = weft("ripc", "ping", number, "--count", 3, "--timeout", 2000,
                        env=self.env(server), timeout=PATIENCE)
            if "3 answered, 0 lost" in done.out:
                return done
        self.fail(done)

    def test_a_service_is_found_again_after_its_server_was_revived(self):
        served = self.serve(0, 150)
        member = self.start(0, "recv", 151, "--group", "--count", 1)
        self.assertIn("3 answered", self.ping(4, 150, "--count", 3).out)
        for _ in range(2):  # and once more
            self.cluster("kill", 0)
            self.cluster("revive", 0)
            done = self.ping_until_answered(4, 150)
            self.assertRegex(done.out, r"server 0/\d+\) over routed")
        self.assertIsNone(served.poll())
        self.assertIn("3 answered", self.ping(0, 150, "--count", 3).out)  # from a new program
        deadline = time.monotonic() + PATIENCE
        while member.poll() is None and time.monotonic() < deadline:
            weft("ripc", "send", 151, "to all of you", env=self.env(5), timeout=PATIENCE)
        self.assertIn("to all of you", member.communicate(timeout=PATIENCE)[0])
        log = (self.folder / "node-0.log").read_text()
        self.assertGreaterEqual(log.count("attached through shared memory"), 6)  # two programs, three times
        self.assertNotIn("attached through its socket", log)

    def test_a_client_works_again_after_its_server_was_revived(self):
        self.serve(3, 160)
        pings = self.start(7, "ping", 160, "--interval", 20, "--timeout", 1000)
        self.answers(pings, 5)
        self.cluster("kill", 7)
        cut = next(line for line in pings.stdout if not ANSWERED.match(line))
        self.cluster("revive", 7)
        self.answers(pings, 10, cut)

    def answers(self, pings, count, why=None):
        """Waits for that many more answers; a busy machine may lose pings in between."""
        for line in pings.stdout:
            count -= bool(ANSWERED.match(line))
            if count == 0:
                return
        self.fail(why or "the pings ended")


main()
