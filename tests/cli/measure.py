"""weft topo measure and show, compared with networkx."""

import itertools
import json
import math
import random
import sys
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

SEED = 20

NODES_AT_ONCE = 60  # arguments that a command accepts


def measure(*words, stdin=None):
    run = weft("topo", "measure", *words, "--json", stdin=stdin)
    assert run.code == 0, run.err
    return run.json


def graph_of(spec):
    """The graph that `topo show` prints, node by node."""
    graph = networkx.MultiGraph()
    count = weft("topo", "show", spec, "--json").json["nodes"]
    graph.add_nodes_from(map(str, range(count)))
    for first in range(0, count, NODES_AT_ONCE):
        names = range(first, min(count, first + NODES_AT_ONCE))
        for node in weft("topo", "show", spec, *names, "--json").json["shown"]:
            for link in node["links"]:
                graph.nodes[node["name"]]["servers"] = node["servers"]
                # each cable is seen from both ends and added from one
                if (int(node["name"]), link["port"]) < (int(link["to"]), link["to_port"]):
                    graph.add_edge(node["name"], link["to"])
    return graph


def torus(*sizes):
    """The torus of networkx; its nodes are tuples with the first axis last."""
    return networkx.grid_graph(dim=list(sizes), periodic=True)


def histogram(graph):
    pairs = {}
    for _, lengths in networkx.all_pairs_shortest_path_length(graph):
        for hops in lengths.values():
            pairs[hops] = pairs.get(hops, 0) + 1
    pairs.pop(0)
    return {hops: count // 2 for hops, count in pairs.items()}


def server_histogram(graph):
    """Distances of servers on switches: two cables more than between the switches."""
    pairs = {}
    servers = {name: graph.nodes[name]["servers"] for name in graph}
    for one, lengths in networkx.all_pairs_shortest_path_length(graph):
        for other, hops in lengths.items():
            count = servers[one] * (servers[other] - (one == other))
            pairs[hops + 2] = pairs.get(hops + 2, 0) + count
    return {hops: count // 2 for hops, count in pairs.items() if count}


def shown(rows):
    return {row["hops"]: row["pairs"] for row in rows}


TORI = [(3, 4, 5), (5, 5), (2, 3), (16,), (2, 2, 2), (7, 1, 4)]


class Measure(unittest.TestCase):
    def test_tori_agree_with_networkx(self):
        for sizes in TORI:
            spec = "torus:" + "x".join(map(str, sizes))
            graph, found = torus(*(size for size in sizes if size > 1)), measure(spec)
            self.assertEqual(found["nodes"], graph.number_of_nodes(), spec)
            self.assertEqual(found["links"], graph.number_of_edges(), spec)
            self.assertEqual(found["diameter"], networkx.diameter(graph), spec)
            self.assertAlmostEqual(
                found["mean_path"], networkx.average_shortest_path_length(graph), 12, spec)
            self.assertEqual(shown(found["histogram"]), histogram(graph), spec)
            self.assertEqual(found["server_histogram"], found["histogram"], spec)

    def test_servers_on_switches_agree_with_networkx(self):
        for spec in (
            "jellyfish:servers=100,switches=20,ports=10,seed=3",  # all alike
            "jellyfish:servers=70,switches=25,ports=8,seed=4",  # 2 or 3 each
            "jellyfish:servers=50,ports=10x12+15x5,bare=4,seed=5",  # mixed, and none
        ):
            graph, found = graph_of(spec), measure(spec)
            expected = server_histogram(graph)
            self.assertEqual(found["switches"], graph.number_of_nodes())
            self.assertEqual(shown(found["histogram"]), histogram(graph), spec)
            self.assertEqual(shown(found["server_histogram"]), expected, spec)
            self.assertEqual(sum(expected.values()), math.comb(found["servers"], 2))
            self.assertAlmostEqual(
                found["server_mean_path"],
                sum(h * n for h, n in expected.items()) / sum(expected.values()), 12, spec)
            self.assertEqual(found["server_diameter"], max(expected))
            self.assertIn("pairs of servers", weft("topo", "measure", spec).out)

    def test_connectivity_agrees_with_networkx(self):
        for spec in ("torus:3x4", "torus:2x2x2", "torus:4x4x3",
                     "jellyfish:servers=30,ports=12x6+8x3,seed=1",
                     "jellyfish:n=30,degree=5,seed=2"):
            graph, found = networkx.Graph(graph_of(spec)), measure(spec, "--connectivity")
            self.assertEqual(found["edge_connectivity"], networkx.edge_connectivity(graph), spec)
            self.assertEqual(found["vertex_connectivity"], networkx.node_connectivity(graph), spec)

    def test_random_graphs_in_files_agree_with_networkx(self):
        dice = random.Random(SEED)
        print(f"# seed {SEED}")
        parted = 0
        for _ in range(30):
            nodes = dice.randint(2, 40)
            graph = networkx.gnm_random_graph(nodes, dice.randint(0, 3 * nodes), dice)
            file = json.dumps(networkx.node_link_data(graph))
            found = measure("-", "--connectivity", stdin=file)
            degrees = [degree for _, degree in graph.degree]
            together = sum(histogram(graph).values())
            parted += not networkx.is_connected(graph)
            self.assertEqual((found["degree_min"], found["degree_max"]),
                             (min(degrees), max(degrees)))
            self.assertEqual(found["components"], networkx.number_connected_components(graph))
            self.assertEqual(found["connected"], networkx.is_connected(graph))
            self.assertEqual(shown(found["histogram"]), histogram(graph))
            self.assertEqual(found["pairs_apart"], math.comb(nodes, 2) - together)
            self.assertEqual(found["edge_connectivity"], networkx.edge_connectivity(graph))
            self.assertEqual(found["vertex_connectivity"], networkx.node_connectivity(graph))
        self.assertTrue(0 < parted < 30)

    def test_the_bounds_contain_the_bisection(self):
        # every halving of ten nodes
        graph = graph_of("torus:5x2")
        halves = itertools.combinations(graph.nodes, 5)
        best = min(networkx.cut_size(graph, half) for half in halves)
        found = measure("torus:5x2", "--bisection")
        self.assertLessEqual(found["bisection_lower"], best)
        self.assertGreaterEqual(found["bisection_upper"], best)
        self.assertIsInstance(found["bisection_lower_method"], str)
        self.assertIsInstance(found["bisection_upper_method"], str)
        self.assertIsNone(found["bisection_almost_surely"])
        self.assertIn("best cut:", weft("topo", "measure", "torus:5x2", "--bisection").out)
        # the smallest cut of a torus with even sides is two walls across its longest axis
        found = measure("torus:4x4x6", "--bisection")
        self.assertEqual(found["bisection_upper"], 32)

    def test_shortest_paths_are_counted(self):
        graph = graph_of("torus:4x4x3")
        for to in range(0, 48, 5):
            paths = measure("torus:4x4x3", "--paths", f"0,{to}")["shortest_paths"]
            every = list(networkx.all_shortest_paths(graph, "0", str(to)))
            self.assertEqual((paths["from"], paths["to"]), ("0", str(to)))
            self.assertEqual(paths["count"], len(every))
            self.assertEqual(paths["distance"], len(every[0]) - 1)
        # offsets (3,4,5) without a tie: 12! / (3! 4! 5!)
        self.assertEqual(measure("torus:9x9x11", "--paths", "0,444")["shortest_paths"]["count"],
                         27720)

    def test_counts_beyond_64_bits_are_exact(self):
        paths = measure("torus:135x135", "--paths", f"0,{67 * 136}")["shortest_paths"]
        self.assertEqual(paths["count"], 2**128 - 1)
        self.assertTrue(paths["saturated"])
        paths = measure("torus:70x70", "--paths", f"0,{34 * 71}")["shortest_paths"]
        self.assertEqual(paths["count"], math.comb(68, 34))
        self.assertGreater(paths["count"], 2**64)

    def test_threads_do_not_change_the_result(self):
        one = weft("topo", "measure", "torus:11x12x13", "--threads", 1, "--json").out
        for threads in (2, 7):
            self.assertEqual(
                weft("topo", "measure", "torus:11x12x13", "--threads", threads, "--json").out, one)

    def test_means_without_pairs_are_null(self):
        found = measure("torus:1")
        self.assertIsNone(found["mean_path"])
        self.assertIsNone(found["server_mean_path"])
        self.assertEqual(found["histogram"], [])
        self.assertEqual(found["diameter"], 0)
        found = measure("torus:3", "--fail-nodes", 0.9)
        self.assertEqual(found["nodes"], 0)
        self.assertIsNone(found["diameter"])
        self.assertIsNone(found["degree_min"])

    def test_values_that_were_not_measured_are_listed(self):
        found = measure("torus:3x3")
        for key in ("bisection_lower", "bisection_upper", "edge_connectivity",
                    "vertex_connectivity", "shortest_paths"):
            self.assertIsNone(found[key])
            self.assertIn(key, found["not_measured"])
        full = measure("torus:3x3", "--connectivity")
        self.assertNotIn("edge_connectivity", full["not_measured"])
        self.assertRegex(weft("topo", "measure", "torus:3x3").out, r"\nnot measured: .+\n$")


class Text(unittest.TestCase):
    def test_connectivity_is_explained_by_how_many_may_fail(self):
        for spec, lines in (
            ("torus:4x4", ("4: any 3 links may fail and", "4: any 3 nodes may fail and")),
            ("torus:5", ("2: any 1 link may fail and", "2: any 1 node may fail and")),
            ("torus:2", ("1\n", "1\n")),
            ("torus:1", ("0\n", "0\n")),
        ):
            out = weft("topo", "measure", spec, "--connectivity").out
            for label, line in zip(("edge", "vertex"), lines):
                self.assertIn(f"  {label} connectivity".ljust(24) + line, out, spec)
        out = weft("topo", "measure", "-", "--connectivity", stdin="0 1\n1 2\n").out
        self.assertIn("1: the loss of one node can part the network", out)

    def test_without_pairs_there_is_no_table(self):
        out = weft("topo", "measure", "-", stdin="graph { a; b }").out
        self.assertIn("NO: 2 parts", out)
        self.assertNotIn("share", out)

    def test_counts_of_one_are_singular(self):
        out = weft("topo", "measure", "torus:2", "--bisection").out
        self.assertIn("bisection             1 cable\n", out)

    def test_many_distances_are_printed_in_ranges(self):
        out = weft("topo", "measure", "torus:100x100").out
        rows = [line.split() for line in out.splitlines() if line.endswith(" %")]
        self.assertLess(len(rows), 41)
        self.assertEqual(sum(int(row[1]) for row in rows), 10000 * 9999 // 2)
        self.assertEqual(rows[-1][0], "99-100")


class Failures(unittest.TestCase):
    def test_as_many_fail_as_the_share_says(self):
        found = measure("torus:5x6x7", "--fail-links", 0.1, "--seed", 3)
        self.assertEqual((found["links"], found["links_lost"]), (567, 63))
        self.assertEqual(found["nodes"], 210)
        found = measure("torus:5x6x7", "--fail-nodes", 0.2)
        self.assertEqual((found["nodes"], found["nodes_lost"], found["servers"]), (168, 42, 168))

    def test_equal_seeds_repeat_and_others_differ(self):
        words = ("torus:5x6x7", "--fail-links", 0.2)
        self.assertEqual(measure(*words, "--seed", 5), measure(*words, "--seed", 5))
        self.assertNotEqual(measure(*words, "--seed", 5)["histogram"],
                            measure(*words, "--seed", 6)["histogram"])

    def test_a_network_in_parts_is_reported(self):
        found = measure("torus:20", "--fail-links", 0.25)
        self.assertFalse(found["connected"])
        self.assertEqual(found["components"], 5)
        # parts of a ring are paths: a path of k nodes has (k - h) pairs h apart
        together = sum(row["pairs"] for row in found["histogram"])
        self.assertEqual(found["pairs_apart"], 190 - together)
        self.assertLess(sum(row["share"] for row in found["histogram"]), 1)
        mean = sum(row["hops"] * row["pairs"] for row in found["histogram"]) / together
        self.assertAlmostEqual(found["mean_path"], mean, 12)
        self.assertEqual(measure("torus:20", "--fail-links", 0.25,
                                 "--connectivity")["edge_connectivity"], 0)
        self.assertIn("NO: 5 parts", weft("topo", "measure", "torus:20", "--fail-links", 0.25).out)

    def test_failed_nodes_are_removed(self):
        run = weft("topo", "measure", "torus:3x3", "--fail-nodes", 0.99, "--paths", "0,1")
        self.assertEqual(run.code, 2)
        self.assertIn("there is no node '0' left", run.err)

    def test_there_are_no_paths_between_parts(self):
        counts = set()
        for to in range(1, 20, 3):
            paths = measure("torus:20", "--fail-links", 0.25, "--paths", f"0,{to}")[
                "shortest_paths"]
            counts.add((paths["distance"] is None, paths["count"]))
        self.assertEqual(counts, {(True, 0), (False, 1)})


class Show(unittest.TestCase):
    def test_a_torus_is_shown_with_its_coordinates_and_cables(self):
        sizes = (3, 4, 5)
        found = weft("topo", "show", "torus:3x4x5", *range(60), "--json").json
        self.assertEqual(found["axes"], [3, 4, 5])
        self.assertEqual(found["degree_range"], [6, 6])
        places = {tuple(node["coordinate"]): node for node in found["shown"]}
        self.assertEqual(set(places), set(itertools.product(*map(range, sizes))))
        for place, node in places.items():
            for link in node["links"]:
                axis, down = divmod(link["port"], 2)
                there = list(place)
                there[axis] = (there[axis] + (-1 if down else 1)) % sizes[axis]
                self.assertEqual(link["to"], places[tuple(there)]["name"])
                self.assertEqual(link["to_port"], link["port"] ^ 1)

    def test_the_text_names_neighbours_and_ports(self):
        out = weft("topo", "show", "torus:3x4x5", 0).out
        self.assertIn("node 0 at (0,0,0)\n", out)
        self.assertIn("port 4    -> 12:5\n", out)


class Refusals(unittest.TestCase):
    def test_a_share_of_one_is_refused_before_the_network_is_read(self):
        run = weft("topo", "measure", "no-such-file", "--fail-nodes", "1")
        self.assertEqual(run.err, "weft: --fail-nodes 1: expected a share of the nodes, at least 0 and "
                                  "below 1; 0.05 is 5 %\n")

    def test_invalid_requests_give_one_line_and_exit_2(self):
        for words in (
            ("measure", "torus:0"),
            ("measure", "torus:3", "--fail-links", "1.5"),
            ("measure", "torus:3", "--fail-nodes", "-0.1"),
            ("measure", "torus:3", "--fail-nodes", "nan"),
            ("measure", "torus:3", "--fail-nodes", "1"),
            ("measure", "torus:3", "--fail-nodes", "2"),
            ("measure", "torus:3", "--fail-links", "1"),
            ("measure", "torus:3", "--threads", "0"),
            ("measure", "torus:3", "--paths", "0"),
            ("measure", "torus:3", "--paths", "0,3"),
            ("measure", "torus:3", "--paths", "x,0"),
            ("measure", "torus:3", "--seed", "x"),
            ("show", "torus:3", "3"),
            ("show",),
        ):
            run = weft("topo", *words)
            self.assertEqual(run.code, 2, words)
            self.assertEqual(run.out, "", words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")


main()
