"""weft route path and list, compared with networkx."""

import collections
import itertools
import random
import sys
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

SEED = 31

JELLYFISH = "jellyfish:n=40,degree=5,seed=2"


def path(*words, stdin=None):
    run = weft("route", "path", *words, "--json", stdin=stdin)
    assert run.code == 0, run.err
    return run.json


def graph_of(spec):
    """The cables of the network with their ports, as `topo show` prints them."""
    graph = networkx.Graph()
    count = weft("topo", "show", spec, "--json").json["nodes"]
    for first in range(0, count, 60):
        names = range(first, min(count, first + 60))
        for node in weft("topo", "show", spec, *names, "--json").json["shown"]:
            for link in node["links"]:
                graph.add_edge(node["name"], link["to"])
                graph[node["name"]][link["to"]][node["name"]] = link["port"]
    return graph


def link_state(graph, at, to, distance):
    """Every path with its probability: at each node all nearer neighbours are equally likely."""
    if at == to:
        return {(to,): 1.0}
    nearer = [n for n in graph[at] if distance[n] < distance[at]]
    return {(at, *rest): share / len(nearer)
            for n in nearer for rest, share in link_state(graph, n, to, distance).items()}


class Ways(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.graph = graph_of(JELLYFISH)
        print(f"# seed {SEED}")
        cls.random = random.Random(SEED)

    def pairs(self, count):
        return [self.random.sample(sorted(self.graph), 2) for _ in range(count)]

    def check(self, found, one):
        """Checks that nodes, ports and hops of a path agree."""
        nodes = one["nodes"]
        self.assertEqual((nodes[0], nodes[-1]), (found["from"], found["to"]))
        self.assertEqual(one["hops"], len(nodes) - 1)
        self.assertEqual(len(one["channels"]), one["hops"])
        self.assertEqual(one["ports"],
                         [self.graph[a][b][a] for a, b in itertools.pairwise(nodes)])

    def test_link_state_chooses_nearer_neighbours_with_equal_probability(self):
        for a, b in self.pairs(12):
            found = path(JELLYFISH, a, b, "--algorithm", "link-state", "--all")
            distance = networkx.single_source_shortest_path_length(self.graph, b)
            expected = link_state(self.graph, a, b, distance)
            ours = {tuple(one["nodes"]): one["probability"] for one in found["paths"]}
            self.assertEqual(set(ours), set(expected))
            for way, share in expected.items():
                self.assertAlmostEqual(ours[way], share, 12)
            self.assertAlmostEqual(found["mean_path"], distance[a], 12)
            for one in found["paths"]:
                self.check(found, one)

    def test_k_shortest_paths_have_the_right_lengths(self):
        for a, b in self.pairs(12):
            for k in (1, 8, 30):
                found = path(JELLYFISH, a, b, "--algorithm", "k-shortest", "--ways", k, "--all")
                every = networkx.shortest_simple_paths(self.graph, a, b)
                expected = [len(way) - 1 for way in itertools.islice(every, k)]
                self.assertEqual(sorted(one["hops"] for one in found["paths"]), expected)
                self.assertEqual(len({tuple(one["nodes"]) for one in found["paths"]}), k)
                self.assertAlmostEqual(found["mean_path"], sum(expected) / k, 12)
                for one in found["paths"]:
                    self.assertEqual(len(set(one["nodes"])), one["hops"] + 1)
                    self.assertAlmostEqual(one["probability"], 1 / k, 12)
                    self.check(found, one)

    def test_ecmp_uses_shortest_paths(self):
        for a, b in self.pairs(12):
            every = {tuple(way) for way in networkx.all_shortest_paths(self.graph, a, b)}
            for ways in (1, 2, 64):
                found = path(JELLYFISH, a, b, "--algorithm", "ecmp", "--ways", ways, "--all")
                ours = {tuple(one["nodes"]) for one in found["paths"]}
                self.assertLessEqual(ours, every)
                self.assertEqual(len(ours), min(ways, len(every)))

    def test_parallel_cables_are_two_paths(self):
        found = path("-", "a", "c", "--algorithm", "ecmp", "--all", stdin="a b\na b\nb c\n")
        self.assertEqual([one["nodes"] for one in found["paths"]], [["a", "b", "c"]] * 2)
        self.assertNotEqual(*(one["channels"] for one in found["paths"]))

    def test_every_torus_algorithm_reaches_the_destination(self):
        for algorithm in weft("route", "list", "--json").json["algorithms"]:
            if "torus" not in algorithm["fits"]:
                continue
            name = algorithm["name"]
            found = path("torus:4x4", 1, 14, "--algorithm", name, "--all")
            self.assertAlmostEqual(sum(one["probability"] for one in found["paths"]), 1, 9, name)
            mean = sum(one["probability"] * one["hops"] for one in found["paths"])
            self.assertAlmostEqual(mean, found["mean_path"], 9, name)
            for one in found["paths"]:
                self.assertEqual((one["nodes"][0], one["nodes"][-1]), ("1", "14"), name)
                self.assertEqual(one["coordinates"],
                                 [[int(n) % 4, int(n) // 4] for n in one["nodes"]])
                for a, b in itertools.pairwise(one["coordinates"]):
                    self.assertEqual(sum((x - y) % 4 in (1, 3) for x, y in zip(a, b)), 1)


class Draws(unittest.TestCase):
    def test_packets_are_counted_and_seeds_repeat(self):
        words = ("torus:5x5", 0, 12, "--algorithm", "romm", "--count", 500)
        found = path(*words)
        self.assertEqual(sum(one["packets"] for one in found["paths"]), 500)
        self.assertEqual(found, path(*words))
        other = path(*words, "--seed", 2)
        self.assertNotEqual(found["paths"], other["paths"])
        self.assertEqual(found["mean_path"], other["mean_path"])
        # five deviations from what they should be
        every = {tuple(one["nodes"]): one["probability"]
                 for one in path("torus:5x5", 0, 12, "--algorithm", "romm", "--all")["paths"]}
        for one in found["paths"]:
            expected = 500 * every[tuple(one["nodes"])]
            self.assertLessEqual((one["packets"] - expected) ** 2, 25 * expected)

    def test_one_packet_takes_one_path(self):
        found = path("torus:8x8", 0, 27, "--algorithm", "dor")
        self.assertEqual(found["count"], 1)
        self.assertEqual([one["nodes"] for one in found["paths"]],
                         [["0", "1", "2", "3", "11", "19", "27"]])
        self.assertEqual(found["paths"][0]["ports"], [0, 0, 0, 2, 2, 2])

    def test_seeds_draw_different_packets(self):
        ways = collections.Counter(
            tuple(path("torus:8x8", 0, 27, "--algorithm", "link-state", "--seed",
                       seed)["paths"][0]["nodes"]) for seed in range(12))
        self.assertGreater(len(ways), 5)


class Text(unittest.TestCase):
    def test_a_single_path_is_printed_hop_by_hop(self):
        run = weft("route", "path", "torus:4x4", 9, 10, "--algorithm", "dor")
        self.assertEqual(run.out.splitlines()[-2:], ["  9   (1,2)  port 0", "  10  (2,2)"])

    def test_several_paths_are_printed_one_per_line(self):
        run = weft("route", "path", "torus:5x5", 0, 6, "--algorithm", "link-state", "--all")
        self.assertIn("2 paths\n", run.out)
        self.assertIn("0.500000     2  0(0,0):0 1(1,0):2 6(1,1)\n", run.out)

    def test_nodes_without_coordinates_are_printed_by_name(self):
        run = weft("route", "path", "-", "left", "far", "--algorithm", "ecmp",
                   stdin="left mid\nmid far\n")
        self.assertEqual(run.out.splitlines()[-3:],
                         ["  left  port 0", "  mid   port 1", "  far"])

    def test_a_path_to_the_source_itself_has_no_hops(self):
        run = weft("route", "path", "torus:4x4", 3, 3, "--algorithm", "link-state")
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("0 hops\n", run.out)

    def test_the_list_has_all_algorithms(self):
        rows = weft("route", "list", "--json").json["algorithms"]
        names = [row["name"] for row in rows]
        text = weft("route", "list").out.splitlines()[1:]
        self.assertEqual([line.split()[0] for line in text], names)
        fits = {row["name"]: row["fits"] for row in rows}
        for name in ("ecmp", "k-shortest", "link-state"):
            self.assertEqual(fits[name], ["torus", "novacube", "any"])
        self.assertEqual(fits["dor"], ["torus", "novacube"])


class Refusals(unittest.TestCase):
    def test_invalid_requests_give_one_line_and_exit_2(self):
        for words, reason in (
            (("torus:4x4", 0, 16, "--algorithm", "dor"), "torus:4x4: there is no node '16'"),
            (("torus:4x4", "x", 1, "--algorithm", "dor"), "there is no node 'x'"),
            (("torus:4x4", 0, 1), "--algorithm NAME is missing"),
            (("torus:4x4", 0, 1, "--algorithm", "none"), "--algorithm none: expected one of"),
            (("torus:4x4", 0), ""),
            (("torus:4x4", 0, 1, "--algorithm", "dor", "--count", 0), "--count"),
            (("torus:4x4", 0, 1, "--algorithm", "dor", "--all", "--count", 2), "--all"),
            (("torus:4x4", 0, 1, "--algorithm", "ecmp", "--ways", 5000), "5000 ways"),
            (("torus:40x40", 0, 615, "--algorithm", "link-state", "--all"), "100000 paths"),
            ((JELLYFISH, 0, 1, "--algorithm", "dor"), "dor"),
            (("torus:16x16x16", 0, 1, "--algorithm", "ecmp"), "more than 1 GiB"),
        ):
            run = weft("route", "path", *words)
            self.assertEqual((run.code, run.out), (2, ""), (words, run.err))
            self.assertRegex(run.err, r"^weft: [^\n]+\n\Z")
            self.assertIn(reason, run.err)

    def test_a_network_in_parts_names_two_nodes(self):
        for algorithm in ("ecmp", "k-shortest", "link-state"):
            run = weft("route", "path", "-", "a", "c", "--algorithm", algorithm,
                       stdin="a b\nc d\n")
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertRegex(run.err, r"^weft: standard input: [a-z-]+: there is no path from a to c\n\Z")


main()
