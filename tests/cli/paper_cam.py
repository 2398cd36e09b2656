"""weft paper: figures 4 and 5 of CamCubeOS. Checks results, never times of this machine."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

sys.path.insert(0, sys.path[0] + "/..")
from figures import complaints, ran, rows, run
from processes import children
from tap import main, weft

MEASURED = ("fig4a", "fig4b", "fig4c", "15hop")
SIMULATED = ("fig5a", "fig5b", "fig5c")
CORES = len(os.sched_getaffinity(0))

JUMBO, STANDARD, ETHERNET = 8940, 1500, 38


def hop(size):
    """Microseconds that a frame takes over a cable of 1 Gb/s with 1 us of delay."""
    return (size + ETHERNET) * 8e-3 + 1


def stop(process, seconds):
    """Stops a process for some seconds. One that has ended does not matter."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process, signal.SIGCONT)


def verdicts(figure):
    return {claim["what"]: claim["verdict"] for claim in figure["claims"]}


class Form(unittest.TestCase):
    def test_every_figure_is_listed(self):
        figures = {figure["name"]: figure for figure in weft("paper", "list", "--json").json["figures"]}
        for name in MEASURED + SIMULATED:
            figure = figures["cam-" + name]
            self.assertEqual(figure["paper"], "CamCubeOS")
            self.assertEqual(figure["measured"], name in MEASURED)

    def test_plots_are_drawn_and_no_temporary_files_remain(self):
        names = ["cam-fig4b", "cam-15hop", "cam-fig5b"]
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
            done = weft("paper", "run", *names, "--quick", "--json", "--out", folder,
                        env={"TMPDIR": place})
            self.assertTrue(ran(done), complaints(done))
            self.assertEqual(os.listdir(place), [])
            for name in names:
                self.assertTrue(os.path.getsize(f"{folder}/{name}.csv") > 0)
                if shutil.which("gnuplot"):
                    xml.dom.minidom.parse(f"{folder}/{name}.svg")


class Links(unittest.TestCase):
    def test_links_reach_a_share_of_line_rate(self):
        figure = run("cam-fig4a")
        table = rows(figure)
        self.assertEqual([(row["world"], row["links"]) for row in table],
                         [(world, links) for world in ("real", "simulated", "simulated novacube",
                                                       "simulated jellyfish") for links in (1, 6)])
        for row in table:
            for kind in ("jumbo", "standard", "aggregated"):
                self.assertGreater(row[kind], 0)
                self.assertLess(row[kind], 1.1)  # a rate-limited link may catch up a little
        for row in rows(figure, world="simulated"):
            # whole frames are counted, so there may be one more or less
            self.assertAlmostEqual(row["jumbo"], JUMBO / (JUMBO + ETHERNET), delta=0.005)
            self.assertAlmostEqual(row["standard"], STANDARD / (STANDARD + ETHERNET), delta=0.001)
            frame = JUMBO // STANDARD * STANDARD
            self.assertAlmostEqual(row["aggregated"], frame / (frame + ETHERNET), delta=0.005)
        # a NovaCube's server has the six links of the torus first; a Jellyfish's server has six links
        for kind in ("jumbo", "standard"):
            share = rows(figure, world="simulated", links=6)[0][kind]
            for world in ("simulated novacube", "simulated jellyfish"):
                self.assertAlmostEqual(rows(figure, world=world, links=6)[0][kind], share, delta=0.005)
        found = verdicts(figure)
        self.assertEqual(found["simulated: jumbo, lowest"], "agrees")
        self.assertEqual(found["simulated: 1,500 B, lowest up to L = 5"], "agrees")
        self.assertEqual(found["simulated: 1,500 B at L = 6"], "differs")
        self.assertEqual(found["simulated: 1,500 B aggregated, lowest"], "agrees")

    def test_processor_time_is_measured_by_kind(self):
        figure = run("cam-fig4b")
        self.assertEqual([row["links"] for row in rows(figure)], [0, 1, 6])
        for row in rows(figure):
            for kind in ("jumbo", "standard", "aggregated"):
                self.assertGreater(row[kind], 0)
                self.assertLessEqual(row[kind], 101)
        kinds = ["jumbo", "1,500 B", "1,500 B aggregated"]
        self.assertEqual([(row["kind"], row["links"]) for row in rows(figure, 1)],
                         [(kind, links) for links in (1, 6) for kind in kinds])
        for row in rows(figure, 1):
            self.assertGreater(row["packets"], 0)
        (claim,) = [claim for claim in figure["claims"] if claim["paper"] == 87]
        self.assertEqual(claim["verdict"], "cannot be reproduced")


class Trips(unittest.TestCase):
    def test_round_trips_over_one_hop_and_sockets_are_measured(self):
        figure = run("cam-fig4c")
        table = rows(figure)
        self.assertEqual(len(table), 8)
        for row in table:
            polling = "polling" in row["way"]
            for size in ("standard", "jumbo"):
                self.assertEqual(row[size] is None, polling and CORES < 2)
                self.assertTrue(row[size] is None or row[size] > 0)
        (simulated,) = rows(figure, way="weft, simulated 1 Gb/s")
        self.assertAlmostEqual(simulated["standard"], 2 * hop(STANDARD))
        self.assertAlmostEqual(simulated["jumbo"], 2 * hop(JUMBO))

    def test_round_trips_over_fifteen_hops_are_measured(self):
        figure = run("cam-15hop")
        for row in rows(figure):
            self.assertGreater(row["round_trip"], 0)
            links = 2 if row["way"].startswith("TCP") else 30
            self.assertAlmostEqual(row["per_hop"] * links, 1000 * row["round_trip"])
        for row in rows(figure, way="simulated 1 Gb/s"):
            self.assertAlmostEqual(row["per_hop"], hop(row["size"]))
        self.assertEqual([row["way"] for row in rows(figure, size=STANDARD)],
                         ["one process", "two processes", "30 processes", "simulated 1 Gb/s",
                          "TCP, new connection"])


class AllToAll(unittest.TestCase):
    def test_expected_equals_the_closed_form_and_links_are_not_overloaded(self):
        figure = run("cam-fig5a")
        table = rows(figure)
        self.assertEqual([(row["network"], row["servers"]) for row in table],
                         [(network, servers) for network in ("torus", "novacube", "jellyfish")
                          for servers in (27, 64)])
        for row in table:
            self.assertLessEqual(row["lowest"], row["achieved"])
            self.assertLessEqual(row["achieved"], row["highest"])
            self.assertAlmostEqual(row["expected"], row["ports"] / row["mean_hops"])
            # some packets that arrive in the 10 ms were sent before
            self.assertLess(row["achieved"] * row["mean_hops"], 1.05 * row["ports"])
            self.assertGreater(row["achieved"], 0.5 * row["expected"])
        for row in rows(figure, network="torus"):
            k = round(row["servers"] ** (1 / 3))
            ring = sum(min(i, k - i) for i in range(k)) / k
            self.assertAlmostEqual(row["mean_hops"], 3 * ring * k ** 3 / (k ** 3 - 1))
            self.assertEqual(row["ports"], 6)

    def test_mean_hops_equal_those_of_the_wiring(self):
        specs = {"novacube": "novacube:4x4x4", "jellyfish": "jellyfish:n=64,degree=6,seed=5"}
        figure = run("cam-fig5a", "--seed", 5)
        for network, spec in specs.items():
            (row,) = rows(figure, network=network, servers=64)
            measured = weft("topo", "measure", spec, "--json").json
            self.assertAlmostEqual(row["mean_hops"], measured["mean_path"], places=9)

    def test_surviving_servers_keep_sending(self):
        figure = run("cam-fig5b")
        for network in ("torus", "novacube", "jellyfish"):
            table = rows(figure, network=network)
            self.assertEqual([row["servers"] for row in table], [27, 24, 22])
            self.assertEqual(table[0]["same"], table[0]["adapted"])
            self.assertAlmostEqual(table[0]["same_share"], 100)
            for before, row in zip(table, table[1:]):
                self.assertLess(row["expected"], before["expected"])
                # a second of missed hellos, and then the news spreads
                self.assertGreaterEqual(row["noticed"], 1)
                for rule in ("same", "adapted"):
                    self.assertGreater(row[rule], 0.3 * row["expected"])
                    self.assertLess(row[rule], 1.1 * row["expected"])
        whole = rows(run("cam-fig5a"), network="torus", servers=27)
        self.assertEqual(rows(figure, network="torus")[0]["same"], whole[0]["achieved"])


class Churn(unittest.TestCase):
    def test_every_packet_is_accounted_for_and_none_misdelivered(self):
        figure = run("cam-fig5c")
        table = rows(figure)
        self.assertEqual([(row["network"], row["servers"]) for row in table],
                         [("torus", 27), ("torus", 27), ("novacube", 27), ("jellyfish", 27)])
        for row in table:
            self.assertEqual(row["churn"], 2 * row["failures"])
            self.assertEqual(row["misdelivered"], 0)
            self.assertGreater(row["failed"], 0)
            # a server that is up sends 1,000 a second; one that returns, only after it has settled
            active = row["servers"] * (1 - row["down"] / 100) * row["seconds"] * 1000
            self.assertLess(row["sent"], active * 1.01)
            self.assertGreater(row["sent"], active * 0.9)
            reasons = row["lost_on_way"] + row["no_way"] + row["limbo"] + row["stopped"]
            self.assertLessEqual(reasons, row["dropped"] + 1e-9)
        found = verdicts(figure)
        self.assertEqual(found["misdelivered, all points"], "agrees")
        self.assertEqual(found["dropped at 2 failures/s"], "not run at this size")

    def test_results_do_not_depend_on_the_number_of_threads(self):
        written = []
        for threads in (1, 4):
            with tempfile.TemporaryDirectory() as folder:
                done = weft("paper", "run", "cam-fig5c", "--quick", "--threads", threads, "--out",
                            folder)
                self.assertIn(done.code, (0, 1), done.err)
                with open(f"{folder}/cam-fig5c.csv") as file:
                    written.append(file.read())
        self.assertGreater(len(written[0].splitlines()), 4)
        self.assertEqual(written[0], written[1])
        one, four = (run("cam-fig5c", "--threads", threads) for threads in (1, 4))
        self.assertEqual((one["tables"], one["claims"]), (four["tables"], four["claims"]))

    def test_sim_churn_runs_one_point_of_the_figure(self):
        words = ["sim", "churn", "torus:3x3x3", "--failures", 2, "--seconds", 5, "--json"]
        done = weft(*words)
        self.assertEqual((done.code, done.err), (0, ""))
        found = done.json
        (row,) = rows(run("cam-fig5c"), network="torus", failures=2)
        self.assertEqual([found["sent"], found["failures"], found["misdelivered"]],
                         [row["sent"], row["failed"], 0])
        self.assertAlmostEqual(100 * found["not_delivered"] / found["sent"], row["dropped"])
        self.assertEqual(found["sent"], found["delivered"] + found["lost"] + found["waiting"] +
                         sum(found["dropped"].values()))
        self.assertEqual(weft(*words).out, done.out)
        self.assertNotEqual(weft(*words, "--seed", 2).json["hash"], found["hash"])

    def test_invalid_options_are_refused(self):
        for words in (["--down", "0.95"], ["--seconds", "0"], ["--size", "9000"],
                      ["torus:nonsense"], ["--failures", "-1"]):
            done = weft("sim", "churn", *words)
            self.assertEqual((done.code, done.out), (2 if words[0][0] == "-" else done.code, ""))
            self.assertRegex(done.err, r"^weft: [^\n]+\n$")


class Interrupted(unittest.TestCase):
    def test_a_server_that_stands_still_for_a_while_does_not_fail_a_measurement(self):
        words = ["paper", "run", "cam-15hop", "--quick", "--json"]
        with subprocess.Popen([os.environ["WEFT"], *words], stdout=subprocess.PIPE) as work:
            deadline = time.monotonic() + 60
            while len(children(work.pid)) < 31 and time.monotonic() < deadline:
                time.sleep(0.001)
            servers = sorted(children(work.pid))
            self.assertIsNone(work.poll())
            time.sleep(0.3)  # most times the pings have begun then; any other moment is right, too
            stop(servers[7], 3)
            figure = json.loads(work.communicate(timeout=250)[0])["figures"][0]
        self.assertNotIn("error", figure)
        self.assertEqual(len(rows(figure)), 10)

    def test_no_process_and_no_file_remains(self):
        for how in (signal.SIGINT, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as place:
                work = subprocess.Popen([os.environ["WEFT"], "paper", "run", "cam-fig4b"],
                                        env={**os.environ, "TMPDIR": place}, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                deadline = time.monotonic() + 60
                while len(children(work.pid)) < 28 and time.monotonic() < deadline:
                    time.sleep(0.01)
                servers = children(work.pid)
                self.assertIsNone(work.poll())
                work.send_signal(how)
                work.communicate(timeout=60)
                self.assertEqual(work.returncode, -how)
                while time.monotonic() < deadline and (
                        os.listdir(place) or
                        any(os.path.exists(f"/proc/{server}") for server in servers)):
                    time.sleep(0.01)
                self.assertEqual(os.listdir(place), [])
                self.assertEqual([server for server in servers if os.path.exists(f"/proc/{server}")],
                                 [])


main()
