"""weft topo grow and weft topo diff: carries out every printed plan on a networkx graph, independent
of the code that made it."""

import json
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

import networkx

JELLYFISH = "jellyfish:servers=80,switches=20,ports=12,seed=3"


class Network:
    """A network: its cables by their ports."""

    def __init__(self, word):
        built = weft("topo", "build", word).json
        self.cables = {}
        self.counted = set()
        self.site = {node["id"]: node for node in built["nodes"]}
        for link in built.get("links") or built.get("edges"):
            self.plug((link["source"], link["source_port"]), (link["target"], link["target_port"]))

    def plug(self, a, b):
        assert a not in self.cables and b not in self.cables and a[0] != b[0], (a, b)
        self.cables[a] = b
        self.cables[b] = a
        self.counted |= {a[0], b[0]}

    def unplug(self, a, b):
        assert self.cables.pop(a) == b and self.cables.pop(b) == a

    def graph(self):
        graph = networkx.MultiGraph()
        graph.add_nodes_from(self.counted)
        graph.add_edges_from((a[0], b[0]) for a, b in self.cables.items() if a < b)
        return graph

    def follow(self, plan, leaving=()):
        """Carries out a plan. Returns the steps after which the network is in pieces."""
        apart = set()
        for at, action in enumerate(plan["steps"]):
            a, b = (action["a"], action["a_port"]), (action["b"], action["b_port"])
            getattr(self, action["action"])(a, b)
            step = action["step"]
            if at + 1 < len(plan["steps"]) and plan["steps"][at + 1]["step"] == step:
                continue
            used = {node for node, _ in self.cables}
            self.counted -= {node for node in leaving if node not in used}
            if not networkx.is_connected(self.graph()):
                apart.add(step)
        assert apart == {action["step"] for action in plan["steps"] if action["apart"]}
        assert len(apart) == plan["apart"]
        return apart


def pairs(network):
    return sorted(tuple(sorted((a[0], b[0]))) for a, b in network.cables.items() if a < b)


class Grow(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def grown(self, word, *options):
        """Grows a network, carries out the plan, and compares the result with the file."""
        before = Network(word)
        nodes = len(before.site)
        file = self.path("grown.json")
        run = weft("topo", "grow", word, *options, "--out", file, "--json")
        self.assertEqual(run.code, 0, run.err)
        plan = run.json
        self.assertEqual(before.follow(plan), set())
        after = Network(file)
        self.assertEqual(before.cables, after.cables)
        self.assertLessEqual(plan["unplug"], plan["ports_added"])
        self.assertEqual(len(after.site), nodes + len(plan["added"]))
        graph = networkx.Graph(after.graph())
        self.assertEqual(graph.number_of_edges(), plan["links"])
        self.assertEqual(after.graph().number_of_edges(), plan["links"])
        return plan, after

    def test_racks_bare_switches_and_other_port_counts_can_be_added(self):
        for options, ports, servers in (
            (["--add", 1], 12, 4),
            (["--add", 7, "--seed", 5], 12, 4),
            (["--add", 3, "--bare"], 12, 0),
            (["--add", 5, "--ports", 24, "--servers", 3], 24, 3),
            (["--add", 5, "--ports", 7], 7, 4),
        ):
            plan, after = self.grown(JELLYFISH, *options)
            count = options[1]
            self.assertEqual(plan["servers"], 80 + count * servers)
            self.assertEqual(plan["ports_added"], count * (ports - servers))
            self.assertLessEqual(plan["ports_free"], ports % 2 or servers % 2)
            for node in plan["added"]:
                self.assertEqual(after.site[node]["ports"], ports)
                self.assertEqual(after.site[node]["servers"], servers)
                self.assertLessEqual(after.graph().degree(node), ports - servers)

    def test_a_grown_network_grows_again(self):
        plan, _ = self.grown(JELLYFISH, "--add", 2)
        os.rename(self.path("grown.json"), self.path("once.json"))
        plan, after = self.grown(self.path("once.json"), "--add", 2, "--bare")
        self.assertEqual(plan["added"], [22, 23])
        self.assertEqual(plan["servers"], 88)

    def test_servers_join_a_direct_network(self):
        plan, after = self.grown("torus:5x5", "--add", 3)
        self.assertEqual(plan["servers"], 28)
        self.assertTrue(all(after.graph().degree(node) == 4 for node in plan["added"]))
        plan, after = self.grown("torus:5x5", "--add", 2, "--ports", 7)
        self.assertLessEqual(plan["ports_free"], 2)

    def test_names_of_new_nodes_continue(self):
        with open(self.path("named.json"), "w") as file:
            graph = networkx.relabel_nodes(networkx.cycle_graph(6), lambda v: f"rack {v}")
            json.dump(networkx.node_link_data(graph), file)
        plan, _ = self.grown(self.path("named.json"), "--add", 2)
        self.assertEqual(plan["added"], ["rack 6", "rack 7"])

    def test_a_tree_takes_several_actions_at_once(self):
        with open(self.path("tree.edges"), "w") as file:
            file.write("0 1\n1 2\n1 3\n3 4\n")
        plan, after = self.grown(self.path("tree.edges"), "--add", 1, "--ports", 2)
        self.assertEqual((plan["together"], plan["step_count"], plan["apart"]), (1, 1, 0))

    def test_text_and_json_agree(self):
        plan = weft("topo", "grow", JELLYFISH, "--add", 2, "--json").json
        lines = weft("topo", "grow", JELLYFISH, "--add", 2).out.splitlines()
        self.assertIn(f"{plan['unplug']} cables to unplug and {plan['plug']} to plug", lines[0])
        self.assertIn("connected after every one", lines[1])
        for line, action in zip(lines[2:], plan["steps"], strict=True):
            self.assertEqual(
                line.split(),
                [str(action["step"]), action["action"], f"{action['a']}:{action['a_port']}", "--",
                 f"{action['b']}:{action['b_port']}"])

    def test_the_same_seed_gives_the_same_plan(self):
        outs = [weft("topo", "grow", JELLYFISH, "--add", 4, "--seed", seed).out
                for seed in (1, 1, 2)]
        self.assertEqual(outs[0], outs[1])
        self.assertNotEqual(outs[0], outs[2])

    def test_impossible_requests_give_one_line_and_no_file(self):
        out = ["--out", self.path("none.json")]
        for code, words in (
            (2, [JELLYFISH]),
            (2, [JELLYFISH, "--add", 0]),
            (2, [JELLYFISH, "--add", "many"]),
            (2, [JELLYFISH, "--add", 10**12]),
            (2, [JELLYFISH, "--add", 1, "--servers", 13]),
            (2, [JELLYFISH, "--add", 1, "--servers", 12]),
            (2, [JELLYFISH, "--add", 1, "--ports", 0]),
            (2, [JELLYFISH, "--add", 1, "--bare", "--servers", 2]),
            (2, ["torus:4x4", "--add", 1, "--servers", 1]),
            (2, ["torus:4x4", "--add", 1, "--bare"]),
            (2, ["torus:2", "--add", 1]),
            (2, [self.path("absent.json"), "--add", 1]),
        ):
            run = weft("topo", "grow", *words, *out)
            self.assertEqual(run.code, code, (words, run.err))
            self.assertEqual(run.out, "")
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")
        self.assertEqual(os.listdir(self.folder.name), [])
        self.assertEqual(weft("topo", "grow", JELLYFISH, "--add", 1, "--out", "-").code, 2)
        run = weft("topo", "grow", JELLYFISH, "--add", 1, "--out", self.folder.name)
        self.assertEqual((run.code, run.out), (1, ""))


class Diff(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def diff(self, one, other):
        run = weft("topo", "diff", one, other, "--json")
        self.assertEqual(run.code, 0, run.err)
        plan = run.json
        network, goal = Network(one), Network(other)
        self.assertEqual(plan["added"], [v for v in goal.site if v not in network.site])
        self.assertEqual(plan["removed"], [v for v in network.site if v not in goal.site])
        network.follow(plan, plan["removed"])
        self.assertEqual(pairs(network), pairs(goal))
        actions = [action["action"] for action in plan["steps"]]
        self.assertEqual(actions.count("unplug"), plan["unplug"])
        self.assertEqual(actions.count("plug"), plan["plug"])
        return plan

    def test_plans_between_different_networks_keep_them_connected(self):
        for one, other in (
            ("torus:4x5", "torus:5x4"),
            ("torus:12", "torus:3x4"),
            ("torus:2x2x3", "torus:12"),
            ("torus:30", "torus:20"),
            ("torus:20", "torus:5x6"),
            ("torus:8x8", "novacube:8x8"),
            ("novacube:5x5", "jellyfish:n=25,degree=4,seed=1"),
            ("fattree:k=4", "jellyfish:servers=16,switches=20,ports=4,seed=1"),
            ("jellyfish:n=24,degree=5,seed=1", "jellyfish:n=24,degree=5,seed=2"),
            ("jellyfish:n=24,degree=3,seed=1", "torus:4x6"),
            ("jellyfish:n=24,degree=6,seed=1", "jellyfish:n=30,degree=4,seed=1"),
        ):
            with self.subTest(one=one, other=other):
                self.assertEqual(self.diff(one, other)["apart"], 0)
                self.assertEqual(self.diff(other, one)["apart"], 0)

    def test_equal_networks_need_no_steps(self):
        plan = self.diff("torus:4x4", "torus:4x4")
        self.assertEqual(plan["steps"], [])
        self.assertIn("the cables are the same", weft("topo", "diff", "torus:4", "torus:4").out)

    def test_diff_finds_the_cables_of_growing(self):
        file = os.path.join(self.folder.name, "next.json")
        weft("topo", "grow", JELLYFISH, "--add", 3, "--out", file)
        plan = self.diff(JELLYFISH, file)
        self.assertEqual(plan["added"], [20, 21, 22])
        self.assertEqual((plan["servers_before"], plan["servers_after"]), (80, 92))
        self.assertEqual(plan["server_moves"],
                         [{"node": v, "before": 0, "after": 4} for v in (20, 21, 22)])
        self.assertEqual(plan["apart"], 0)
        self.assertIn("servers: 80 before, 92 after\n", weft("topo", "diff", JELLYFISH, file).out)

    def test_steps_that_leave_pieces_are_marked(self):
        whole = self.write("whole.edges", "0 1\n1 2\n2 3\n")
        torn = self.write("torn.edges", "0 1\n2 3\n")
        plan = self.diff(whole, torn)
        self.assertEqual((plan["pieces_before"], plan["pieces_after"]), (1, 2))
        self.assertEqual(plan["apart"], 1)
        self.assertEqual(self.diff(torn, whole)["apart"], 0)
        out = weft("topo", "diff", whole, torn).out
        self.assertRegex(out, r"(?m)^ +1  unplug  1:\d -- 2:\d  apart$")
        self.assertIn("second network is in 2 pieces", out)

    def test_a_step_of_several_actions_is_marked(self):
        one = self.write("one.edges", "0 1\n1 2\n")
        other = self.write("other.edges", "0 2\n1 2\n")
        self.assertEqual(self.diff(one, other)["together"], 1)
        lines = weft("topo", "diff", one, other).out.splitlines()
        self.assertRegex(lines[2], r"^ +1  unplug  0:\d -- 1:\d$")
        self.assertRegex(lines[3], r"^ +\+  plug    0:\d -- 2:\d$")

    def test_networks_that_cannot_be_compared_are_refused(self):
        letters = self.write("letters.edges", "x y\ny z\n")
        for one, other in (("torus:4x4", JELLYFISH), ("torus:4", letters)):
            run = weft("topo", "diff", one, other)
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertTrue(re.fullmatch(r"weft: [^\n]+\n", run.err), run.err)


main()
