"""weft paper: the figures about ripc, measured with processes. Checks results, never times."""

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
from tap import main, weft

CORES = len(os.sched_getaffinity(0))
WAYS = ("short", "long", "short_asleep", "long_asleep", "tcp", "unix", "bare")
TOOLS = {"libfabric_shm": "fi_pingpong", "ucx": "ucx_perftest"}


class Latency(unittest.TestCase):
    @unittest.skipIf(CORES < 2, "needs two cores")
    def test_every_way_is_measured_at_every_size(self):
        figure = run("ripc-fig5.5")
        table = rows(figure)
        self.assertEqual([row["size"] for row in table], [100, 1000, 1900])
        for row in table:
            for way in WAYS:
                self.assertGreater(row[way], 0, way)
            for way, tool in TOOLS.items():
                if row[way] is None:
                    self.assertFalse(shutil.which(tool), f"{tool} is installed but was not measured")
                else:
                    self.assertGreater(row[way], 0, way)
        self.assertEqual(len(rows(figure, 1)), len(WAYS) * len(table))
        for row in rows(figure, 1):
            self.assertGreaterEqual(row["share"], 0)
            self.assertGreaterEqual(row["per_round_trip"], 0)
        printed = [claim["paper"] for claim in figure["claims"]][:6]
        self.assertEqual(printed, [17.72, 22.44, 26.07, 28.09, 56.5, 66.11])
        for claim in figure["claims"]:
            self.assertIsNotNone(claim["weft"], claim["what"])

    @unittest.skipIf(CORES < 2, "needs two cores")
    def test_cells_of_programs_that_are_not_installed_are_empty(self):
        with tempfile.TemporaryDirectory() as empty:
            done = weft("paper", "run", "ripc-fig5.5", "--quick", "--json", env={"PATH": empty})
        self.assertTrue(ran(done), complaints(done))
        for row in rows(done.json["figures"][0]):
            self.assertEqual([row[way] for way in TOOLS], [None, None])
            self.assertGreater(row["short"], 0)

    def test_one_core_is_not_enough(self):
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        try:
            done = weft("paper", "run", "ripc-fig5.5", "--quick", "--json")
        finally:
            os.sched_setaffinity(0, cores)
        self.assertTrue(ran(done), complaints(done))
        for claim in done.json["figures"][0]["claims"]:
            self.assertEqual(claim["verdict"], "not run at this size")
            self.assertIn("two cores", claim["reason"])


class Flexibility(unittest.TestCase):
    def test_every_conversation_resumes(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as place:
            done = weft("paper", "run", "ripc-flexibility", "--quick", "--json", "--out", folder,
                        env={"TMPDIR": place})
            self.assertTrue(ran(done), complaints(done))
            (figure,) = done.json["figures"]
            self.assertEqual(os.listdir(place), [])
            if shutil.which("gnuplot"):
                xml.dom.minidom.parse(folder + "/ripc-flexibility.svg")
        table = rows(figure)
        self.assertEqual(len(table), 5)
        for row in table:
            self.assertEqual(row["resumed"], row["conversations"], row["event"])
            self.assertEqual(row["conversations"], 3 * row["times"])
            self.assertGreaterEqual(row["outage_most"], row["outage"])
            self.assertGreater(row["answered"], 0)
        self.assertEqual([claim["verdict"] for claim in figure["claims"]], ["agrees"] * 5)
        self.assertEqual(len(rows(figure, 1)), sum(row["times"] for row in table))

    def test_an_interrupted_run_leaves_no_files(self):
        """The test polls for the folder without a pause, to interrupt as soon as it appears."""
        for how in [signal.SIGINT, signal.SIGKILL] * 10:
            with tempfile.TemporaryDirectory() as place:
                run = subprocess.Popen([os.environ["WEFT"], "paper", "run", "ripc-flexibility"],
                                       env={**os.environ, "TMPDIR": place}, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                deadline = time.monotonic() + 60
                while not os.listdir(place) and time.monotonic() < deadline:
                    pass
                self.assertIsNone(run.poll())
                run.send_signal(how)
                run.communicate(timeout=60)
                self.assertEqual(run.returncode, -how)
                while os.listdir(place) and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertEqual(os.listdir(place), [])


main()
