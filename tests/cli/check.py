"""weft topo check: compares reports of neighbours with a plan, and finds the smallest repair."""

import csv
import json
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft


def planned(spec):
    """The cables of a topology as (node, port, node, port), from the blueprint."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "blueprint.csv")
        assert weft("topo", "cable", spec, "--no-compare", "--out", path).code == 0
        with open(path, newline="") as file:
            return [(row["from_node"], int(row["from_port"]), row["to_node"], int(row["to_port"]))
                    for row in csv.DictReader(file) if row["kind"] == "link"]


def report(cables):
    return "".join(f"{a},{p},{b},{q}\n" for a, p, b, q in cables)


def check(spec, cables, *words):
    text = cables if isinstance(cables, str) else report(cables)
    return weft("topo", "check", spec, "-", "--json", *words, stdin=text)


def repaired(cables, actions):
    """Carries out the actions on a dictionary from port to cable."""
    ends = {}
    for number, (a, p, b, q) in enumerate(cables):
        for end in ((a, p), (b, q)):
            assert end not in ends, end
            ends[end] = number
    hand = {}
    for number, action in enumerate(actions):
        source = (action["from"]["node"], action["from"]["port"])
        target = "to" in action and (action["to"]["node"], action["to"]["port"])
        if action["action"] == "add":
            assert source not in ends and target not in ends and source != target
            ends[source] = ends[target] = f"new {number}"
        elif action["action"] == "remove":
            assert ends.pop(source) == ends.pop(target)
        elif action["action"] == "unplug":
            hand[source] = ends.pop(source)
        else:
            cable = (hand if action["action"] == "plug" else ends).pop(source)
            assert target not in ends, target
            ends[target] = cable
    assert not hand
    cables = {}
    for end, number in ends.items():
        cables.setdefault(number, set()).add(end)
    return sorted(sorted(pair) for pair in cables.values())


class Right(unittest.TestCase):
    def test_reports_that_match_the_plan_are_right(self):
        for spec in ("torus:3x3x3", "novacube:4x4", "fattree:k=4", "torus:2x1x2",
                     "jellyfish:servers=30,switches=20,ports=6,seed=2"):
            cables = planned(spec)
            random.Random(1).shuffle(cables)
            turned = [(b, q, a, p) for a, p, b, q in cables]
            for text in (cables, turned, cables + turned):
                run = check(spec, text)
                self.assertEqual(run.code, 0, run.out)
                self.assertEqual((run.json["ok"], run.json["right"], run.json["moves"]),
                                 (True, len(cables), 0))
                for key in ("miswired", "missing", "surplus", "contradictions", "repair"):
                    self.assertEqual(run.json[key], [])
                self.assertIn("the wiring matches the plan",
                              weft("topo", "check", spec, "-", stdin=report(text)).out)

    def test_a_plan_from_a_file_may_have_names(self):
        graph = {"directed": False, "multigraph": False, "graph": {},
                 "nodes": [{"id": "left"}, {"id": "mid, dle"}, {"id": "right"}],
                 "links": [{"source": "left", "target": "mid, dle"},
                           {"source": "mid, dle", "target": "right"}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            with open(path, "w") as file:
                json.dump(graph, file)
            seen = 'node,port,neighbour,port\nleft,0,"mid, dle",0\n"mid, dle",1,right,0\n'
            self.assertEqual(check(path, seen).code, 0)
            run = check(path, "left,0,right,0\n")
            self.assertEqual(run.code, 1)
            self.assertEqual(run.json["missing"][0]["a"]["node"], "mid, dle")

    def test_reports_may_be_json(self):
        reports = [{"node": a, "port": p, "neighbour": b, "neighbour_port": q}
                   for a, p, b, q in planned("torus:4x3")]
        self.assertEqual(check("torus:4x3", json.dumps(reports)).code, 0)
        self.assertEqual(check("torus:4x3", json.dumps(reports[1:])).json["moves"], 2)


class Findings(unittest.TestCase):
    def test_a_cable_with_one_wrong_end_is_miswired(self):
        cables = [cable for cable in planned("torus:5") if cable[0] != "4"]
        cables = [("0", 0, "4", 0) if cable[0] == "0" else cable for cable in cables]
        run = check("torus:5", cables)
        self.assertEqual(run.code, 1)
        (finding,) = run.json["miswired"]
        self.assertEqual(finding["cable"], {"node": "0", "port": 0, "label": "+x(0)"})
        self.assertEqual(finding["should_go_to"], {"node": "1", "port": 1, "label": "-x(1)"})
        self.assertEqual(finding["goes_to"], {"node": "4", "port": 0, "label": "+x(0)"})
        self.assertIsNone(finding["swapped_with"])
        self.assertEqual(len(run.json["missing"]), 1)
        self.assertEqual(run.json["moves"], 3)
        text = weft("topo", "check", "torus:5", "-", stdin=report(cables)).out
        self.assertIn("cable 0:+x(0) should go to 1:-x(1), goes to 4:+x(0)", text)
        self.assertIn("missing   4:+x(0) - 0:-x(1)", text)

    def test_a_swap_is_one_finding(self):
        cables = planned("novacube:4x4")
        (a, p, b, q), (c, r, d, s) = cables[3], cables[20]
        cables[3], cables[20] = (a, p, d, s), (c, r, b, q)
        run = check("novacube:4x4", cables)
        self.assertEqual([finding["swapped_with"] for finding in run.json["miswired"]], [1, 0])
        self.assertEqual(run.json["moves"], 2)
        text = weft("topo", "check", "novacube:4x4", "-", stdin=report(cables)).out
        self.assertEqual(text.count("swapped "), 1)
        self.assertNotIn("miswired", text)

    def test_ports_are_compared_on_a_torus_or_on_request(self):
        cables = planned("torus:3x3")
        a, p, b, q = cables[0]
        c, r, d, s = cables[1]
        self.assertEqual(b, c)
        cables[0], cables[1] = (a, p, b, r), (c, q, d, s)
        self.assertEqual(check("torus:3x3", cables).code, 1)
        self.assertEqual(check("torus:3x3", cables, "--ports").json["moves"], 2)
        self.assertEqual(check("torus:3x3", cables, "--no-ports").code, 0)
        spec = "fattree:k=4"
        cables = planned(spec)
        # an aggregation switch swaps the ports of its first two cables
        two = [i for i, cable in enumerate(cables) if cable[2] == cables[0][2]][:2]
        first, second = cables[two[0]], cables[two[1]]
        cables[two[0]] = (*first[:3], second[3])
        cables[two[1]] = (*second[:3], first[3])
        self.assertEqual(check(spec, cables).code, 0)
        self.assertEqual(check(spec, cables, "--ports").json["moves"], 2)

    def test_contradictions_name_both_lines(self):
        cables = planned("torus:4")
        text = report(cables) + "# the other end\n1,1,3,0\n"
        run = check("torus:4", text)
        self.assertEqual(run.code, 1)
        lines = {tuple(sorted(one["line"] for one in pair))
                 for pair in run.json["contradictions"]}
        self.assertEqual(lines, {(1, 6), (4, 6)})
        self.assertIn("contradiction  line ",
                      weft("topo", "check", "torus:4", "-", stdin=text).out)

    def test_the_repair_restores_the_plan(self):
        """Makes random mistakes, carries out the repair, and compares with the plan."""
        for seed in range(40):
            chance = random.Random(seed)
            spec, ports = chance.choice((("torus:4x3", True), ("novacube:4x4", True),
                                         ("jellyfish:servers=20,switches=12,ports=6", False)))
            plan = planned(spec)
            cables = list(plan)
            cost = 0
            for _ in range(chance.randrange(1, 6)):
                if chance.random() < 0.5 and len(cables) > 2:
                    i, j = chance.sample(range(len(cables)), 2)
                    (a, p, b, q), (c, r, d, s) = cables[i], cables[j]
                    cables[i], cables[j] = (a, p, d, s), (c, r, b, q)
                    cost += 2
                else:
                    cables.pop(chance.randrange(len(cables)))
                    cost += 2
            run = check(spec, cables)
            with self.subTest(seed=seed, spec=spec):
                result = repaired(cables, run.json["repair"])
                wanted = sorted(sorted(((a, p), (b, q))) for a, p, b, q in plan)
                if not ports:
                    result = sorted(sorted(end[0] for end in pair) for pair in result)
                    wanted = sorted(sorted(end[0] for end in pair) for pair in wanted)
                self.assertEqual(result, wanted)
                self.assertLessEqual(run.json["moves"], cost)
                self.assertEqual(run.json["moves"], sum(
                    {"add": 2, "unplug": 0}.get(action["action"], 1)
                    for action in run.json["repair"]))


class BadInput(unittest.TestCase):
    def test_bad_reports_are_refused_with_their_line(self):
        for text, reason in (("0,0,1,1\n0,1,9,0\n", "line 2: the plan has no node '9'"),
                             ("0,2,1,1\n", "line 1: there is no port 2: node 0 has 2 ports"),
                             ("0,0,1\n", "line 1: expected the four fields"),
                             ("0,0,1,1\n0,0,2,1\n", "line 2: port +x(0) of node 0 has another neighbour"),
                             ("0,up,1,1\n", "line 1: 'up' is not a port"),
                             ("[{]", "line 1: "), ("\0\n", "line 1: ")):
            run = weft("topo", "check", "torus:4", "-", stdin=text)
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertTrue(run.err.startswith("weft: standard input: " + reason), run.err)
            self.assertEqual(run.err.count("\n"), 1)

    def test_errors_are_one_line(self):
        for code, words in ((2, ["torus:4"]), (2, ["torus:0", "-"]), (2, ["torus:4", "no/such"]),
                            (2, ["torus:4", "/"]), (2, ["no/such", "-"]),
                            (2, ["torus:4", "-", "--ports", "--no-ports"])):
            run = weft("topo", "check", *words, stdin="")
            with self.subTest(words):
                self.assertEqual((run.code, run.out), (code, ""))
                self.assertRegex(run.err, r"^weft: [^\n]+\n$")

    def test_without_reports_all_cables_are_missing(self):
        run = check("torus:4", "")
        self.assertEqual((run.code, run.json["found"], len(run.json["missing"])), (1, 0, 4))
        self.assertEqual(run.json["moves"], 8)


main()
