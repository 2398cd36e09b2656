"""weft paper: the figures about growing in stages, failing links and cables inside containers,
compared with independent computations."""

import itertools
import json
import math
import sys
import tempfile
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from figures import rows, run
from tap import main, weft


class Failures(unittest.TestCase):
    def test_throughput_falls_with_failures_and_the_rate_of_all_is_below_the_mean(self):
        figure = run("jelly-fig8", "--seed", 3)
        for network in ("Jellyfish", "fat-tree"):
            curve = [row for row in rows(figure) if row["network"] == network]
            self.assertEqual([row["failed"] for row in curve], [0, 5, 10, 15, 20, 25])
            for row in curve:
                self.assertLessEqual(row["mean_lower"], row["mean_upper"])
                self.assertLessEqual(row["mean_upper"], row["mean_lower"] * 1.0051)
                self.assertLessEqual(row["at_once_lower"], row["mean_upper"])
                self.assertLessEqual(row["mean_upper"], 1)
            for less, more in zip(curve, curve[1:]):
                self.assertLessEqual(more["mean_lower"], less["mean_upper"])
                self.assertLessEqual(more["at_once_lower"], less["at_once_upper"])
                self.assertLessEqual(less["servers_cut_off"], more["servers_cut_off"])
        self.assertEqual(curve[0]["mean_upper"], 1)  # any permutation fits a fat-tree
        self.assertGreaterEqual(curve[0]["at_once_lower"], 0.995)

    def test_the_rate_of_all_servers_matches_verified_measurements(self):
        networks = {"Jellyfish": "jellyfish:servers=60,switches=45,ports=6,seed={}",
                    "fat-tree": "fattree:k=6"}
        for row in rows(run("jelly-fig8", "--seed", 1)):
            if row["failed"] not in (5, 10):
                continue
            brackets = []
            for seed in (1, 2):
                with tempfile.TemporaryDirectory() as folder:
                    done = weft("topo", "measure", networks[row["network"]].format(seed),
                                "--fail-links", row["failed"] / 100, "--throughput", "permutation",
                                "--seed", seed, "--gap", 0.005, "--flow", folder + "/flow.json",
                                "--verify", "--json")
                self.assertEqual((done.code, done.err), (0, ""))
                brackets.append((min(1, done.json["throughput_lower"]),
                                 min(1, done.json["throughput_upper"])))
            lower, upper = (sum(side) / 2 for side in zip(*brackets))
            self.assertLessEqual(row["at_once_lower"], upper + 1e-9, row)
            self.assertLessEqual(lower, row["at_once_upper"] + 1e-9, row)
            self.assertLessEqual(lower, row["mean_upper"] + 1e-9, row)


class Local(unittest.TestCase):
    def test_local_links_equal_those_of_built_fat_trees(self):
        for row in rows(run("jelly-fig14"), 1):
            if row["k"] > 16:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = folder + "/tree.json"
                self.assertEqual(weft("topo", "build", f"fattree:k={row['k']}", "--out", path).code, 0)
                with open(path) as file:
                    data = json.load(file)
            tree = networkx.Graph()
            for link in data.get("links") or data["edges"]:
                tree.add_edge(link["source"], link["target"])
            servers = {node["id"]: node["servers"] for node in data["nodes"]}
            core = {v for v in tree if not servers[v] and not any(servers[w] for w in tree[v])}
            pods = list(networkx.connected_components(tree.subgraph(set(tree) - core)))
            self.assertEqual(len(pods), row["k"])
            dealt = [[] for _ in pods]
            for i, switch in enumerate(sorted(core)):
                dealt[i % len(pods)].append(switch)
            local = sum(tree.subgraph(pod | set(more)).size() for pod, more in zip(pods, dealt))
            self.assertEqual((row["links"], row["local_links"]), (tree.size(), local))

    def test_the_loss_is_the_largest_of_all_sizes(self):
        figure = run("jelly-fig14", "--seed", 2)
        table = [row for row in rows(figure) if row["local"] is not None]
        for claim, share in zip(figure["claims"], (0.6, 0.5)):
            least = min(row["normalised_lower"] for row in table if row["local"] == share)
            self.assertAlmostEqual(claim["weft"], max(0, 100 * (1 - least)))
        for k in {row["k"] for row in table}:
            free, *bound = [row for row in rows(figure) if row["k"] == k]
            self.assertIsNone(free["local"])
            self.assertEqual([row["local"] for row in bound], [i / 10 for i in range(9)])
            for row in bound:
                self.assertAlmostEqual(row["normalised_lower"],
                                       row["mean_lower"] / free["mean_upper"])
                self.assertLessEqual(row["at_once_lower"], row["mean_upper"])
                self.assertLess(row["mean_upper"], 1)  # oversubscribed


class Clos:
    """Plans the upgrade of a folded Clos by trying all choices."""

    def __init__(self, ports, switch, cable):
        self.ports, self.switch, self.cable = ports, switch, cable
        self.first = 34 * switch + (34 * ports - 480) // 2 * cable

    def bisection(self, first, added, uplinks):
        limit = (self.ports * first - 480) / 480
        if not added:
            return min(uplinks / 480, limit)
        narrow = (self.ports * added - 240) / 240
        if narrow >= limit:
            return min(uplinks / 720, limit)
        low = min(uplinks / 720, narrow)
        high = max(low, min((uplinks - 240 * low) / 480, limit))
        return (240 * low + 120 * high) / 360

    def best(self, before, first, added, most, budget):
        """(bisection, cost, upper, cables) of the best network of these edge switches."""
        edges, servers = first + added, 720 if added else 480
        found = []
        for uplinks in range(edges, self.ports * edges - servers + 1):
            if edges <= self.ports:
                upper, cables = math.ceil(uplinks / self.ports), uplinks
            else:
                upper = math.ceil(2 * uplinks / self.ports) + math.ceil(uplinks / self.ports)
                cables = 2 * uplinks
            upper, cables = max(upper, before[2]), max(cables, before[3])
            cost = (edges + upper) * self.switch + cables * self.cable
            if edges + upper <= most and cost - before[1] <= budget + 1e-6:
                found.append((self.bisection(first, added, uplinks), -cost, upper, cables))
        if not found:
            return None
        value, cost, upper, cables = max(found)
        return value, -cost, upper, cables

    def plan(self, first, added):
        stages = [self.best((0, 0, 0, 0), first, 0, 34, self.first)]
        while stages[-1] and len(stages) < 9:
            stages.append(self.best(stages[-1], first, added, 10 ** 9, self.first / 2))
        return stages if stages[-1] else None

    def greedy(self):
        starts = [(best[0], first) for first in range(1, 35)
                  if (best := self.best((0, 0, 0, 0), first, 0, 34, self.first))]
        _, first = max(starts)
        before = self.best((0, 0, 0, 0), first, 0, 34, self.first)
        seconds = [(best[0], added) for added in range(1, 18)
                   if (best := self.best(before, first, added, 10 ** 9, self.first / 2))]
        return self.plan(first, max(seconds)[1])

    def last_best(self):
        plans = (self.plan(*edges) for edges in itertools.product(range(21, 35), range(11, 18)))
        return max(plan[-1][0] for plan in plans if plan)


class Stages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.figure = run("jelly-fig7")
        cls.jelly, cls.greedy, cls.foresight = (
            [row for row in rows(cls.figure) if row["network"] == name]
            for name in ("Jellyfish 24", "Clos 24, greedy", "Clos 24, foresight"))

    def test_no_network_spends_more_than_its_budget(self):
        for curve in (self.jelly, self.greedy, self.foresight):
            self.assertEqual([row["stage"] for row in curve], list(range(9)))
            self.assertEqual([row["servers"] for row in curve], [480] + [720] * 8)
            first = curve[0]["budget"]
            spent = 0
            for row in curve:
                self.assertAlmostEqual(row["budget"], first * (1 + row["stage"] / 2))
                self.assertLessEqual(row["spent"] - spent,
                                     first * (0.5 if row["stage"] else 1) + 1e-6)
                spent = row["spent"]

    def test_jellyfish_uses_all_ports_and_starts_from_the_built_network(self):
        for row in self.jelly:
            self.assertEqual(row["cables"], (24 * row["switches"] - row["servers"]) // 2)
            self.assertLessEqual(row["bisection_lower"], row["bisection_upper"])
        measured = weft("topo", "measure", "jellyfish:servers=480,switches=34,ports=24,seed=1",
                        "--bisection", "--json").json
        self.assertAlmostEqual(self.jelly[0]["bisection_lower"], measured["bisection_lower"] / 240)
        self.assertAlmostEqual(self.jelly[0]["bisection_upper"], measured["bisection_upper"] / 240)

    def test_the_clos_is_the_best_under_its_rules(self):
        cable = (self.jelly[0]["spent"] - 34 * 2400) / self.jelly[0]["cables"]
        clos = Clos(24, 2400, cable)
        for row, (value, cost, _, cables) in zip(self.greedy, clos.greedy()):
            self.assertAlmostEqual(row["bisection_upper"], value)
            self.assertAlmostEqual(row["spent"], cost, places=3)
            self.assertEqual(row["cables"], cables)
        self.assertAlmostEqual(self.foresight[-1]["bisection_upper"], clos.last_best())

    def test_claims_about_legup_cannot_be_reproduced(self):
        for claim in self.figure["claims"]:
            self.assertEqual("LEGUP" in claim["what"], claim["verdict"] == "cannot be reproduced")


main()
