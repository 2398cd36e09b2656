"""weft route deadlock, compared with dependency graphs made here with networkx."""

import csv
import itertools
import os
import sys
import tempfile
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft


def deadlock(spec, algorithm, *words, stdin=None):
    run = weft("route", "deadlock", spec, "--algorithm", algorithm, *words, "--json", stdin=stdin)
    assert run.code in (0, 1), run.err
    assert run.code == (0 if run.json["free"] else 1)
    return run.json


def dependencies(spec, algorithm, *words):
    """The dependency graph that weft writes, as a networkx graph, and the rows of its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "waits.csv")
        found = deadlock(spec, algorithm, *words, "--dependencies", path)
        with open(path, encoding="utf-8") as file:
            rows = [{key: int(value) if value else None for key, value in row.items()}
                    for row in csv.DictReader(file)]
    graph = networkx.DiGraph()
    graph.add_edges_from(
        ((row["channel"], row["lane"]), (row["next_channel"], row["next_lane"])) for row in rows)
    return found, graph, rows


def channels(spec):
    """(node, port) of each channel and where it leads, from the file weft writes."""
    table = {}
    for number, link in enumerate(weft("topo", "export", spec, "--format", "json").json["links"]):
        table[link["source"], link["source_port"]] = (2 * number, link["target"])
        table[link["target"], link["target_port"]] = (2 * number + 1, link["source"])
    return table


class Cube:
    """An independent dimension-order routing on a torus. Half-way round an axis it goes up. It uses
    lane 0 until the packet has passed the end of the ring, or need not pass it; then lane 1."""

    def __init__(self, spec):
        self.sizes = tuple(map(int, spec.split(":")[1].split("x")))
        self.channels = channels(spec)
        self.nodes = range(len(weft("topo", "export", spec, "--format", "json").json["nodes"]))

    def place(self, node):
        out = []
        for size in self.sizes:
            out.append(node % size)
            node //= size
        return out

    def next_hop(self, node, to):
        """(channel, lane, node) of the next hop, or None."""
        here, there = self.place(node), self.place(to)
        for axis, size in enumerate(self.sizes):
            up = (there[axis] - here[axis]) % size
            if not up:
                continue
            down = 2 * up > size
            port = 2 * axis + down
            if (node, port) not in self.channels:  # an axis of size 2 has one cable
                port ^= 1
            channel, after = self.channels[node, port]
            lane = there[axis] < here[axis] if down else there[axis] > here[axis]
            return channel, int(lane), after
        return None

    def graph(self, lanes=True):
        graph = networkx.DiGraph()
        for node, to in itertools.permutations(self.nodes, 2):
            held = None
            while (hop := self.next_hop(node, to)) is not None:
                channel, lane, node = hop
                taken = (channel, lane if lanes else 0)
                graph.add_node(taken)
                if held:
                    graph.add_edge(held, taken)
                held = taken
        return graph


class DimensionOrder(unittest.TestCase):
    SPECS = ("torus:4x4", "torus:3x3", "torus:5", "torus:2x5", "torus:6x3", "torus:3x4x2",
             "torus:5x5x4")

    def test_dependencies_equal_those_of_networkx(self):
        for spec in self.SPECS:
            cube = Cube(spec)
            for words, lanes in ((), True), (("--lanes", "none"), False):
                own = cube.graph(lanes)
                found, graph, _ = dependencies(spec, "dor", *words)
                self.assertEqual(set(graph.edges), set(own.edges), spec)
                self.assertEqual(found["dependencies"], own.number_of_edges())
                self.assertEqual(found["held"], own.number_of_nodes())
                self.assertEqual(found["virtual_channels"], len({lane for _, lane in own}))
                self.assertEqual(found["free"], networkx.is_directed_acyclic_graph(own), spec)

    def test_the_printed_cycle_is_a_shortest_one(self):
        for spec in self.SPECS:
            own = Cube(spec).graph(False)
            found = deadlock(spec, "dor", "--lanes", "none")
            lengths = []
            for part in networkx.strongly_connected_components(own):
                for one in part:
                    ways = networkx.single_source_shortest_path_length(own.subgraph(part), one)
                    lengths += [ways[before] + 1 for before in own.predecessors(one)
                                if before in ways]
            if lengths:
                self.assertEqual(len(found["cycle"]), min(lengths), spec)
            else:
                self.assertIsNone(found["cycle"], spec)

    def test_each_step_of_a_cycle_is_made_by_its_packet(self):
        for spec in ("torus:4x4", "torus:6x3", "torus:5"):
            cube = Cube(spec)
            found = deadlock(spec, "dor", "--lanes", "none")
            self.assertFalse(found["free"])
            self.assertTrue(found["at_once"])
            cycle = found["cycle"]
            for step, after in zip(cycle, cycle[1:] + cycle[:1]):
                self.assertEqual(step["to"], after["from"])
                node, to, taken = int(step["packet"]["from"]), int(step["packet"]["to"]), []
                while (hop := cube.next_hop(node, to)) is not None:
                    taken.append(hop[0])
                    node = hop[2]
                hops = step["packet"]["hops"]
                self.assertEqual(taken[hops - 1:hops + 1], [step["channel"], after["channel"]])

    def test_a_ring_of_three_needs_one_lane_and_longer_rings_two(self):
        # no packet takes more than one hop on a ring of three
        for size in range(2, 9):
            found = deadlock(f"torus:{size}x{size}", "dor", "--lanes", "none")
            self.assertEqual(found["free"], size <= 3, size)
            if size > 3:
                self.assertEqual(len(found["cycle"]), size)
            self.assertTrue(deadlock(f"torus:{size}x{size}", "dor")["free"])

    def test_the_numbering_is_a_proof(self):
        for spec, words in (("torus:5x5x4", ()), ("torus:4x4", ("--lanes", "hops")),
                            ("torus:6x6", ("--lanes", "layers"))):
            found, graph, rows = dependencies(spec, "dor", *words)
            self.assertTrue(found["free"])
            self.assertTrue(networkx.is_directed_acyclic_graph(graph))
            for row in rows:
                self.assertLess(row["next_number"], row["number"])


class Known(unittest.TestCase):
    """Results of theory about algorithms other than dimension order."""

    def test_each_of_two_phases_needs_its_own_lanes(self):
        for algorithm in ("valiant", "romm"):
            found = deadlock("torus:5x4", algorithm)
            self.assertTrue(found["free"])
            self.assertEqual(found["virtual_channels"], 4)
            self.assertFalse(deadlock("torus:5x4", algorithm, "--lanes", 2)["free"])

    def test_packets_to_their_own_source_wait_as_well(self):
        """Valiant's algorithm sends packets to their own source on a round trip. On networks this
        small, no other packet holds a channel while it waits for another in the same lane."""
        for spec in ("torus:2", "torus:3", "torus:2x2", "torus:3x2"):
            cube = Cube(spec)  # half-way round each axis is at most one hop
            for lanes in (1, 2, 3, 4):
                own = networkx.DiGraph()
                for source, middle, to in itertools.product(cube.nodes, repeat=3):
                    node, held = source, None
                    for phase, target in enumerate((middle, to)):
                        while (hop := cube.next_hop(node, target)) is not None:
                            channel, lane, node = hop
                            taken = (channel, (lane + 2 * phase) % lanes)
                            own.add_node(taken)
                            if held:
                                own.add_edge(held, taken)
                            held = taken
                found, graph, _ = dependencies(spec, "valiant", "--lanes", lanes)
                self.assertEqual(set(graph.edges), set(own.edges), (spec, lanes))
                self.assertEqual(found["held"], own.number_of_nodes())
                self.assertEqual(found["free"], networkx.is_directed_acyclic_graph(own),
                                 (spec, lanes))
            self.assertTrue(deadlock(spec, "valiant", "--lanes", "layers")["free"])
        self.assertFalse(deadlock("torus:2", "valiant", "--lanes", 1)["free"])

    def test_up_and_down_a_tree_needs_one_lane(self):
        for spec in ("fattree:k=4", "fattree:k=6"):
            found = deadlock(spec, "link-state", "--lanes", "none")
            self.assertTrue(found["free"])
            self.assertEqual(found["virtual_channels"], 1)
            self.assertTrue(deadlock(spec, "ecmp", "--lanes", "none")["free"])

    def test_a_path_needs_one_lane_and_a_ring_of_five_more(self):
        path = "".join(f"{i} {i + 1}\n" for i in range(6))
        self.assertTrue(deadlock("-", "ecmp", "--lanes", "none", stdin=path)["free"])
        ring = "".join(f"{i} {(i + 1) % 5}\n" for i in range(5))
        found = deadlock("-", "ecmp", "--lanes", "none", stdin=ring)
        self.assertFalse(found["free"])
        self.assertEqual(len(found["cycle"]), 5)
        self.assertEqual(found["layers"], 2)

    def test_random_graphs_need_layers_or_lanes_by_hops(self):
        for seed in range(1, 6):
            spec = f"jellyfish:n=16,degree=4,seed={seed}"
            for algorithm in ("ecmp", "k-shortest", "link-state"):
                self.assertFalse(deadlock(spec, algorithm, "--lanes", "none")["free"])
                self.assertTrue(deadlock(spec, algorithm, "--lanes", "hops")["free"])
                found, graph, _ = dependencies(spec, algorithm, "--lanes", "layers")
                self.assertTrue(found["free"])
                self.assertEqual(found["virtual_channels"], len({lane for _, lane in graph}))
                self.assertTrue(networkx.is_directed_acyclic_graph(graph))
                for (_, lane), (_, after) in graph.edges:
                    self.assertEqual(lane, after)

    def test_an_adaptive_algorithm_has_escape_lanes(self):
        for spec in ("torus:5x5", "novacube:4x4"):
            found, graph, rows = dependencies(spec, "minimal-adaptive")
            self.assertTrue(found["free"] and found["wormhole_free"])
            self.assertFalse(networkx.is_directed_acyclic_graph(graph))
            waits = {}
            for row in rows:
                waits.setdefault(row["wait"], []).append(row)
            for rows in waits.values():
                self.assertTrue(any(row["next_number"] < row["number"] for row in rows))


    def test_an_adaptive_cycle_is_certain_only_if_packets_have_no_other_channel(self):
        words = ("torus:5x5", "minimal-adaptive", "--lanes", "none")
        found, graph, rows = dependencies(*words)
        self.assertFalse(found["free"] or found["wormhole_free"])
        alone = {}
        for row in rows:
            alone.setdefault(row["wait"], []).append(
                (row["channel"], row["next_channel"], row["hops"]))
        alone = {ways[0] for ways in alone.values() if len(ways) == 1}
        cycle = [step["channel"] for step in found["cycle"]]
        steps = [(one, after, 1) for one, after in zip(cycle, cycle[1:] + cycle[:1])]
        self.assertEqual(found["at_once"], all(step in alone for step in steps))
        self.assertTrue(found["at_once"])
        self.assertEqual(len(cycle), 4)


class Pora(unittest.TestCase):
    SIZES = ("4x4", "6x6", "8x8", "5x5", "4x4x4")

    def test_two_lanes_do_not_suffice(self):
        """Follows each packet of the cycle as the paper describes it: a first hop to any
        neighbour, and from there dimension order along the shorter direction."""
        for size in self.SIZES:
            spec = "novacube:" + size
            cube = Cube(spec)
            ends = {channel: (node, after) for (node, _), (channel, after)
                    in cube.channels.items()}
            found = deadlock(spec, "pora")
            self.assertFalse(found["free"])
            self.assertTrue(found["at_once"])
            self.assertEqual(found["virtual_channels"], 2)
            cycle = found["cycle"]
            for step, after in zip(cycle, cycle[1:] + cycle[:1]):
                source, to = int(step["packet"]["from"]), int(step["packet"]["to"])
                node, held_to = ends[step["channel"]]
                self.assertEqual((node, step["packet"]["hops"]), (source, 1))
                neighbours = {end for start, end in ends.values() if start == source}
                self.assertNotIn(to, neighbours)
                here, there = cube.place(held_to), cube.place(to)
                axis = next(i for i, one in enumerate(here) if one != there[i])
                up = (there[axis] - here[axis]) % cube.sizes[axis]
                ways = [port for port, hops in ((2 * axis, up),
                                                (2 * axis + 1, cube.sizes[axis] - up))
                        if 2 * hops <= cube.sizes[axis]]
                self.assertIn(after["channel"],
                              [cube.channels[held_to, port][0] for port in ways])

    def test_other_readings_are_not_free_of_deadlock_either(self):
        for algorithm in ("pora-around", "pora-quadrants"):
            for size in ("4x4", "6x6", "5x5"):
                found = deadlock("novacube:" + size, algorithm)
                self.assertFalse(found["free"])
                self.assertTrue(found["at_once"])

    def test_variants_are_free_of_deadlock(self):
        for size in self.SIZES + ("3x3", "7x4", "2x9", "5x4x3", "12"):
            for algorithm, lanes in (("pora-free", 2), ("pora-raised", 3)):
                found, graph, rows = dependencies("novacube:" + size, algorithm)
                self.assertTrue(found["free"], (size, algorithm))
                self.assertLessEqual(found["virtual_channels"], lanes)
                self.assertTrue(networkx.is_directed_acyclic_graph(graph))
                self.assertTrue(all(row["next_number"] < row["number"] for row in rows))


class Lanes(unittest.TestCase):
    def test_lanes_by_hops_are_as_many_as_the_longest_path_has(self):
        found = deadlock("torus:4x6", "dor", "--lanes", "hops")
        self.assertTrue(found["free"])
        self.assertEqual(found["virtual_channels"], 5)

    def test_layers_are_found_and_reported(self):
        one = deadlock("torus:4x4", "dor", "--lanes", "none")
        layered = deadlock("torus:4x4", "dor", "--lanes", "layers")
        self.assertTrue(layered["free"])
        self.assertEqual(layered["virtual_channels"], one["layers"])
        self.assertEqual(layered["layers"], one["layers"])
        self.assertGreater(one["layers"], 1)
        self.assertIn(f"{one['layers']} would make it free",
                      weft("route", "deadlock", "torus:4x4", "--algorithm", "dor", "--lanes",
                           "none").out)

    def test_a_number_of_lanes_is_a_modulus(self):
        self.assertEqual(deadlock("torus:5x5", "dor", "--lanes", 1)["dependencies"],
                         deadlock("torus:5x5", "dor", "--lanes", "none")["dependencies"])
        self.assertTrue(deadlock("torus:5x5", "dor", "--lanes", 2)["free"])
        self.assertTrue(deadlock("torus:5x5", "dor", "--lanes", 7)["free"])


class Text(unittest.TestCase):
    def test_verdicts_are_printed(self):
        out = weft("route", "deadlock", "torus:4x4", "--algorithm", "dor").out
        self.assertIn("deadlock          free", out)
        self.assertIn("virtual channels  2, of the algorithm", out)
        out = weft("route", "deadlock", "torus:4x4", "--algorithm", "dor", "--lanes", "none").out
        self.assertIn("NOT free: a cycle of 4 channels", out)
        self.assertEqual(out.count("after 1 hop\n"), 4)

    def test_a_network_without_routes_is_free_of_deadlock(self):
        found = deadlock("torus:1", "dor")
        self.assertTrue(found["free"])
        self.assertEqual((found["virtual_channels"], found["states"]), (0, 0))


class Refusals(unittest.TestCase):
    def test_invalid_requests_give_one_line_and_exit_2(self):
        for words in (("torus:4x4",), ("torus:4x4", "--algorithm", "none"),
                      ("torus:4x4", "--algorithm", "dor", "--lanes", "0"),
                      ("torus:4x4", "--algorithm", "dor", "--lanes", "many"),
                      ("torus:4x4", "--algorithm", "dor", "--lanes", "65536"),
                      ("torus:4x4", "--algorithm", "dor", "--dependencies", "-"),
                      ("jellyfish:n=10,degree=3,seed=1", "--algorithm", "dor"),
                      ("--algorithm", "dor")):
            run = weft("route", "deadlock", *words)
            self.assertEqual((run.code, run.out), (2, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")

    def test_an_unwritable_file_is_reported(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "no", "such", "folder.csv")
            run = weft("route", "deadlock", "torus:4", "--algorithm", "dor", "--dependencies", path)
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertIn(path, run.err)


main()
