"""weft route load and weft route worst, compared with loads and matchings computed here."""

import itertools
import os
import sys
import tempfile
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

SQUARE = "torus:8x8"


def load(spec, algorithm, traffic="uniform", *words):
    run = weft("route", "load", spec, "--algorithm", algorithm, "--traffic", traffic, "--json",
               *words)
    assert run.code == 0, run.err
    return run.json


def worst(spec, algorithm, *words):
    run = weft("route", "worst", spec, "--algorithm", algorithm, "--json", *words)
    assert run.code == 0, run.err
    return run.json


def dimension_order(size, axes, source, target):
    """The channels (node, port) of a dimension-order path; half-way round an axis it goes up."""
    at, hops = source, []
    for axis in range(axes):
        stride = size**axis
        down = (at // stride - target // stride) % size
        up = (target // stride - at // stride) % size
        for _ in range(min(up, down)):
            hops.append((at, 2 * axis + (up > down)))
            place = at // stride % size
            at += ((place + (1 if up <= down else -1)) % size - place) * stride
    assert at == target
    return hops


def channel_loads(size, axes, target):
    loads = {}
    for node in range(size**axes):
        for hop in dimension_order(size, axes, node, target(node)):
            loads[hop] = loads.get(hop, 0) + 1
    return loads


def heaviest(weights):
    """The largest weight of a permutation of weights[row][column]."""
    graph = networkx.Graph()
    for row, column in itertools.product(range(len(weights)), repeat=2):
        graph.add_edge(("row", row), ("column", column), weight=weights[row][column])
    matching = networkx.max_weight_matching(graph)
    return sum(graph.edges[pair]["weight"] for pair in matching)


class Load(unittest.TestCase):
    def test_the_8_ary_2_cube_has_the_known_shares(self):
        for algorithm, traffic, share in (
            ("valiant", "complement", 0.5), ("valiant", "tornado", 0.5),
            ("valiant", "uniform", 0.5), ("valiant", "transpose", 0.5),
            ("romm", "uniform", 1), ("romm", "complement", 0.4),
            ("rlb", "uniform", 0.762), ("rlb", "complement", 0.421), ("rlb", "tornado", 0.533),
            ("dor-split", "uniform", 1), ("dor", "tornado", 1 / 3), ("dor", "neighbour", 1),
        ):
            with self.subTest(algorithm=algorithm, traffic=traffic):
                found = load(SQUARE, algorithm, traffic)
                self.assertAlmostEqual(found["normalised"], share, delta=5e-4)
                self.assertEqual(found["capacity"], 1)
                self.assertAlmostEqual(found["throughput"], 1 / found["max_channel_load"])
                self.assertEqual((found["algorithm"], found["traffic"]), (algorithm, traffic))

    def test_loads_of_dimension_order_equal_those_computed_here(self):
        size = 5
        for traffic, target in (
            ("transpose", lambda node: node // 5 + 5 * (node % 5)),
            ("complement", lambda node: 24 - node),
            ("tornado", lambda node: node - node % 5 + (node + 2) % 5),
            ("neighbour", lambda node: node - node % 5 + (node % 5 + 1) % 5),
        ):
            with self.subTest(traffic=traffic):
                found = load("torus:5x5", "dor", traffic, "--channels")
                wanted = channel_loads(size, 2, target)
                got = {(int(one["from"]), one["port"]): one["load"] for one in found["channels"]}
                self.assertEqual(len(got), 100)
                for channel, amount in got.items():
                    self.assertAlmostEqual(amount, wanted.get(channel, 0), places=9)
                moving = sum(target(node) != node for node in range(25))
                self.assertAlmostEqual(found["mean_path"], sum(wanted.values()) / moving)
                self.assertAlmostEqual(found["max_channel_load"], max(wanted.values()))

    def test_a_traffic_file_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "demands")
            with open(path, "w") as file:
                file.write("0 2 3 # two hops up\n1, 2, 0.5\r\n0 1\n")
            found = load("torus:5", "dor", path)
        self.assertAlmostEqual(found["max_channel_load"], 4)
        self.assertAlmostEqual(found["throughput"], 0.25)
        self.assertAlmostEqual(found["mean_path"], (6 + 0.5 + 1) / 4.5)
        self.assertEqual(found["traffic"], path)

    def test_capacity_without_a_formula_has_two_bounds(self):
        found = load("novacube:4x4", "pora", "uniform", "--gap", "0.0005")
        self.assertLessEqual(found["capacity_lower"], 3.2 + 1e-9)
        self.assertGreaterEqual(found["capacity_upper"], 3.2 - 1e-9)
        self.assertLess(found["capacity_upper"] / found["capacity_lower"], 1.0006)
        for end, other in (("lower", "upper"), ("upper", "lower")):
            self.assertAlmostEqual(found["normalised_" + end],
                                   found["throughput"] / found["capacity_" + other])
        for spec, rate in (("torus:5x3", 5 / 3), ("torus:2x2x2", 2), ("torus:6x4", 8 / 6)):
            found = load(spec, "dor-split")
            self.assertAlmostEqual(found["capacity"], rate)
            self.assertAlmostEqual(found["normalised"], 1)

    def test_text_and_json_agree(self):
        text = weft("route", "load", SQUARE, "--algorithm", "dor", "--traffic", "tornado").out
        self.assertIn("busiest channel       load 3\n", text)
        self.assertIn("throughput            0.333333 of a link's rate", text)
        self.assertRegex(text, r"\n +3 +64 +25\.00 %\n +0 +192 +75\.00 %\n")
        self.assertIn("251 more, 59 of them as busy as the first", text)
        listed = weft("route", "load", SQUARE, "--algorithm", "dor", "--traffic", "tornado",
                      "--channels").out
        self.assertEqual(listed.count(" port "), 256)
        tree = weft("route", "load", "-", "--algorithm", "ecmp", "--gap", "1e-6",
                    stdin="a c\na d\nb c\nb d\n").out
        self.assertIn("capacity              2, under uniform traffic", tree)
        self.assertIn("normalised            1 of the capacity", tree)
        self.assertNotIn("more", listed)


class Refusals(unittest.TestCase):
    def refused(self, code, reason, *words, stdin=None):
        run = weft("route", *words, stdin=stdin)
        self.assertEqual((run.code, run.out), (code, ""), words)
        self.assertRegex(run.err, r"^weft: [^\n]+\n\Z")
        self.assertRegex(run.err, reason)

    def test_combinations_that_do_not_fit_are_refused(self):
        for command in ("load", "worst"):
            self.refused(2, "^weft: jellyfish:n=16,degree=3,seed=1: dor needs a torus", command,
                         "jellyfish:n=16,degree=3,seed=1", "--algorithm", "dor")
            self.refused(2, "^weft: torus:1: .*two nodes", command, "torus:1", "--algorithm", "dor")
            self.refused(2, "expected one of dor", command, SQUARE, "--algorithm", "nonsense")
            self.refused(2, "--algorithm NAME is missing", command, SQUARE)
            self.refused(2, "--gap 0", command, SQUARE, "--algorithm", "dor", "--gap", "0")
        self.refused(2, "^weft: torus:4x8: .*axis 0 has size 4", "load", "torus:4x8", "--algorithm", "dor",
                     "--traffic", "transpose")
        self.refused(2, "coordinates", "load", "jellyfish:n=16,degree=3,seed=1", "--algorithm",
                     "ecmp", "--traffic", "tornado")
        self.refused(2, "^weft: torus:4x4: .*oblivious", "worst", "torus:4x4", "--algorithm", "minimal-adaptive")

    def test_errors_in_a_traffic_file_name_their_line(self):
        for text, reason in (
            ("0 1\n0 99\n", "^weft: standard input: line 2: there is no server '99'"),
            ("0 1 -1\n", "line 1: the amount '-1'"),
            ("0 1\n\n0 1 nan\n", "line 3: the amount 'nan'"),
            ("0 1 1e999\n", "line 1: the amount '1e999'"),
            ("0\n", "line 1: expected 'FROM TO'"),
            ("", "^weft: standard input: no server sends anything"),
            ("3 3 2\n", "^weft: standard input: all traffic stays within its node"),
        ):
            self.refused(2, reason, "load", "torus:4x4", "--algorithm", "dor", "--traffic", "-",
                         stdin=text)
        self.refused(2, r"No such file.*not the name of a pattern \(did you mean 'tornado'\?\)", "load", "torus:4x4",
                     "--algorithm", "dor", "--traffic", "tornadoo")

    def test_networks_in_parts_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            network = os.path.join(folder, "two.edgelist")
            with open(network, "w") as file:
                file.write("a b\nc d\n")
            for algorithm in ("ecmp", "k-shortest", "link-state"):
                self.refused(1, "no path from . to .", "load", network, "--algorithm", algorithm)
                self.refused(1, "no path from . to .", "worst", network, "--algorithm", algorithm)


class Worst(unittest.TestCase):
    def test_the_8_ary_2_cube_has_the_known_worst_cases(self):
        for algorithm, share in (("valiant", 0.5), ("romm", 0.2083), ("rlb", 0.3128),
                                 ("dor", 0.25), ("dor-split", 0.2857)):
            with self.subTest(algorithm=algorithm):
                found = worst(SQUARE, algorithm)
                self.assertAlmostEqual(found["normalised"], share, delta=5e-5)
                self.assertAlmostEqual(found["max_channel_load_upper"], found["max_channel_load"],
                                       places=9)
                self.assertEqual(found["channel_classes"], 4)

    def test_the_printed_permutation_has_the_printed_load(self):
        for spec, algorithm in ((SQUARE, "romm"), ("novacube:6x6", "pora"),
                                ("jellyfish:servers=30,switches=15,ports=6,seed=2", "ecmp")):
            with self.subTest(spec=spec):
                found = worst(spec, algorithm)
                pairs = [(one["from"], one["to"]) for one in found["permutation"]]
                self.assertEqual(sorted(one for one, _ in pairs), sorted(to for _, to in pairs))
                self.assertEqual(len(set(one for one, _ in pairs)), len(pairs))
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "worst")
                    with open(path, "w") as file:
                        file.writelines(f"{one} {to}\n" for one, to in pairs)
                    again = load(spec, algorithm, path)
                self.assertAlmostEqual(again["max_channel_load"], found["max_channel_load"])
                self.assertAlmostEqual(again["mean_path"], found["mean_path"])

    def test_the_worst_load_is_the_heaviest_matching_of_a_channel(self):
        nodes, pairs = 6, {}
        spec = "jellyfish:n=6,degree=3,seed=4"
        for one, other in itertools.permutations(range(nodes), 2):
            run = weft("route", "load", spec, "--algorithm", "k-shortest", "--ways", "3",
                       "--traffic", "-", "--channels", "--json", stdin=f"{one} {other}\n")
            for channel in run.json["channels"]:
                pairs[one, other, channel["channel"]] = channel["load"]
        most = 0
        for channel in range(18):
            weights = [[pairs.get((one, other, channel), 0) for other in range(nodes)]
                       for one in range(nodes)]
            most = max(most, heaviest(weights))
        found = worst(spec, "k-shortest", "--ways", "3")
        self.assertAlmostEqual(found["max_channel_load"], most)
        self.assertEqual(found["channel_classes"], 18)

    def test_the_worst_load_of_dimension_order_on_a_cube_equals_that_of_networkx(self):
        size, nodes = 4, 64
        loads = {}
        for one, other in itertools.product(range(nodes), repeat=2):
            for hop in dimension_order(size, 3, one, other):
                loads.setdefault(hop, {})[one, other] = 1
        most = 0
        for port in range(6):
            pairs = loads[0, port]
            graph = networkx.Graph()  # all weights are 1: the largest matching is the heaviest
            graph.add_nodes_from(("from", one) for one, _ in pairs)
            graph.add_edges_from((("from", one), ("to", other)) for one, other in pairs)
            senders = [("from", one) for one, _ in pairs]
            matching = networkx.bipartite.hopcroft_karp_matching(graph, senders)
            most = max(most, len(matching) // 2)
        self.assertAlmostEqual(worst("torus:4x4x4", "dor")["max_channel_load"], most)

    def test_text_shows_the_permutation(self):
        text = weft("route", "worst", SQUARE, "--algorithm", "romm").out
        self.assertIn("busiest channel       load 4.8, at 0 port", text)
        self.assertRegex(text, r"worst permutation     \d+ of 64 nodes send to another")
        self.assertIn("--permutation lists all", text)
        listed = weft("route", "worst", SQUARE, "--algorithm", "romm", "--permutation").out
        self.assertNotIn("--permutation", listed)
        self.assertGreater(len(listed.splitlines()), len(text.splitlines()) + 10)


main()
