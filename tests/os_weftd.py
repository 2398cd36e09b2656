"""Tests weftd alone: what it refuses, what it leaves behind, how it ends and restarts.
Every test has its own run directory. tests/cli/cluster*.py test whole clusters."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0])
from tap import main, weft

PATIENCE = 30  # seconds; longer than any step takes


class Daemon(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.running = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process, log in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            log.close()

    def make(self, spec="torus:2x2", wire="shm", **fields):
        wiring = weft("topo", "export", "--format", "json", spec)
        self.assertEqual(wiring.code, 0, wiring.err)
        (self.folder / "topology.json").write_text(wiring.out)
        count = len(wiring.json["nodes"])
        cluster = {"version": 1, "id": "0123456789abcdef", "topology": spec, "servers": count,
                   "wire": wire, "rate": 0, "hello_ms": 0, "silence_ms": 0, "seed": 1,
                   "made_folder": False, "services": [],
                   "processes": [[i] for i in range(count)]}
        (self.folder / "cluster.json").write_text(json.dumps({**cluster, **fields}))

    def words(self, nodes, *more):
        return [os.environ["WEFTD"], "--dir", str(self.folder), "--node", nodes, *more]

    def refuse(self, words, code, *said):
        """Asserts the exit code, and that stderr is one line with these texts."""
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("weftd: "), done.stderr)
        for text in said:
            self.assertIn(text, done.stderr)

    def start(self, nodes, *more):
        log = open(self.folder / f"log-{len(self.running)}", "w+")
        process = subprocess.Popen(self.words(nodes, *more), stdout=log, stderr=log)
        self.running.append((process, log))
        return process

    def said(self, process):
        number = [one for one, _ in self.running].index(process)
        return (self.folder / f"log-{number}").read_text()

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def until_said(self, process, text, times=1):
        self.until(lambda: self.said(process).count(text) >= times,
                   f"{text!r} in {self.said(process)}")

    def incarnation(self, node):
        pid, incarnation = (self.folder / f"node-{node}.lock").read_text().split()
        return int(pid), int(incarnation)

    def test_invalid_options_are_refused(self):
        self.make()
        weftd = os.environ["WEFTD"]
        self.refuse([weftd], 2, "--dir and one of --node and --serial are needed")
        self.refuse([weftd, "--dir", str(self.folder)], 2, "--dir and one of --node and --serial are needed")
        self.refuse([weftd, "--moon"], 2, "--moon")
        self.refuse([weftd, "--moon", "1"], 2, "no such option")
        self.refuse([weftd, "--nod", "1"], 2, "--nod: no such option (did you mean '--node'?)")
        self.refuse([weftd, "--dir"], 2, "--dir: a value is missing")
        for nodes in ("", "x", "1,", ",1", "1x", "-1", "1,,2", "99999999999"):
            with self.subTest(nodes=nodes):
                self.refuse(self.words(nodes), 2, "--node")
        self.refuse(self.words("4"), 2, "the servers 0 to 3")
        self.refuse(self.words("1,1"), 2, "server 1 is listed twice")
        self.refuse(self.words("0", "--pin", "x"), 2, "--pin x")
        self.refuse(self.words("0", "--pin", "1000"), 1, "--pin 1000")
        shown = subprocess.run([weftd, "--help"], capture_output=True, text=True)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("usage: weftd", shown.stdout)

    def test_an_invalid_run_directory_is_refused(self):
        self.refuse(self.words("0"), 2, "cluster.json")
        self.make()
        (self.folder / "topology.json").unlink()
        self.refuse(self.words("0"), 2, "topology.json")
        self.make()
        (self.folder / "topology.json").write_text("{")
        self.refuse(self.words("0"), 2, "topology.json")
        self.make()
        (self.folder / "cluster.json").write_text("[]")
        self.refuse(self.words("0"), 2, "cluster.json")
        self.refuse([os.environ["WEFTD"], "--dir", "/tmp/" + "x" * 100, "--node", "0"], 2, "too long")

    def test_invalid_plug_ins_are_refused(self):
        self.make()
        plug = pathlib.Path(os.environ["PLUGINS"])
        self.refuse(self.words("0", "--service", "/nowhere.so"), 2, "/nowhere.so")
        self.refuse(self.words("0", "--service", str(self.folder / "cluster.json")), 2,
                    "cluster.json")
        self.refuse(self.words("0", "--service", str(plug / "plugin_old.so")), 2, "version 1 ", "version 3")
        self.refuse(self.words("0", "--service", str(plug / "plugin_low.so")), 2, "id 200")
        self.refuse(self.words("0", "--service", os.environ["LIBWEFT"]), 2, "no weft_service")
        good = str(plug / "plugin_good.so")
        self.refuse(self.words("0", "--service", good, "--service", good), 2,
                    "service plugged: another service has the same name")
        self.refuse(self.words("0", "--service", good, "--service", str(plug / "plugin_twin.so")), 2,
                    "service twin: has the id 300, like the service plugged")
        for name, code, text in (("words", 2, "its name is not one of"), ("idle", 2, "no functions"),
                                 ("many", 2, "service plugged: has keep_packets above the limit"),
                                 ("unable", 1, "service plugged cannot start: start() returned -12345"),
                                 ("short", 2, "its weft_service has 8 bytes")):
            self.refuse(self.words("0", "--service", str(plug / f"plugin_{name}.so")), code, text)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ["cluster.json", "links", "node-0.lock", "topology.json"])
        process = self.start("0", "--service", good)
        self.until(lambda: (self.folder / "node-0.socket").exists(), "socket")
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 0, self.said(process))

    def test_a_second_process_for_a_node_is_refused(self):
        self.make()
        process = self.start("0,1")
        self.until(lambda: (self.folder / "node-1.socket").exists(), "socket")
        self.refuse(self.words("1"), 1, "node 1: runs already", str(process.pid))
        self.refuse(self.words("2,1"), 1, "node 1: runs already")
        self.assertIsNone(process.poll())
        self.assertEqual(self.incarnation(0)[0], process.pid)

    def test_weftd_ends_and_leaves_only_its_lock(self):
        self.make()
        one, other = self.start("0,1"), self.start("2,3")
        for process in (one, other):  # two links between the processes, in both directions
            self.until_said(process, ": up", 4)
        lives = [self.incarnation(node)[1] for node in range(4)]
        one.send_signal(signal.SIGTERM)
        self.assertEqual(one.wait(PATIENCE), 0, self.said(one))
        self.until_said(other, "carrier off", 2)
        self.assertFalse((self.folder / "node-0.socket").exists())
        self.assertTrue((self.folder / "node-2.socket").exists())
        self.assertEqual(len(list((self.folder / "links").iterdir())), 4)  # those of the other process
        again = self.start("0,1", "--pin", "0")
        self.until_said(again, ": up", 4)
        self.assertGreater(self.incarnation(0)[1], lives[0])
        self.assertGreater(self.incarnation(1)[1], lives[1])
        for process in (again, other):
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE), 0, self.said(process))
        self.assertEqual(list((self.folder / "links").iterdir()), [])
        self.assertEqual(list(self.folder.glob("node-*.socket")), [])

    def killed_and_back(self, wire):
        self.make(wire=wire)
        nodes = [self.start(str(node)) for node in range(4)]
        for process in nodes:
            self.until_said(process, ": up", 2)
        _, life = self.incarnation(3)
        nodes[3].kill()
        nodes[3].wait()
        self.until_said(nodes[1], "carrier off")
        self.until_said(nodes[2], "carrier off")
        # A clock that went back must not lead to an earlier incarnation.
        (self.folder / "node-3.lock").write_text(f"1 {life + 10**18}\n")
        back = self.start("3")
        self.until_said(back, ": up", 2)
        self.until_said(nodes[1], "to 3: up", 2)
        self.assertGreater(self.incarnation(3)[1], life + 10**18)
        for process in (*nodes[:3], back):
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0, self.said(process))

    def test_a_killed_server_restarts_with_a_later_incarnation_over_shm(self):
        self.killed_and_back("shm")

    def test_a_killed_server_restarts_with_a_later_incarnation_over_udp(self):
        self.killed_and_back("udp")


main()
