"""Compares the generators with networkx: with its graphs of the same kind, and with what it
measures on ours. weft writes the links as node-link JSON."""

import re
import sys
import unittest
from pathlib import Path

import networkx as nx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

MANUAL = Path(__file__).resolve().parents[2] / "man" / "weft-topology.7"


def exported(spec):
    """The graph that weft builds, parallel cables kept."""
    run = weft("topo", "export", spec, "--format", "json")
    assert run.code == 0, run.err
    graph = nx.MultiGraph()
    graph.add_nodes_from((node["id"], node) for node in run.json["nodes"])
    graph.add_edges_from(
        (link["source"], link["target"], {"ports": (link["source_port"], link["target_port"])})
        for link in run.json["links"]
    )
    return graph


def simple(spec):
    """The same, which must have no parallel cables."""
    graph = exported(spec)
    plain = nx.Graph(graph)
    assert plain.number_of_edges() == graph.number_of_edges(), spec
    return plain


class Generators(unittest.TestCase):
    def same(self, spec, expected):
        self.assertTrue(nx.is_isomorphic(simple(spec), expected), spec)

    def same_labels(self, spec, expected):
        """Equal, not only isomorphic: node for node."""
        ours = simple(spec)
        self.assertEqual(set(ours.nodes), set(expected.nodes), spec)
        self.assertEqual(set(map(frozenset, ours.edges)), set(map(frozenset, expected.edges)), spec)

    def test_tori_are_periodic_grids(self):
        for words in ("1", "2", "7", "1x5", "2x2", "3x3", "4x3", "2x5", "2x3x4", "3x3x3", "1x1x4"):
            sizes = list(map(int, words.split("x")))
            grid = nx.Graph(nx.grid_graph(sizes[::-1], periodic=True))
            grid.remove_edges_from(list(nx.selfloop_edges(grid)))

            def number(at):
                at = at if isinstance(at, tuple) else (at,)
                value = 0
                for size, coordinate in reversed(list(zip(sizes, at))):
                    value = value * size + coordinate
                return value

            self.same_labels("torus:" + words, nx.relabel_nodes(grid, number))

    def test_tori_of_twos_are_hypercubes(self):
        for n in range(1, 6):
            self.same("torus:" + "x".join(["2"] * n), nx.hypercube_graph(n))

    def test_rings_with_jumps_are_circulant(self):
        for k in (4, 6, 8, 10):
            self.same_labels(f"novacube:{k}", nx.circulant_graph(k, [1, k // 2]))

    def test_novacubes_are_tori_with_antipodes_joined(self):
        for k, n in ((4, 2), (6, 2), (4, 3), (2, 3), (5, 2), (3, 3), (7, 2)):
            torus = simple("torus:" + "x".join([str(k)] * n))
            far = dict(nx.all_pairs_shortest_path_length(torus))
            nova = exported("novacube:" + "x".join([str(k)] * n))
            jumps = [(a, b) for a, b, ports in nova.edges(data="ports") if ports == (2 * n, 2 * n)]
            self.assertEqual(nova.number_of_edges(), torus.number_of_edges() + len(jumps))
            self.assertEqual(len(jumps), (k - k % 2) ** n // 2)
            self.assertEqual(len({node for pair in jumps for node in pair}), 2 * len(jumps))
            for a, b in jumps:
                self.assertEqual(far[a][b], n * (k // 2))

    def test_the_4_ary_novacube_is_the_folded_cube(self):
        for n in (1, 2):
            folded = nx.hypercube_graph(2 * n)
            folded.add_edges_from((at, tuple(1 - bit for bit in at)) for at in list(folded.nodes))
            self.same("novacube:" + "x".join(["4"] * n), folded)
        self.assertTrue(nx.is_strongly_regular(simple("novacube:4x4")))  # the Clebsch graph

    def test_the_graphs_of_petersen_and_of_hoffman_and_singleton_are_built(self):
        self.same("degree-diameter:10,3,2", nx.petersen_graph())
        graph = simple("degree-diameter:50,7,2")
        # 50 nodes, degree 7, diameter 2: there is one such graph
        for one in (graph, nx.hoffman_singleton_graph()):
            self.assertEqual(len(one), 50)
            self.assertEqual({degree for _, degree in one.degree}, {7})
            self.assertEqual(nx.diameter(one), 2)

    def test_complete_graphs_and_cycles_equal_those_of_networkx(self):
        self.same("degree-diameter:12,11,1", nx.complete_graph(12))
        self.same("degree-diameter:13,2,6", nx.cycle_graph(13))

    def test_the_manual_lists_all_graphs(self):
        listed = set(re.findall(r"^(\d+,\d+,\d+)\t", MANUAL.read_text(), re.M))
        offered = set()
        for degree in range(2, 41):
            run = weft("topo", "build", f"degree-diameter:1,{degree},99")
            self.assertEqual(run.code, 2)
            offered |= set(re.findall(r" (\d+,\d+,\d+)", run.err))
        self.assertEqual(listed, offered)
        self.assertGreaterEqual(len(listed), 31)

    def test_listed_graphs_have_their_degree_and_diameter(self):
        for words in re.findall(r"^(\d+,\d+,\d+)\t", MANUAL.read_text(), re.M):
            nodes, degree, diameter = map(int, words.split(","))
            if nodes > 200:
                continue  # the unit test measures all
            graph = simple("degree-diameter:" + words)
            self.assertEqual(len(graph), nodes)
            self.assertEqual(max(dict(graph.degree).values()), degree)
            self.assertEqual(nx.diameter(graph), diameter)

    def test_fat_trees_equal_their_definition(self):
        for k in (2, 4, 6):
            graph = simple(f"fattree:k={k}")
            half = k // 2
            expected = nx.Graph()
            for pod in range(k):
                for j in range(half):
                    for i in range(half):
                        expected.add_edge(("edge", pod, i), ("aggregation", pod, j))
                    for up in range(half):
                        expected.add_edge(("aggregation", pod, j), ("core", j, up))
            self.same(f"fattree:k={k}", expected)
            self.assertEqual(sum(servers for _, servers in graph.nodes(data="servers")), k**3 // 4)

    def test_small_worlds_are_regular_and_contain_their_lattice(self):
        for spec, lattice in (
            ("swdc-ring:484", nx.cycle_graph(484)),
            ("swdc-torus2d:22x22", simple("torus:22x22")),
        ):
            graph = simple(spec)
            self.assertTrue(nx.is_connected(graph))
            self.assertEqual({degree for _, degree in graph.degree}, {6})
            self.assertTrue(all(graph.has_edge(*edge) for edge in lattice.edges), spec)

    def test_the_hex_lattice_is_layers_of_a_honeycomb(self):
        for a, b, c in ((10, 15, 3), (4, 2, 3), (8, 5, 4)):
            graph = exported(f"swdc-hex3d:{a}x{b}x{c}")
            self.assertEqual(len(graph), a * b * c)
            self.assertEqual({degree for _, degree in graph.degree}, {6})
            lattice = nx.Graph()
            lattice.add_edges_from(
                (u, v) for u, v, ports in graph.edges(data="ports") if min(ports) < 5
            )
            # a honeycomb torus: cells (i, j) of two nodes, 2i and 2i + 1 in row j, each first node
            # beside the second of its own cell, of the cell before in i and of that before in j
            expected = nx.Graph()
            for node in range(a * b * c):
                x, j, layer = node % a, node // a % b, node // (a * b)
                expected.add_edge(node, x + j * a + (layer + 1) % c * a * b)
                if x % 2 == 0:
                    for row, second in ((j, x + 1), (j, (x - 1) % a), ((j - 1) % b, x + 1)):
                        expected.add_edge(node, second + row * a + layer * a * b)
            self.assertEqual(
                set(map(frozenset, lattice.edges)), set(map(frozenset, expected.edges))
            )

    def test_the_same_seed_gives_the_same_network_and_another_seed_another(self):
        for spec in ("swdc-ring:99", "swdc-torus2d:9x11", "swdc-hex3d:6x5x4"):
            one = weft("topo", "export", spec, "--format", "edgelist")
            again = weft("topo", "export", spec + ",seed=1", "--format", "edgelist")
            other = weft("topo", "export", spec + ",seed=2", "--format", "edgelist")
            self.assertEqual(one.out, again.out)
            self.assertNotEqual(one.out, other.out)

    def test_impossible_parameters_are_refused_in_one_line(self):
        for spec in """
            torus:0 torus:1000000x1000000 torus:3,seed=1 novacube:x fattree:k=3
            fattree:k=1000000000000 swdc-ring:6 swdc-hex3d:5x5x5 swdc-torus2d:1000000x1000000
            degree-diameter:51,7,2 degree-diameter:1000000000000,3,2
        """.split():
            run = weft("topo", "build", spec)
            self.assertEqual((run.code, run.out), (2, ""), spec)
            self.assertRegex(run.err, rf"^weft: {re.escape(spec)}: [^\n]+\n$")

    def test_sizes_beyond_64_bits_are_refused_as_too_large(self):
        for words in ("torus:99999999999999999999", "swdc-ring:99999999999999999999"):
            self.assertIn("nodes that fit", weft("topo", "show", words).err)


main()
