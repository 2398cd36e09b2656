"""Services that compute on worker threads, functions of services that delay all packets, and
functions that never return, in real clusters."""

import errno
import os
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_files import Program
from cluster_shell import ClusterCase
from processes import lives
from tap import main

PROBE, PRIMES = 300, 259


class Work(ClusterCase):
    def up_probe(self, *words, **options):
        return self.up("torus:3", "--service", os.environ["PROBE"], *words, **options)

    def program(self, server, service=PROBE):
        return Program(self.folder, server, service)

    def counters(self, server, service="probe"):
        return self.good("nodes", "--json").json["nodes"][server]["services"][service]

    def log(self, server):
        return (self.folder / f"node-{server}.log").read_text()

    # ---- threads ----

    def test_the_example_computes_on_threads(self):
        self.up("torus:3", "--service", os.environ["PRIMES"])
        with self.program(1, PRIMES) as program:
            self.assertEqual(program.ask("1000000007"), "prime")
            self.assertEqual(program.ask("1000000006"), "2")
            self.assertEqual(program.ask(str(1000003 * 1000033)), "1000003")
        counters = self.counters(1, "primes")
        self.assertEqual((counters["work_calls"], counters["work_failed"], counters["primes"]), (3, 0, 1))
        self.down()

    def test_a_worker_computes_while_its_server_forwards_and_answers(self):
        self.up_probe()
        with self.program(1) as worker:
            for _ in range(8):
                worker.send("l")  # until it is cancelled
            with self.program(1) as other:
                self.assertEqual(other.ask("w1"), f"refused -{errno.EAGAIN}")
                self.assertEqual(self.ping(1, "--from", 0, "--count", 50, "--interval", 2)["lost"], 0)
                self.assertEqual(self.counters(1)["work_under_way"], 8)
                self.assertFalse(worker.has_answer())
                other.send("c")
                self.assertEqual([worker.answer() for _ in range(8)], ["cancelled"] * 8)
                self.assertEqual(other.ask("w5"), "done 5")
        counters = self.counters(1)
        self.assertEqual((counters["work_under_way"], counters["work_calls"], counters["mistakes"]), (0, 9, 0))
        self.down()

    def test_the_operator_lowers_the_number_of_calls(self):
        self.up_probe("--set", "probe.work=2")
        self.assertEqual(self.good("nodes", "--json").json["nodes"][0]["parameters"]["probe"]["work"], 2)
        with self.program(0) as program:
            program.send("l")
            program.send("l")
            self.assertEqual(program.ask("w1"), f"refused -{errno.EAGAIN}")
        self.down()
        self.refused("up", "torus:3", "--service", os.environ["PROBE"], "--set", "probe.work=0", code=2,
                     says="probe.work")

    def test_a_server_ends_its_workers_when_it_stops_and_when_it_is_killed(self):
        self.up_probe("--processes", "1")
        with self.program(1) as program:
            program.send("l")
            program.send("w600000")  # computes for ten minutes of its own time, whatever is cancelled
            self.until(lambda: self.counters(1)["work_under_way"] == 2, "both run")
            self.good("kill", 1)
        self.down()

    # ---- child processes ----

    def test_a_child_process_has_limits_and_its_result_arrives(self):
        self.up_probe()
        with self.program(1) as program:
            self.assertEqual(program.ask("xecho $WEFT_SERVER; ls -A | wc -l; exit 3"), "3 1\n0\n")
            self.assertEqual(program.ask("ywhile :; do :; done"), f"-{errno.ETIME} ")
            self.assertTrue(program.ask("xyes").startswith(f"-{errno.EMSGSIZE} y\n"))
            self.assertEqual(program.ask("xkill -9 $$"), f"-{errno.ECHILD} ")
            with self.program(1) as other:
                for _ in range(2):
                    other.send("xsleep 1000")
                self.until(lambda: self.counters(1)["work_under_way"] == 2, "both run")
                self.assertEqual(program.ask("xtrue"), f"refused -{errno.EAGAIN}")
                self.assertEqual(self.ping(1, "--from", 0, "--count", 20, "--interval", 2)["lost"], 0)
                program.send("c")
                self.assertEqual([other.answer() for _ in range(2)], [f"-{errno.ECANCELED} "] * 2)
        self.assertEqual([path for path in self.folder.iterdir() if ".child-" in path.name], [])
        self.down()

    def children(self, program, server):
        """Starts a child that starts another one outside of its group; returns their pids."""
        program.send("xsetsid sleep 1000 & echo $! >pids.new; echo $$ >>pids.new; mv pids.new pids; sleep 1000")

        def found():
            return list(self.folder.glob(f"node-{server}.child-*/pids"))
        self.until(found, "the child runs")
        return [int(word) for word in found()[0].read_text().split()]

    def test_no_child_survives_its_server_however_that_ends(self):
        self.up_probe()
        with self.program(1) as program:
            pids = self.children(program, 1)
            self.assertEqual([lives(pid) for pid in pids], [True, True])
            self.good("kill", 1)  # SIGKILL
        self.until(lambda: not any(map(lives, pids)), "the children have ended")
        self.until(lambda: not list(self.folder.glob("node-1.child-*")), "their folder is removed")
        with self.program(2) as program:
            pids = self.children(program, 2)
            self.down()
        self.assertEqual([lives(pid) for pid in pids], [False, False])

    # ---- functions that take long ----

    def test_a_function_that_delays_packets_is_counted_and_named(self):
        self.up_probe()
        self.assertEqual(self.counters(1)["slow"], 0)
        with self.program(1) as program:
            self.assertEqual(program.ask("b300"), "back")
            self.assertGreaterEqual(self.counters(1)["slow"], 1)
            for _ in range(5):
                self.assertEqual(program.ask("s300"), "back")
        self.assertGreaterEqual(self.counters(1)["slow"], 2)
        status = self.status()
        texts = [reason["text"] for reason in status["reasons"] if reason["code"] == "SERVICES_SLOW"]
        self.assertEqual(len(texts), 1)
        self.assertRegex(texts[0], r"\bprobe on 1 \(\d+ times; request for \d+\.\d ms\)")
        self.assertNotIn("probe on 0", texts[0])
        self.assertEqual(status["health"], "OK")  # a note: the cluster is well
        self.assertRegex(self.log(1), r"service probe: request\(\) ran for \d+\.\d ms")
        self.down()

    # ---- functions that never return ----

    def test_a_function_that_never_returns_is_named_by_status_and_by_its_neighbours(self):
        self.up_probe(silence=3000)
        with self.program(1) as program:
            program.send("h")

            def stuck():
                return [reason for reason in self.status()["reasons"] if reason["code"] == "SERVICES_STUCK"]
            self.until(stuck, "the function is named")
        self.assertRegex(stuck()[0]["text"], r"probe on 1 \(request, for \d+ s\)")
        node = self.good("nodes", "--json").json["nodes"][1]
        self.assertEqual((node["state"], node["stuck"]["service"], node["stuck"]["function"]),
                         ("silent", "probe", "request"))
        self.assertRegex(self.log(1), r"service probe: request\(\) has not returned for \d+\.\d s; the server hangs")
        for server in (0, 2):
            self.until(lambda: "because service probe of server 1 has not returned from request()"
                       in self.log(server), "the neighbour names it")
        self.assertEqual(self.ping(2, "--from", 0, "--count", 5)["lost"], 0)  # nothing else is affected
        self.good("kill", 1)
        self.pids.add(self.good("revive", 1, "--json").json["pid"])
        self.well()
        self.assertFalse(stuck())
        self.down()

    def test_a_function_that_returns_after_all_is_forgiven(self):
        self.up_probe()
        with self.program(1) as program:
            program.send("s3000")
            self.until(lambda: (self.folder / "node-1.stuck").exists(), "the function is named")
            self.assertEqual(program.answer(), "back")
        self.until(lambda: not (self.folder / "node-1.stuck").exists(), "it is no longer named")
        self.assertRegex(self.log(1), r"a function of a service has returned after \d+\.\d s")
        self.well()
        self.down()


main()
