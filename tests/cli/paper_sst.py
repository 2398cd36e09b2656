"""weft paper: the figures about shared state tables. Checks results, never times."""

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

CORES = len(os.sched_getaffinity(0))
FIGURES = ("fig1", "fig3", "table4", "complex", "throughput", "fig5", "fig6", "fig7", "fig8", "fig9")


def verdicts(figure):
    return {claim["what"]: claim["verdict"] for claim in figure["claims"]}


def measured(figure):
    return {claim["what"]: claim["weft"] for claim in figure["claims"]}


def explained(pairs):
    """The share of the variance that a straight line through these points explains, in percent."""
    count = len(pairs)
    mean_x, mean_y = (sum(pair[i] for pair in pairs) / count for i in (0, 1))
    xx = sum((x - mean_x) ** 2 for x, _ in pairs)
    yy = sum((y - mean_y) ** 2 for _, y in pairs)
    xy = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return 100 * xy * xy / (xx * yy)


class Form(unittest.TestCase):
    def test_every_figure_is_listed(self):
        figures = {figure["name"]: figure for figure in weft("paper", "list", "--json").json["figures"]}
        for name in FIGURES:
            self.assertTrue(figures["sst-" + name]["measured"])
            self.assertEqual(figures["sst-" + name]["paper"], "SST")

    def test_plots_are_drawn_and_no_temporary_files_remain(self):
        names = ["sst-fig1", "sst-fig7", "sst-fig8", "sst-fig9"]
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
            done = weft("paper", "run", *names, "--quick", "--json", "--out", folder,
                        env={"TMPDIR": place})
            self.assertTrue(ran(done), complaints(done))
            self.assertEqual(os.listdir(place), [])
            for name in names:
                self.assertTrue(os.path.getsize(f"{folder}/{name}.csv") > 0)
                if shutil.which("gnuplot"):
                    xml.dom.minidom.parse(f"{folder}/{name}.svg")


@unittest.skipIf(CORES < 2, "needs two cores")
class Operations(unittest.TestCase):
    def test_reads_and_writes_are_measured_at_every_size(self):
        figure = run("sst-fig1")
        table = rows(figure)
        self.assertEqual([row["size"] for row in table], [8, 64, 256, 1024, 4096, 16384])
        found = measured(figure)
        for way in ("read", "write"):  # the claims follow from the table
            self.assertAlmostEqual(found[f"memory {way}: variance explained by a line in the size"],
                                   explained([(row["size"], row[f"memory_{way}"]) for row in table]))
        for row in table:
            if row["fi_read"] is not None:
                for way in ("fi_read", "fi_write"):
                    self.assertGreater(row[way], row[way + "_post"])
                    self.assertAlmostEqual(row[way], row[way + "_post"] + row[way + "_poll"])
        self.assertEqual(len(figure["claims"]), 8)

    def test_up_to_seven_rows_at_once_are_measured(self):
        figure = run("sst-fig3")
        table = rows(figure)
        self.assertEqual([(row["size"], row["rows"]) for row in table],
                         [(size, count) for size in (8, 4096) for count in range(1, 8)])
        self.assertEqual({claim["paper"] for claim in figure["claims"]}, {2})
        self.assertEqual({claim["relation"] for claim in figure["claims"]}, {"below"})


class Detection(unittest.TestCase):
    @unittest.skipIf(CORES < 2, "needs two cores")
    def test_the_simplest_predicate_is_compared_with_bare_operations(self):
        figure = run("sst-table4")
        table = rows(figure)
        self.assertEqual([(row["medium"], row["way"]) for row in table],
                         [(medium, way) for medium in ("memory", "libfabric tcp")
                          for way in ("reads", "writes")])
        for row in table:
            if row["sst_mean"] is None:
                self.assertEqual(row["medium"], "libfabric tcp")
                continue
            for make in ("sst", "bare"):
                self.assertGreater(row[make + "_median"], 0)
                self.assertLessEqual(row[make + "_median"], row[make + "_high"])
        printed = [claim["paper"] for claim in figure["claims"] if "mean" in claim["what"]]
        self.assertEqual(printed, [2.22, 4.6, 4.5, 5.81] * 2)

    def test_a_predicate_over_all_rows_is_measured(self):
        figure = run("sst-complex")
        table = rows(figure)
        self.assertEqual([(row["way"], row["nodes"]) for row in table],
                         [("reads", 2), ("reads", 4), ("writes", 2), ("writes", 4)])
        for row in table:
            self.assertGreater(row["simple"], 0)
            self.assertEqual(row["complex"] is None, row["nodes"] == 2)
        for claim in figure["claims"]:
            self.assertEqual(claim["verdict"], "not run at this size")
            self.assertIn("full size", claim["reason"])

    @unittest.skipIf(CORES < 2, "needs two cores")
    def test_latency_is_measured_by_rows_and_nodes(self):
        figure = run("sst-fig5")
        self.assertEqual([table["name"] for table in figure["tables"]],
                         ["memory", "yielding", "libfabric_tcp"])
        for number in range(2):
            table = rows(figure, number)
            self.assertEqual({(row["nodes"], row["rows"]) for row in table},
                             {(3, 1), (3, 2), (5, 1), (5, 2), (5, 4)})
        found = measured(figure)
        for number, name in enumerate(("memory", "yielding")):
            for way in ("reads", "writes"):
                of = {row["nodes"]: row["latency"] for row in rows(figure, number, way=way, rows=1)}
                self.assertGreater(of[3], 0)
                self.assertAlmostEqual(found[f"{way}, one row: 5 nodes over 3, {name}"], of[5] / of[3])

    @unittest.skipIf(CORES < 2, "needs two cores")
    def test_latency_is_measured_by_the_size_of_rows(self):
        figure = run("sst-fig6")
        table = rows(figure)
        self.assertEqual([(row["nodes"], row["size"]) for row in table],
                         [(2, 4), (2, 4096), (4, 4), (4, 4096)])
        found = measured(figure)
        of = {(row["nodes"], row["size"]): row for row in table}
        for way in ("reads", "writes"):
            self.assertAlmostEqual(found[f"{way}, 4 KB: most nodes over fewest"],
                                   of[4, 4096][way] / of[2, 4096][way])
            self.assertAlmostEqual(found[f"{way}, most nodes: 4 KB over 4 B"],
                                   of[4, 4096][way] / of[4, 4][way])
        self.assertEqual(len(figure["claims"]), 5)


class Rates(unittest.TestCase):
    def test_predicates_that_always_hold_are_measured(self):
        (row,) = rows(run("sst-throughput"))
        self.assertEqual(row["rows"], 4)
        for row in [row] + rows(run("sst-fig7")):
            self.assertGreater(row["reads"], 0)
            self.assertGreater(row["writes"], 0)

    def test_counting_in_step_is_measured(self):
        figure = run("sst-fig8")
        table = rows(figure)
        self.assertEqual([row["nodes"] for row in table], [2, 3, 4, 6])
        for row in table:
            self.assertGreater(row["reads"], 0)
            self.assertGreater(row["writes"], 0)
            self.assertEqual(row["busy_reads"] is None, row["nodes"] > CORES)
        self.assertAlmostEqual(rows(figure, nodes=3)[0]["paper_writes"], 1000 / 325)


class Routing(unittest.TestCase):
    def test_every_router_installs_the_right_table(self):
        figure = run("sst-fig9")
        for row in rows(figure):
            self.assertGreater(row["first"], 0)
            self.assertGreaterEqual(row["last"], row["first"])
            self.assertGreater(row["recompute"], 0)
        self.assertEqual([(row["waiting"], row["nodes"]) for row in rows(figure)],
                         [("yielding", 4), ("yielding", 6), ("asleep", 4), ("asleep", 6)])
        found = verdicts(figure)
        self.assertEqual(found["routers with correct tables after each change of a link"], "agrees")
        self.assertEqual(found["recomputations after changes that affect no shortest path"],
                         "agrees")

    def test_the_printed_rule_misses_changes_and_the_rule_of_weft_does_not(self):
        figure = run("sst-fig9")
        ours, printed = rows(figure, 1)
        self.assertEqual((ours["rule"], printed["rule"]), ("weft", "printed"))
        self.assertGreater(ours["wrong_tables"], 0)
        self.assertEqual(ours["missed"], 0)
        self.assertGreater(printed["missed"], 0)
        (claim,) = [claim for claim in figure["claims"] if "printed rule" in claim["what"]]
        self.assertEqual(claim["verdict"], "differs")
        self.assertAlmostEqual(claim["weft"], 100 * printed["missed"] / printed["wrong_tables"])


class OneCore(unittest.TestCase):
    def setUp(self):
        self.cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(self.cores)})

    def tearDown(self):
        os.sched_setaffinity(0, self.cores)

    def test_figures_that_need_two_cores_are_not_run(self):
        for name in ("sst-fig1", "sst-table4", "sst-fig6"):
            for claim in run(name)["claims"]:
                self.assertEqual(claim["verdict"], "not run at this size")
                self.assertIn("two cores", claim["reason"])

    def test_yielding_nodes_count_on_one_core(self):
        for row in rows(run("sst-fig8")):
            self.assertGreater(row["writes"], 0)
            self.assertIsNone(row["busy_writes"])


class Interrupted(unittest.TestCase):
    def test_no_process_and_no_file_remains(self):
        for how in (signal.SIGINT, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as place:
                work = subprocess.Popen([os.environ["WEFT"], "paper", "run", "sst-fig9"],
                                        env={**os.environ, "TMPDIR": place}, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                deadline = time.monotonic() + 60
                while len(children(work.pid)) < 4 and time.monotonic() < deadline:
                    time.sleep(0.01)
                nodes = children(work.pid)
                self.assertIsNone(work.poll())
                work.send_signal(how)
                work.communicate(timeout=60)
                self.assertEqual(work.returncode, -how)
                while time.monotonic() < deadline and (
                        os.listdir(place) or any(os.path.exists(f"/proc/{node}") for node in nodes)):
                    time.sleep(0.01)
                self.assertEqual(os.listdir(place), [])
                self.assertEqual([node for node in nodes if os.path.exists(f"/proc/{node}")], [])


main()
