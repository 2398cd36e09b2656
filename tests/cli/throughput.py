"""weft topo measure --throughput and related options: exact values, certificates that are checked
again here in Python, tampering, invalid input."""

import contextlib
import copy
import json
import math
import os
import re
import sys
import tempfile
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

JELLYFISH = "jellyfish:servers=60,switches=20,ports=8,seed=3"


def measure(*words, stdin=None):
    run = weft("topo", "measure", *words, "--json", stdin=stdin)
    assert run.code == 0, run.err
    return run.json


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as path:
        yield path


def write(path, content):
    with open(path, "w") as file:
        file.write(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def certificate(spec, *words):
    """The flow file of a measurement, read by Python."""
    with folder() as path:
        measure(spec, *words, "--flow", path + "/flow.json")
        with open(path + "/flow.json") as file:
            return json.load(file)


def check(spec, flow, *words):
    """The result of weft for a flow file with this content."""
    with folder() as path:
        return weft("topo", "measure", spec, "--flow", write(path + "/flow.json", flow),
                    "--verify", "--json", *words)


def work_out(flow):
    """Both bounds from a flow file, computed without weft's solver and verifier."""
    loads, shares = {}, []
    for demand in flow["demands"]:
        total = 0
        for path in demand["paths"]:
            at = demand["from"]
            for number in path["links"]:
                ends = flow["links"][number]["ends"]
                away = ends.index(at)
                loads[number, away] = loads.get((number, away), 0) + path["rate"]
                at = ends[1 - away]
            assert at == demand["to"]
            total += path["rate"]
        shares.append(total / demand["amount"])
    graph = networkx.MultiDiGraph()
    for link in flow["links"]:
        (a, b), (there, back) = link["ends"], link["weights"]
        graph.add_edge(a, b, weight=there)
        graph.add_edge(b, a, weight=back)
    far = dict(networkx.all_pairs_dijkstra_path_length(graph))
    taken = sum(d["amount"] * far[d["from"]][d["to"]] for d in flow["demands"])
    return (min(shares) / max(1, max(loads.values())),
            sum(sum(link["weights"]) for link in flow["links"]) / taken)


EXACT = [  # all-to-all, per ordered pair
    ("degree-diameter:10,3,2", 1 / 5),
    ("degree-diameter:50,7,2", 1 / 13),
    ("torus:2x2", 2**-1),
    ("torus:2x2x2", 2**-2),
    ("torus:2x2x2x2x2", 2**-4),
    ("torus:4x4", 8 / 4**3),
    ("torus:6x6", 8 / 6**3),
    ("torus:4x4x4", 8 / 4**4),
    ("torus:8", 8 / 8**2),
    ("novacube:4x4", 1 / 5),
]


class Exact(unittest.TestCase):
    def inside(self, found, value, words):
        self.assertLessEqual(found["throughput_lower"], value * (1 + 1e-12), words)
        self.assertGreaterEqual(found["throughput_upper"], value * (1 - 1e-12), words)
        self.assertLessEqual(found["gap"], 0.001, words)
        self.assertAlmostEqual(
            found["gap"], found["throughput_upper"] / found["throughput_lower"] - 1, 9)
        self.assertGreaterEqual(found["phases"], 1)
        self.assertTrue(found["verified"])

    def test_known_values_are_between_the_bounds(self):
        for spec, value in EXACT:
            words = (spec, "--throughput", "all-to-all", "--gap", 0.001, "--verify")
            self.inside(measure(*words), value, words)
            self.assertAlmostEqual(
                measure(spec, "--bound", "--throughput", "all-to-all")["throughput_upper"], value,
                12)

    def test_a_fattree_carries_every_permutation(self):
        for seed in range(1, 7):
            words = ("fattree:k=4", "--throughput", "permutation", "--gap", 0.001, "--seed", seed,
                     "--verify")
            found = measure(*words)
            self.inside(found, 1, words)
            self.assertEqual(found["server_rate_upper"], 1)
            self.assertAlmostEqual(found["server_rate_lower"], found["throughput_lower"], 12)
            self.assertEqual(found["demand_total"] + found["local_traffic"], 16)

    def test_a_ring_has_the_throughput_computed_by_hand(self):
        # 0 -> 2 uses both directions, 1 -> 2 shares one of them: the two cables of node 2 carry 1 + 1
        with folder() as path:
            file = write(path + "/ring.txt", "0 2\n1 2 1\n")
            found = measure("torus:4", "--throughput", file, "--gap", 0.001, "--verify")
            self.inside(found, 1, file)
            self.assertEqual((found["traffic"], found["traffic_file"]), ("file", file))
            self.assertEqual((found["demands"], found["demand_total"]), (2, 2))

    def test_servers_are_no_faster_than_their_cables(self):
        found = measure("jellyfish:servers=10,switches=10,ports=5", "--throughput", "permutation")
        self.assertGreater(found["throughput_lower"], 1)
        self.assertEqual((found["server_rate_lower"], found["server_rate_upper"]), (1, 1))
        self.assertNotIn("server_rate_lower", measure("torus:3x3", "--throughput", "permutation"))


class Certificate(unittest.TestCase):
    def test_python_computes_the_same_bounds(self):
        for spec, traffic in ((JELLYFISH, "permutation"), ("torus:4x5", "all-to-all"),
                              ("fattree:k=4", "permutation"), ("novacube:4x3", "all-to-all")):
            with folder() as path:
                found = measure(spec, "--throughput", traffic, "--flow", path + "/flow", "--seed",
                                7)
                with open(path + "/flow") as file:
                    lower, upper = work_out(json.load(file))
            self.assertAlmostEqual(found["throughput_lower"] / lower, 1, 9, spec)
            self.assertAlmostEqual(found["throughput_upper"] / upper, 1, 9, spec)

    def test_a_written_file_is_verified(self):
        with folder() as path:
            file = path + "/flow.json"
            words = (JELLYFISH, "--throughput", "permutation", "--seed", 5, "--flow", file)
            solved = measure(*words, "--verify")
            self.assertEqual((solved["flow"], solved["verified"]), (file, True))
            found = measure(JELLYFISH, "--flow", file, "--verify")
            for key in ("throughput_lower", "throughput_upper", "gap", "traffic", "traffic_seed",
                        "routing", "demands", "demand_total", "local_traffic"):
                self.assertEqual(found[key], solved[key], key)
            self.assertTrue(found["verified"])
            self.assertIsNone(found["phases"])
            self.assertLessEqual(found["load_max"], 1 + 1e-9)
            text = weft("topo", "measure", JELLYFISH, "--flow", file, "--verify").out
            self.assertRegex(text, r"\n  verified +both sides, from ")
            with open(file) as flow:
                found = weft("topo", "measure", JELLYFISH, "--flow", "-", "--verify", "--json",
                             stdin=flow.read()).json
            self.assertTrue(found["verified"])

    def test_solving_verifies_without_a_file(self):
        self.assertTrue(measure("torus:3x4", "--throughput", "all-to-all", "--verify")["verified"])
        self.assertFalse(measure("torus:3x4", "--throughput", "all-to-all")["verified"])

    def test_names_of_nodes_are_used(self):
        graph = "graph { amsterdam -- \"berlin, west\" -- chur -- amsterdam }"
        with folder() as path:
            file = write(path + "/names.dot", graph)
            flow = path + "/flow.json"
            measure(file, "--throughput", "all-to-all", "--flow", flow)
            self.assertIn('"ends": ["amsterdam", "berlin, west"]', open(flow).read())
            self.assertTrue(measure(file, "--flow", flow, "--verify")["verified"])

    def test_failures_are_applied_before_the_measurement(self):
        words = ("torus:4x4", "--fail-links", 0.1, "--fail-nodes", 0.1, "--seed", 2)
        with folder() as path:
            file = path + "/flow.json"
            found = measure(*words, "--throughput", "permutation", "--flow", file, "--verify")
            whole = measure("torus:4x4", "--throughput", "permutation", "--seed", 2)
            self.assertNotEqual(found["demands"], whole["demands"])
            self.assertTrue(measure(*words, "--flow", file, "--verify")["verified"])
            run = weft("topo", "measure", "torus:4x4", "--flow", file, "--verify")
            self.assertEqual((run.code, run.out), (1, ""))

    def test_the_same_arguments_give_the_same_file(self):
        words = (JELLYFISH, "--throughput", "permutation", "--seed", 9)
        self.assertEqual(certificate(*words), certificate(*words))
        self.assertNotEqual(certificate(*words), certificate(*words[:-1], 10))


class Tampering(unittest.TestCase):
    """Each change of a flow file is refused in one line that names the place."""

    @classmethod
    def setUpClass(cls):
        cls.flow = certificate(JELLYFISH, "--throughput", "permutation", "--seed", 4)

    def refused(self, change, pattern, spec=JELLYFISH, words=(), code=1):
        flow = copy.deepcopy(self.flow)
        change(flow)
        run = check(spec, flow, *words)
        self.assertEqual((run.code, run.out), (code, ""), pattern)
        self.assertRegex(run.err, r"^weft: [^\n]+\n$")
        self.assertRegex(run.err, r"flow\.json: " + pattern)

    def test_an_unchanged_file_passes(self):
        run = check(JELLYFISH, self.flow)
        self.assertEqual((run.code, run.err), (0, ""))

    def test_a_rate_changed_by_a_percent_is_refused(self):
        for factor in (1.01, 0.99):
            for demand in range(0, len(self.flow["demands"]), 5):
                path = demand % len(self.flow["demands"][demand]["paths"])
                def change(flow):
                    flow["demands"][demand]["paths"][path]["rate"] *= factor
                self.refused(change, r"line \d+: the paths from \d+ to \d+ carry")

    def test_rate_moved_between_paths_overloads_a_link(self):
        # the whole rate of a demand with several paths goes over its longest one
        flow = copy.deepcopy(self.flow)
        for demand in flow["demands"]:
            total = sum(path["rate"] for path in demand["paths"])
            longest = max(demand["paths"], key=lambda path: len(path["links"]))
            demand["paths"] = [{**longest, "rate": total}]
        run = check(JELLYFISH, flow)
        self.assertEqual(run.code, 1)
        self.assertRegex(run.err, r"flow\.json: link \d+ carries [\d.]+ from \d+ to \d+, but its")

    def test_a_path_that_does_not_exist_is_refused(self):
        long = next(i for i, demand in enumerate(self.flow["demands"])
                    if len(demand["paths"][0]["links"]) > 1)
        path = lambda flow: flow["demands"][long]["paths"][0]
        self.refused(lambda flow: path(flow)["links"].reverse(), "line .*not a path")
        self.refused(lambda flow: path(flow)["links"].pop(), "line .*the path ends at")
        self.refused(lambda flow: path(flow)["links"].append(path(flow)["links"][-1]),
                     "line .*the path ends at")
        self.refused(lambda flow: path(flow)["links"].append(10**6), "line .*no link 1000000")
        self.refused(lambda flow: path(flow)["links"].clear(), "line .*the path ends at")

    def test_a_path_to_another_node_is_refused(self):
        def change(flow):
            one, other = flow["demands"][0], flow["demands"][1]
            one["paths"], other["paths"] = other["paths"], one["paths"]
        self.refused(change, "line .*(not a path|the path ends at)")

    def test_changed_weights_are_refused(self):
        link = lambda flow: flow["links"][7]["weights"]
        def heavier(flow):
            link(flow)[0] = link(flow)[0] * 1.01 + 1e-3 * max(map(max, (
                each["weights"] for each in flow["links"])))
        self.refused(heavier, "throughput_upper is .* in the file")
        self.refused(lambda flow: link(flow).__setitem__(1, -0.1), "line .*a weight is negative")
        self.refused(lambda flow: link(flow).__setitem__(1, math.nan), "line .*finite number", code=2)
        self.refused(lambda flow: link(flow).append(1), "line .*weights should be an array of two", code=2)

    def test_changed_demands_are_refused(self):
        self.refused(lambda flow: flow["demands"].pop(3), r"the file has \d+ demands, but demand_count is")
        def fewer(flow):
            flow["demands"].pop(3)
            flow["demand_count"] -= 1
        self.refused(fewer, "line .*demand 4 of the traffic is")
        def larger(flow):
            flow["demands"][2]["amount"] *= 2
            for path in flow["demands"][2]["paths"]:
                path["rate"] *= 2
        self.refused(larger, "line .*demand 3 of the traffic is")
        self.refused(lambda flow: flow.update(seed=5), "line .*demand .* of the traffic")
        self.refused(lambda flow: flow.update(traffic="all-to-all"), "line .*demand .* of the traffic")

    def test_changed_claims_are_refused(self):
        for key in ("throughput_lower", "throughput_upper"):
            for factor in (1.001, 0.999):
                self.refused(lambda flow: flow.update({key: flow[key] * factor}),
                             "(line|throughput_upper is)")
            self.refused(lambda flow: flow.update({key: math.nan}), "line .*finite number", code=2)
            self.refused(lambda flow: flow.pop(key), f"line 1: .*has no \"{key}\"", code=2)

    def test_a_file_for_another_topology_is_refused(self):
        self.refused(lambda flow: None, "(line|it is for)", JELLYFISH.replace("seed=3", "seed=4"))
        self.refused(lambda flow: None, "(line|it is for)", "torus:4x4", code=2)
        self.refused(lambda flow: flow["links"].pop(), "the file is for 20 nodes and")
        def swapped(flow):
            flow["links"][0]["ends"].reverse()
        self.refused(swapped, "line .*link 0 of the topology joins")

    def test_a_truncated_file_is_refused(self):
        text = json.dumps(self.flow, indent=1)
        for size in (0, 1, len(text) // 3, len(text) // 2, len(text) - 2):
            run = check(JELLYFISH, text[:size])
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertRegex(run.err, r"^weft: [^\n]*flow\.json: line \d+: [^\n]+\n$")

    def test_a_file_for_another_traffic_is_refused(self):
        self.refused(lambda flow: None, "line .*demand .* of the traffic",
                     words=("--against", "permutation", "--seed", 5))
        run = check(JELLYFISH, self.flow, "--against", "permutation", "--seed", 4)
        self.assertEqual(run.code, 0)


class Files(unittest.TestCase):
    def test_a_certificate_is_compared_with_a_traffic_file_on_request(self):
        with folder() as path:
            traffic = write(path + "/traffic.txt", "0 5 2\n3 1\n7 2 0.5\n")
            other = write(path + "/other.txt", "0 5 2\n3 1\n7 2 0.6\n")
            flow = path + "/flow.json"
            measure("torus:3x3", "--throughput", traffic, "--flow", flow)
            words = ("torus:3x3", "--flow", flow, "--verify")
            self.assertTrue(measure(*words)["verified"])
            self.assertTrue(measure(*words, "--against", traffic)["verified"])
            run = weft("topo", "measure", *words, "--against", other)
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertIn("demand 3 of the traffic is another one: 0.6 from 7 to 2", run.err)
            # a demand that is missing in the flow file is noticed without --against, too
            with open(flow) as file:
                content = json.load(file)
            content["demands"].pop()
            self.assertEqual(check("torus:3x3", content).code, 1)

    def test_bad_traffic_is_refused_with_its_line(self):
        for content, pattern in (
            ("0 1\n0 99\n", "line 2: .*99"),
            ("0 1 -1\n", "line 1: .*"),
            ("0 1\n\n2 3 nan\n", "line 3: .*"),
            ("0 1 inf\n", "line 1: .*"),
            ("0 1 0x10\n", "line 1: .*"),
            ("0\n", "line 1: .*"),
            ("# nothing\n", "no"),
        ):
            with folder() as path:
                file = write(path + "/traffic.txt", content)
                run = weft("topo", "measure", "torus:3x3", "--throughput", file)
                self.assertEqual((run.code, run.out), (2, ""), content)
                self.assertRegex(run.err, r"^weft: [^\n]+\n$")
                self.assertRegex(run.err, pattern)

    def test_pairs_without_a_path_are_reported(self):
        with folder() as path:
            parts = write(path + "/parts.edgelist", "0 1\n2 3\n")
            traffic = write(path + "/traffic.txt", "0 1\n1 2\n")
            run = weft("topo", "measure", parts, "--throughput", traffic)
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertRegex(run.err, "line 2: no path leads from '1' to '2'")
            run = weft("topo", "measure", parts, "--throughput", "all-to-all")
            self.assertRegex(run.err, "no path leads from '0' to '2'; measure each part")
            run = weft("topo", "measure", "torus:8", "--fail-links", 0.5, "--throughput",
                       "permutation")
            self.assertEqual(run.code, 1)
            self.assertRegex(run.err, "no path leads from '.*' to '.*'; let fewer links or nodes fail")
            run = weft("topo", "measure", parts, "--throughput", "all-to-all", "--bound")
            self.assertEqual(run.code, 1)

    def test_a_flow_that_cannot_be_written_leaves_nothing(self):
        with folder() as path:
            run = weft("topo", "measure", "torus:3", "--throughput", "all-to-all", "--flow",
                       path + "/none/flow.json")
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertEqual(os.listdir(path), [])


class Routing(unittest.TestCase):
    def test_restricted_routing_is_never_better(self):
        for traffic, seed in (("permutation", 1), ("permutation", 2), ("all-to-all", 1)):
            words = (JELLYFISH, "--throughput", traffic, "--seed", seed, "--gap", 0.002)
            best = measure(*words)
            lowers = []
            for ways in (1, 2, 8):
                found = measure(*words, "--routing", "k-shortest", "--ways", ways, "--verify")
                self.assertLessEqual(found["throughput_lower"], best["throughput_upper"])
                self.assertEqual((found["routing"], found["ways"]), ("k-shortest", ways))
                lowers.append(found["throughput_lower"])
            self.assertLess(lowers[0], lowers[-1])
            ecmp = measure(*words, "--routing", "ecmp", "--ways", 8, "--verify")
            self.assertLessEqual(ecmp["throughput_lower"], best["throughput_upper"])
            self.assertTrue(ecmp["verified"])

    def test_one_path_per_pair_has_the_throughput_computed_by_hand(self):
        # each node of a ring of five sends two hops; every channel of one direction is used twice
        with folder() as path:
            file = write(path + "/t", "".join(f"{i} {(i + 2) % 5}\n" for i in range(5)))
            found = measure("torus:5", "--throughput", file, "--routing", "ecmp", "--gap", 0.001)
            self.assertTrue(0.4995 < found["throughput_lower"] <= 0.5 <= found["throughput_upper"])
            # the best: x over the short path and y over the long one, with 2 x = 1 and 3 y = 1
            found = measure("torus:5", "--throughput", file, "--gap", 0.001)
            self.assertLessEqual(found["throughput_lower"], 5 / 6)
            self.assertGreaterEqual(found["throughput_upper"], 5 / 6)

    def test_only_the_chosen_paths_pass(self):
        flow = certificate(JELLYFISH, "--throughput", "permutation", "--seed", 3, "--routing",
                           "k-shortest", "--ways", 2)
        self.assertEqual(check(JELLYFISH, flow).code, 0)
        for routing, ways, pattern in (
            ("k-shortest", 1, "line .*k-shortest routing with 1 ways does not choose this path"),
            ("k-shortest", 3, "throughput_upper is .* in the file|does not choose this path"),
            ("ecmp", 2, "line .*ecmp routing with 2 ways does not choose this path"),
            ("optimal", 0, "throughput_upper is .* in the file"),
            ("k-shortest", 0, "k-shortest routing cannot have 0 ways"),
        ):
            run = check(JELLYFISH, {**flow, "routing": routing, "ways": ways})
            self.assertEqual((run.code, run.out), (2 if ways == 0 and routing != "optimal" else 1, ""))
            self.assertRegex(run.err, pattern)


class Bound(unittest.TestCase):
    def test_the_bound_is_above_the_flow_and_labelled(self):
        for traffic in ("permutation", "all-to-all", "longest-matching"):
            bound = measure(JELLYFISH, "--throughput", traffic, "--bound")
            flow = measure(JELLYFISH, "--throughput", traffic, "--gap", 0.01)
            self.assertGreaterEqual(bound["throughput_upper"], flow["throughput_lower"])
            self.assertEqual(bound["bound"], "path-length")
            for key in ("throughput_lower", "gap", "phases"):
                self.assertIsNone(bound[key], key)
            self.assertIsNone(flow["bound"])
        text = weft("topo", "measure", JELLYFISH, "--bound").out
        self.assertRegex(text, r"throughput +at most [\d.]+ of the server line rate")
        self.assertIn("longest-matching; a bound by path lengths", text)

    def test_the_bound_of_a_permutation_equals_that_of_networkx(self):
        flow = certificate(JELLYFISH, "--throughput", "permutation")
        graph = networkx.Graph(link["ends"] for link in flow["links"])
        far = dict(networkx.all_pairs_shortest_path_length(graph))
        hops = sum(d["amount"] * far[d["from"]][d["to"]] for d in flow["demands"])
        bound = measure(JELLYFISH, "--throughput", "permutation", "--bound", "--threads", 3)
        self.assertAlmostEqual(bound["throughput_upper"], 2 * len(flow["links"]) / hops, 12)

    def test_the_default_traffic_is_the_longest_matching(self):
        # every server of an even torus sends to its antipode, 2 * k / 2 hops away
        found = measure("torus:8x8", "--bound")
        self.assertEqual(found["traffic"], "longest-matching")
        self.assertAlmostEqual(found["throughput_upper"], 4 * 64 / (64 * 8), 12)
        self.assertTrue(found["matching_exact"])

    def test_networks_too_large_for_a_flow_get_advice_to_use_bound(self):
        run = weft("topo", "measure", "torus:90x90", "--throughput", "all-to-all")
        self.assertEqual((run.code, run.out), (2, ""))
        self.assertRegex(run.err, r"^weft: [^\n]*--bound[^\n]*\n$")
        found = measure("torus:90x90", "--throughput", "all-to-all", "--bound")
        self.assertAlmostEqual(found["throughput_upper"], 8 / 90**3, 12)


class FullCapacity(unittest.TestCase):
    SPEC = "jellyfish:servers=48,switches=24,ports=6,seed=2"

    def test_the_result_follows_from_its_steps(self):
        found = measure(self.SPEC, "--full-capacity")
        servers, steps = found["full_capacity_servers"], found["steps"]
        self.assertTrue(found["confirmed"])
        carried = [step for step in steps if step["servers"] == servers]
        self.assertEqual(sorted(step["matrix"] for step in carried), list(range(13)))
        self.assertEqual({step["verdict"] for step in carried}, {"yes"})
        self.assertIn("no", {step["verdict"] for step in steps if step["servers"] == servers + 1})
        for step in steps:
            self.assertEqual(step["confirming"], step["matrix"] >= 3)
            self.assertEqual(step["seed"], 1 + step["matrix"])
            if step["verdict"] == "yes":
                self.assertGreaterEqual(step["lower"], 1 - 1e-6)
            elif step["verdict"] == "no":
                self.assertLess(step["upper"], 1)
        self.assertEqual(found["undecided"],
                         sum(step["verdict"] == "undecided" for step in steps))

    def test_a_step_can_be_measured_alone(self):
        steps = measure(self.SPEC, "--full-capacity", "--seed", 4)["steps"]
        for step in steps[::5]:
            spec = self.SPEC.replace("servers=48", f"servers={step['servers']}")
            if step["verdict"] == "no network":
                continue
            found = measure(spec, "--throughput", "permutation", "--seed", step["seed"])
            self.assertLessEqual(found["throughput_lower"], step["upper"] * (1 + 1e-12))
            self.assertLessEqual(step["lower"], found["throughput_upper"] * (1 + 1e-12))

    def test_full_capacity_is_printed(self):
        out = weft("topo", "measure", self.SPEC, "--full-capacity").out
        self.assertRegex(out, r"\n  full capacity +\d+ servers on 24 switches, confirmed on 13 ")
        self.assertRegex(out, r"\n  +servers +permutation +lower +upper +phases +full rate\n")


class Refusals(unittest.TestCase):
    def test_invalid_requests_give_one_line_and_exit_2(self):
        for words in (
            ("--verify",),
            ("--gap", "0.1"),
            ("--ways", "3"),
            ("--routing", "ecmp"),
            ("--flow", "x"),
            ("--against", "permutation"),
            ("--throughput", "permutation", "--gap", "0"),
            ("--throughput", "permutation", "--gap", "-0.1"),
            ("--throughput", "permutation", "--gap", "1.01"),
            ("--throughput", "permutation", "--gap", "nan"),
            ("--throughput", "permutation", "--gap", ""),
            ("--throughput", "permutation", "--ways", "3"),
            ("--throughput", "permutation", "--flow", "-"),
            ("--throughput", "permutation", "--routing", "optimal", "--ways", "3"),
            ("--throughput", "permutation", "--routing", "dor"),
            ("--throughput", "permutation", "--routing", "ecmp", "--ways", "0"),
            ("--throughput", "permutation", "--against", "permutation"),
            ("--throughput", "permutation", "--bound", "--gap", "0.1"),
            ("--throughput", "permutation", "--bound", "--verify"),
            ("--throughput", "permutation", "--full-capacity"),
            ("--bound", "--full-capacity"),
            ("--full-capacity",),  # of a torus
            ("--full-capacity", "--fail-links", "0.1"),
            ("--throughput",),
        ):
            run = weft("topo", "measure", "torus:4x4", *words)
            self.assertEqual((run.code, run.out), (2, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")
        run = weft("topo", "measure", "jellyfish:n=10,degree=3", "--full-capacity")
        self.assertEqual((run.code, run.out), (2, ""))

    def test_an_unknown_pattern_gets_a_list_of_patterns(self):
        run = weft("topo", "measure", "torus:3", "--throughput", "permutations")
        self.assertEqual((run.code, run.out), (2, ""))
        self.assertRegex(run.err, r"permutations: .* \(did you mean 'permutation'\?\); patterns are permutation, all-to-all")

    def test_a_single_server_is_refused(self):
        for traffic in ("permutation", "all-to-all", "longest-matching"):
            for words in ((), ("--bound",)):
                run = weft("topo", "measure", "torus:1", "--throughput", traffic, *words)
                self.assertEqual((run.code, run.out), (2, ""))
                self.assertRegex(run.err, "^weft: torus:1: .* two ")

    def test_traffic_that_needs_no_link_is_refused(self):
        for words in ((), ("--bound",)):
            run = weft("topo", "measure", "torus:3", "--throughput", "-", *words, stdin="1 1\n")
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertRegex(run.err, "^weft: standard input: all traffic stays within its node")


class Report(unittest.TestCase):
    def test_printed_bounds_are_not_narrower_than_the_proved_ones(self):
        for seed in range(1, 9):
            for words in ((f"jellyfish:n=20,degree=4,seed={seed}", "--throughput", "all-to-all"),
                          (f"jellyfish:n=20,degree=3,seed={seed}", "--throughput", "permutation",
                           "--gap", "0.0005")):
                found = measure(*words)
                out = weft("topo", "measure", *words).out
                lower, upper = re.search(r"throughput +(\S+) to (\S+) of", out).groups()
                self.assertLessEqual(float(lower), found["throughput_lower"] * (1 + 1e-9), words)
                self.assertGreaterEqual(float(upper), found["throughput_upper"] * (1 - 1e-9), words)
                self.assertLess(float(upper) / float(lower) - 1, 2.5 * found["gap"], words)
            words = (f"jellyfish:n=31,degree=4,seed={seed}", "--bound")
            upper = re.search(r"at most (\S+)", weft("topo", "measure", *words).out).group(1)
            self.assertGreaterEqual(float(upper), measure(*words)["throughput_upper"] * (1 - 1e-9))
            words = ("route", "load", f"jellyfish:n=12,degree=3,seed={seed}", "--algorithm", "ecmp")
            found = weft(*words, "--json").json
            out = weft(*words).out
            for name in ("capacity", "normalised"):
                lower, upper = re.search(name + r" +(\S+) to ([^\s,]+)", out).groups()
                self.assertLessEqual(float(lower), found[name + "_lower"] * (1 + 1e-9), words)
                self.assertGreaterEqual(float(upper), found[name + "_upper"] * (1 - 1e-9), words)

    def test_the_line_is_compact(self):
        out = weft("topo", "measure", "fattree:k=4", "--throughput", "permutation").out
        self.assertRegex(out, r"\n  throughput +[\d.]+( to [\d.]+)? of the server line rate\n"
                              r" +\(permutation, seed 1; gap [\d.e-]+ % in \d+ phases?\)\n")

    def test_values_that_were_not_measured_are_null(self):
        found = measure("torus:3x3")
        for key in ("throughput_lower", "throughput_upper", "gap", "phases",
                    "full_capacity_servers"):
            self.assertIsNone(found[key])
            self.assertIn(key, found["not_measured"])
        found = measure("torus:3x3", "--throughput", "all-to-all")
        self.assertNotIn("throughput_lower", found["not_measured"])


main()
