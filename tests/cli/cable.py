"""weft topo cable: the list of cables, its totals, the cost model and its file."""

import csv
import math
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

JELLYFISH = "jellyfish:servers=200,switches=40,ports=12,seed=3"


def blueprint(*words):
    """The rows of the list of cables, and the totals."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "blueprint.csv")
        run = weft("topo", "cable", *words, "--out", path, "--json")
        assert run.code == 0, run.err
        with open(path, newline="") as file:
            return list(csv.DictReader(file)), run.json


def defaults():
    """The cost model as weft prints it: keys and numbers."""
    model = {}
    for line in weft("topo", "cable", "--print-cost").out.splitlines():
        if line and not line.startswith("#"):
            key, value = line.split(" = ")
            model[key] = float(value)
    return model


class Blueprint(unittest.TestCase):
    def test_totals_equal_the_sums_of_the_rows(self):
        for words in ([JELLYFISH], [JELLYFISH, "--layout", "racks"], ["fattree:k=8"],
                      ["fattree:k=8", "--layout", "containers"], ["torus:6x5x4"],
                      ["novacube:4x4x4"]):
            rows, totals = blueprint(*words)
            with self.subTest(words):
                lengths = [float(row["length_m"]) for row in rows]
                self.assertEqual(totals["cables"], len(rows))
                for kind in ("link", "server"):
                    self.assertEqual(totals[kind + "_cables"],
                                     sum(row["kind"] == kind for row in rows))
                for medium in ("copper", "optical"):
                    self.assertEqual(totals[medium], sum(row["medium"] == medium for row in rows))
                self.assertAlmostEqual(totals["length_total_m"], sum(lengths), delta=len(rows) / 100)
                self.assertAlmostEqual(totals["length_max_m"], max(lengths), delta=0.01)
                bundles = {row["bundle"] for row in rows} - {""}
                self.assertEqual(totals["bundles"], len(bundles))
                self.assertEqual(totals["bundle_max"], max(
                    sum(row["bundle"] == bundle for row in rows) for bundle in bundles))
                self.assertAlmostEqual(totals["cost_total"],
                                       sum(float(row["cost"]) for row in rows), delta=len(rows) / 100)
                for row in rows:
                    self.assertEqual(row["medium"] == "optical", float(row["length_m"]) > 10)
                    self.assertEqual(row["bundle"] == "", row["from_rack"] == row["to_rack"])

    def test_costs_follow_the_model(self):
        model = defaults()
        rows, totals = blueprint(JELLYFISH)
        metres = sum(float(row["length_m"]) for row in rows)
        self.assertAlmostEqual(totals["cost_cable_metres"], model["copper_metre"] * metres,
                               delta=0.06 * len(rows))
        self.assertEqual(totals["cost_transceivers"], 2 * model["transceiver"] * totals["optical"])
        self.assertEqual(totals["cost_copper_ends"], 2 * model["copper_end"] * totals["copper"])
        self.assertAlmostEqual(totals["cost_labour"] / totals["cost_total"], model["labour_share"])

    def test_every_port_and_unit_is_used_once(self):
        for words in ([JELLYFISH], [JELLYFISH, "--layout", "racks"],
                      ["fattree:k=8", "--layout", "containers"], ["torus:5x5x5"]):
            rows, totals = blueprint(*words)
            ports, units = set(), {}
            with self.subTest(words):
                for row in rows:
                    for side in ("from_", "to_"):
                        port = (row[side + "node"], row[side + "port"])
                        self.assertNotIn(port, ports)
                        ports.add(port)
                        unit = (row[side + "rack"], row[side + "unit"])
                        self.assertEqual(units.setdefault(unit, port[0]), port[0])
                self.assertEqual(len(ports), 2 * len(rows))
                self.assertEqual(len(units), totals["servers"] + totals["switches"])

    def test_rows_are_the_links_of_the_topology(self):
        rows, _ = blueprint("torus:4x3")
        built = weft("topo", "build", "torus:4x3", "--format", "edgelist").out
        links = {frozenset(line.split()[:2]) for line in built.splitlines()
                 if line and not line.startswith("#")}
        self.assertEqual(links, {frozenset((row["from_node"], row["to_node"])) for row in rows})

    def test_a_torus_has_no_long_cables(self):
        """A torus is folded, so that no cable of a ring crosses the whole floor."""
        _, totals = blueprint("torus:1000")
        self.assertEqual(totals["racks"], 25)
        self.assertLess(totals["length_max_m"], 9)

    def test_the_local_share_of_a_fat_tree_equals_the_paper(self):
        for k in (4, 8, 14):
            totals = weft("topo", "cable", f"fattree:k={k}", "--layout", "containers", "--json").json
            self.assertEqual(totals["containers"], k)
            self.assertAlmostEqual(totals["local_share"], 0.5 * (1 + 1 / k))

    def test_the_chosen_layout_is_printed(self):
        two = "jellyfish:servers=200,switches=40,ports=12,containers=4,local=0.5,seed=3"
        for spec, layout in (("torus:3x3x3", "racks"), ("fattree:k=4", "racks"),
                             ("fattree:k=24", "containers"), (JELLYFISH, "cluster"),
                             (two, "containers")):
            result = weft("topo", "cable", spec, "--no-compare", "--json").json
            self.assertEqual((result["layout"], result["layout_chosen"]), (layout, True))
            self.assertIn(f"layout {layout} (chosen)", weft("topo", "cable", spec).out)
        result = weft("topo", "cable", two, "--layout", "racks", "--json").json
        self.assertEqual((result["layout"], result["layout_chosen"]), ("racks", False))


class Comparison(unittest.TestCase):
    def test_a_fat_tree_compared_with_itself_is_equal(self):
        result = weft("topo", "cable", "fattree:k=6", "--json").json
        self.assertEqual(result["fattree"]["k"], 6)
        for key, value in result["ratio"].items():
            if value is not None:
                self.assertEqual(value, 1, key)

    def test_the_printed_cost_model_has_plain_numbers(self):
        self.assertNotRegex(weft("topo", "cable", "--print-cost").out, r"= .*e[+-]")

    def test_a_network_without_servers_has_no_cost_per_server(self):
        out = weft("topo", "cable", "jellyfish:servers=0,switches=20,ports=4").out
        self.assertNotIn("nan", out)
        self.assertRegex(out, r"\n  cost per server +- +\d+\.\d\d\n")

    def test_the_largest_fat_tree_of_the_switches_is_taken(self):
        for switches, ports, servers, k in ((245, 14, 245, 14), (244, 14, 700, 12),
                                            (400, 15, 400, 14), (20, 48, 700, 4)):
            spec = f"jellyfish:servers={servers},switches={switches},ports={ports}"
            tree = weft("topo", "cable", spec, "--json").json["fattree"]
            self.assertEqual(tree["k"], k)
            self.assertEqual(tree["switches"], 5 * k * k // 4)
            self.assertEqual(tree["servers"], k**3 // 4)
            self.assertEqual(tree["cables"], 3 * k**3 // 4)

    def test_figures_per_server_are_quotients(self):
        result = weft("topo", "cable", JELLYFISH, "--json").json
        tree = result["fattree"]
        self.assertAlmostEqual(result["cables_per_server"], result["cables"] / result["servers"])
        self.assertAlmostEqual(result["ratio"]["cost_per_server"],
                               (result["cost_total"] / result["servers"]) /
                               (tree["cost_total"] / tree["servers"]))
        costs = {layout: weft("topo", "cable", JELLYFISH, "--layout", layout, "--no-compare",
                              "--json").json["cost_total"]
                 for layout in ("racks", "cluster", "containers")}
        self.assertEqual(result["cheapest_layout"], min(costs, key=costs.get))
        self.assertAlmostEqual(result["cheapest_cost_per_server"], min(costs.values()) / 200)

    def test_a_missing_comparison_is_explained(self):
        for spec in ("torus:4x4", "jellyfish:servers=2,switches=4,ports=3"):
            result = weft("topo", "cable", spec, "--json").json
            self.assertIsNone(result["fattree"])
            self.assertTrue(result["fattree_missing"])
            self.assertIn("not compared: ", weft("topo", "cable", spec).out)
        self.assertNotIn("fat-tree", weft("topo", "cable", JELLYFISH, "--no-compare").out)


class CostFile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "cost")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, text):
        with open(self.path, "w") as file:
            file.write(text)

    def test_a_printed_cost_file_can_be_read(self):
        printed = weft("topo", "cable", "--print-cost").out
        self.write(printed)
        self.assertEqual(weft("topo", "cable", "--print-cost", "--cost", self.path).out, printed)
        self.assertEqual(weft("topo", "cable", JELLYFISH, "--cost", self.path).out,
                         weft("topo", "cable", JELLYFISH).out)

    def test_every_key_matters_and_is_in_the_manual(self):
        model = defaults()
        with open(os.path.join(os.path.dirname(__file__), "../../man/weft-cost.5")) as file:
            manual = dict(re.findall(r"^\.BR (\w+) \" = ([\d.]+)\"", file.read(), re.M))
        self.assertEqual({key: float(value) for key, value in manual.items()}, model)
        # networks in which every price and length has an effect, in some layout
        self.write("container_servers = 40\nservers_per_rack = 10\nswitches_per_rack = 10\n"
                   "container_racks = 2\nswitch_port = 1\n")
        base = {layout: weft("topo", "cable", JELLYFISH, "--layout", layout, "--cost", self.path,
                             "--no-compare", "--json").json for layout in ("racks", "containers")}
        text = open(self.path).read()
        changed = {"rack_units": 30, "labour_share": 0.2, "container_servers": 60,
                   "container_racks": 3, "servers_per_rack": 13, "switches_per_rack": 7,
                   "switch_units": 2, "server_units": 2, "switch_port": 3, "copper_limit_m": 5}
        for key in model:
            value = changed.get(key, model[key] * 1.5)
            self.write(re.sub(rf"^{key} = .*\n", "", text, flags=re.M) + f"{key} = {value}\n")
            after = {layout: weft("topo", "cable", JELLYFISH, "--layout", layout, "--cost",
                                  self.path, "--no-compare", "--json").json for layout in base}
            self.assertNotEqual(after, base, key)

    def test_bad_files_are_refused_with_their_line(self):
        for text, reason in (("\nnonsense = 1\n", "line 2: no such key 'nonsense'"),
                             ("slak_m = 1\n", "line 1: no such key 'slak_m' (did you mean 'slack_m'?)"),
                             ("slack_m = -1\n", "line 1: slack_m must be"),
                             ("slack_m = x\n", "line 1: slack_m: 'x' is not a number"),
                             ("slack_m\n", "line 1: expected 'key = value'"),
                             ("slack_m = 1\nslack_m = 1\n", "line 2: slack_m was already")):
            self.write(text)
            run = weft("topo", "cable", "torus:3", "--cost", self.path)
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertTrue(run.err.startswith(f"weft: {self.path}: {reason}"), run.err)
            self.assertEqual(run.err.count("\n"), 1)


class BadInput(unittest.TestCase):
    def test_errors_are_one_line(self):
        for code, words in ((2, []), (2, ["torus:0"]), (2, ["torus:3", "--layout", "heap"]),
                            (2, ["torus:3x3", "--layout", "cluster"]), (2, ["no/such/file"]),
                            (2, ["torus:3", "--cost", "no/such/file"]), (2, ["torus:3", "--cost", "/"]),
                            (1, ["torus:3", "--out", "/no/such/folder/x.csv"]),
                            (1, ["torus:3", "--out", "/dev/full"])):
            run = weft("topo", "cable", *words)
            with self.subTest(words):
                self.assertEqual((run.code, run.out), (code, ""), run.err)
                self.assertRegex(run.err, r"^weft: [^\n]+\n$")

    def test_small_and_empty_networks_have_a_layout(self):
        for spec in ("torus:1", "torus:2", "fattree:k=2"):
            run = weft("topo", "cable", spec, "--json")
            self.assertEqual(run.code, 0, run.err)
            self.assertFalse(math.isnan(run.json["cost_total"]))


main()
