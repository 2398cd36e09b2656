"""weft paper: the list, the verdicts, the files, and figures compared with independent values."""

import collections
import csv
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from figures import complaints, ran, rows, run
from tap import main, weft

SEED = 9
NO_NUMBER = ("not run at this size", "cannot be reproduced")
VERDICTS = ("agrees", "differs") + NO_NUMBER


def listed(measured=True):
    """The names of all figures, or of those that are computed and not measured."""
    figures = weft("paper", "list", "--json").json["figures"]
    return [figure["name"] for figure in figures if measured or not figure["measured"]]


def verdicts(figure):
    return [claim["verdict"] for claim in figure["claims"]]


def holds(claim):
    """Computes the verdict of a claim again."""
    paper, found, slack = claim["paper"], claim["weft"], claim["tolerance"]
    if found is None:
        return claim["verdict"] if claim["verdict"] in NO_NUMBER else "no number"
    good = {"equal": abs(found - paper) <= slack,
            "above": found > paper - slack,
            "below": found < paper + slack,
            "at_most": found <= paper + slack,
            "between": paper - slack <= found <= claim.get("paper_high", paper) + slack}
    return "agrees" if good[claim["relation"]] else "differs"


class List(unittest.TestCase):
    def test_names_are_unique_and_the_same_in_all_lists(self):
        names = listed()
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(weft("paper", "list", "--names").out.split(), names)
        self.assertEqual([line.split()[0] for line in weft("paper", "list").out.splitlines()[1:]],
                         names)

    def test_an_unknown_figure_is_refused(self):
        for words in (["nonsense"], ["cam-hops", "nonsense"], []):
            done = weft("paper", "run", *words)
            self.assertEqual((done.code, done.out), (2, ""))
            self.assertRegex(done.err, r"^weft: [^\n]+\n$")


class Files(unittest.TestCase):
    def test_a_figure_writes_csv_json_script_and_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            target = folder + "/new/place"
            figure = run("cam-hops", "--out", target)
            left = {"cam-hops.csv", "cam-hops.json", "cam-hops.gp"}
            if shutil.which("gnuplot"):
                left.add("cam-hops.svg")
                xml.dom.minidom.parse(target + "/cam-hops.svg")
            self.assertEqual(set(os.listdir(target)), left)
            with open(target + "/cam-hops.json") as file:
                self.assertEqual(json.load(file), figure)
            with open(target + "/cam-hops.csv") as file:
                table = list(csv.reader(file))
            self.assertEqual(len(table), 1 + len(rows(figure)))
            self.assertEqual(table[0][2], "diameter (hops)")

    def test_without_gnuplot_everything_else_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            done = weft("paper", "run", "cam-hops", "--quick", "--out", folder,
                        env={"PATH": folder})
            self.assertIn((done.code, done.err), ((0, ""), (1, "")))  # 1: a claim differs
            self.assertIn("gnuplot is not installed", done.out)
            self.assertEqual(set(os.listdir(folder)),
                             {"cam-hops.csv", "cam-hops.json", "cam-hops.gp"})

    def test_a_figure_fails_if_gnuplot_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/gnuplot", "w") as file:
                file.write("#!/bin/sh\necho cannot draw >&2\nexit 3\n")
            os.chmod(folder + "/gnuplot", 0o755)
            done = weft("paper", "run", "cam-hops", "--quick", "--out", folder + "/figures",
                        env={"PATH": folder})
            self.assertEqual(done.code, 1)
            self.assertIn("cannot draw", done.out)
            self.assertFalse(os.path.exists(folder + "/figures/cam-hops.svg"))

    def test_an_impossible_folder_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            done = weft("paper", "run", "cam-hops", "--quick", "--out", file.name + "/x")
            self.assertEqual((done.code, done.out), (1, ""))
            self.assertRegex(done.err, r"^weft: [^\n]+\n$")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_the_script_needs_no_other_file(self):
        with tempfile.TemporaryDirectory() as folder:
            run("cam-hops", "--out", folder)
            done = subprocess.run(["gnuplot", folder + "/cam-hops.gp"], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            with open(folder + "/cam-hops.svg", "rb") as file:
                self.assertEqual(done.stdout, file.read())


class Text(unittest.TestCase):
    def shown(self, name, *columns):
        """The rows that the text prints of these columns: one for each row of the table."""
        done = weft("paper", "run", name, "--quick")
        self.assertIn((done.code, done.err), ((0, ""), (1, "")))  # 1: a claim differs
        lines = [line.split() for line in done.out.splitlines()]
        self.assertIn(list(columns), lines)
        start = lines.index(list(columns)) + 2  # the line in between has the units
        return lines[start:lines.index([], start)]

    def test_the_columns_that_a_figure_refers_to_are_printed(self):
        names = ("k", "n", "printed", "capacity_lower", "capacity_upper", "torus_printed",
                 "torus_lower", "torus_upper")
        shown = self.shown("nova-eq7", *names)
        table = rows(run("nova-eq7"))
        self.assertEqual(len(shown), len(table))
        for line, row in zip(shown, table):
            for cell, name in zip(line, names):
                self.assertAlmostEqual(float(cell), row[name], delta=1e-4 * row[name])
        self.assertEqual(len(self.shown("nova-fig5", "k", "n", "pora", "pora_around", "optimum",
                                        "dor_torus", "diameter")), 5)

    def test_claims_that_a_larger_run_would_decide_are_counted_separately(self):
        done = weft("paper", "run", "jelly-fig2c", "jelly-fig7", "--quick")
        lines = done.out.splitlines()
        for verdict, reason in (("not run at this size", "run it without --quick"),
                                ("cannot be reproduced", "never published")):
            last = max(i for i, line in enumerate(lines) if line.endswith(verdict) and "(" in line)
            self.assertIn(reason, " ".join(lines[last + 1:last + 3]))
        self.assertRegex(lines[-1], "2 not run at this size, 2 cannot be reproduced$")


class All(unittest.TestCase):
    def test_every_figure_runs_and_every_verdict_follows_from_the_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            # Minutes under a sanitizer on a busy machine; the test runner bounds it.
            done = weft("paper", "all", "--quick", "--json", "--out", folder, timeout=3000)
            self.assertTrue(ran(done), complaints(done))
            self.assertEqual([figure["name"] for figure in done.json["figures"]], listed())
            counts = dict.fromkeys(VERDICTS, 0)
            for figure in done.json["figures"]:
                self.assertTrue(figure["claims"] and figure["tables"], figure["name"])
                for claim in figure["claims"]:
                    self.assertEqual(claim["verdict"], holds(claim), claim)
                    if claim["verdict"] == "agrees":
                        self.assertNotIn("reason", claim)
                    if claim["verdict"] == "cannot be reproduced":
                        self.assertTrue(claim["reason"])
                        self.assertNotRegex(claim["reason"], "--quick|two cores")
                    if claim["verdict"] == "not run at this size":
                        self.assertRegex(claim["reason"], "--quick|two cores")
                    counts[claim["verdict"]] += 1
                for ending in ("csv", "json", "gp"):
                    self.assertTrue(os.path.getsize(f"{folder}/{figure['name']}.{ending}"))
            self.assertEqual([done.json["agree"], done.json["differ"],
                              done.json["not_run_at_this_size"],
                              done.json["cannot_be_reproduced"]], list(counts.values()))
            self.assertGreater(min(counts.values()), 0)

    def test_a_seed_gives_the_same_result_on_any_number_of_threads(self):
        for name in listed(measured=False):
            words = ("paper", "run", name, "--quick", "--json", "--seed", 5)
            self.assertEqual(weft(*words, "--threads", 1).out, weft(*words, "--threads", 3).out,
                             name)


class CamCube(unittest.TestCase):
    def test_hops_equal_the_closed_form(self):
        figure = run("cam-hops")
        for row in rows(figure):
            k = int(row["torus"].split("x")[-1])
            ring = sum(min(i, k - i) for i in range(k)) / k
            self.assertAlmostEqual(row["mean_with_self"], 3 * ring)
            self.assertEqual(row["diameter"], 3 * (k // 2))
        self.assertEqual(verdicts(figure), ["agrees", "agrees", "differs", "differs"])

    def test_servers_of_a_key_follow_the_papers_recursion(self):
        figure = run("cam-keyspace")
        self.assertEqual(set(verdicts(figure)), {"agrees"})
        self.assertEqual([(row["x"], row["y"]) for row in rows(figure)],
                         torus_list((5, 5), (2, 2), 0)[:5])
        for row in rows(figure, 1):
            kind, words = row["topology"].split(":")
            if kind == "jellyfish":
                cables = int(words.split("degree=")[1].split(",")[0])
                self.assertEqual(row["heirs_min"], cables)
                self.assertEqual(row["heirs_max"], cables)
                self.assertAlmostEqual(row["share_max"], 100 / cables)
                self.assertAlmostEqual(row["share_min"], 100 / cables)
                continue
            sizes = tuple(int(size) for size in words.split("x"))
            home, lists = (0,) * len(sizes), []
            for sequence in range(row["sequences"]):
                lists.append(torus_list(sizes, home, sequence))
                self.assertEqual(len(lists[-1]), row["servers"])
            self.assertEqual(len(set(map(tuple, lists))), row["sequences"])
            heirs = collections.Counter(servers[1] for servers in lists)
            next_heirs = collections.Counter(
                servers[1] if servers[1] != lists[0][1] else servers[2] for servers in lists)
            count = len(lists)
            self.assertEqual([row["heirs_min"], row["heirs_max"]], [len(heirs)] * 2)
            self.assertAlmostEqual(row["share_min"], 100 * min(heirs.values()) / count)
            self.assertAlmostEqual(row["share_max"], 100 * max(heirs.values()) / count)
            self.assertAlmostEqual(row["next_share_max"], 100 * max(next_heirs.values()) / count)

    def test_the_load_is_uneven_only_if_servers_failed(self):
        every = rows(run("cam-keyspace"), 2)
        for row in every:
            if row["failed"] == 0:
                self.assertEqual((row["load_max"], row["heir_hops"]), (1, None))
            else:
                self.assertTrue(1 < row["load_max"] < 3 and row["heir_hops"] >= 1, row)
        for kind in ("2D", "3D"):  # jump cables shorten paths, but do not move keys
            torus, nova = ([row for row in every if row["network"] == f"{name} {kind}"]
                           for name in ("torus", "NovaCube"))
            for one, other in zip(torus[1:], nova[1:]):
                self.assertEqual(one["load_max"], other["load_max"])
                self.assertLessEqual(other["heir_hops"], one["heir_hops"])


def torus_list(sizes, home, sequence):
    """The servers of a key as the paper describes them: facets, orders, breadth first."""
    orders = list(itertools.permutations(range(len(sizes))))
    facet, order = divmod(sequence, len(orders))
    servers, seen = [home], {home}
    for server in servers:
        for axis in orders[order]:
            step = -1 if facet >> axis & 1 else 1
            near = (server[axis] + step) % sizes[axis]
            near = server[:axis] + (near,) + server[axis + 1:]
            if near not in seen:
                seen.add(near)
                servers.append(near)
    return servers


def nova_graph(k, n):
    """A NovaCube as the paper describes it: a torus, and cables between the farthest pairs."""
    graph = networkx.MultiGraph()
    even = k - k % 2
    for node in itertools.product(range(k), repeat=n):
        graph.add_node(node)
        for axis in range(n):
            up = node[:axis] + ((node[axis] + 1) % k,) + node[axis + 1:]
            if k > 2 or node[axis] == 0:
                graph.add_edge(node, up)
        far = tuple((x + even // 2) % even for x in node) if max(node) < even else None
        if far and node < far:
            graph.add_edge(node, far, jump=True)
    return graph


class NovaCube(unittest.TestCase):
    def test_counts_equal_those_of_a_constructed_graph(self):
        figure = run("nova-build")
        for row in rows(figure):
            if row["nodes"] > 600:
                continue
            graph = nova_graph(row["k"], row["n"])
            degrees = [degree for _, degree in graph.degree()]
            jumps = [edge[:2] for edge in graph.edges(data="jump") if edge[2]]
            plain = len(graph) - len({node for edge in jumps for node in edge})
            self.assertEqual([row["degree_min"], row["degree_max"], row["jump_links"],
                              row["plain_nodes"]],
                             [min(degrees), max(degrees), len(jumps), plain], row)
            if row["k"] % 2:
                self.assertEqual(row["plain_derived"], plain)
        self.assertEqual(verdicts(figure), ["agrees", "differs", "agrees", "agrees", "differs"])

    def test_diameters_equal_those_of_networkx(self):
        figure = run("nova-eq3")
        checked = 0
        for row in rows(figure):
            k, n = row["k"], row["n"]
            self.assertEqual(row["printed"], -(-(k // 2 * n) // 2))
            if k ** n <= 130:
                self.assertEqual(row["diameter"], networkx.diameter(nova_graph(k, n)), row)
                checked += 1
        self.assertGreater(checked, 15)
        self.assertEqual(verdicts(figure), ["agrees", "differs"])

    def test_bounds_contain_the_bisection_which_is_known_for_the_folded_cube(self):
        figure = run("nova-eq4")
        for row, verdict in zip(rows(figure), verdicts(figure)):
            self.assertLessEqual(row["lower_bound"], row["best_cut"])
            self.assertLessEqual(row["best_cut"], row["printed"])
            self.assertEqual(row["printed"],
                             row["k"] ** row["n"] + 4 * row["k"] ** (row["n"] - 1))
            if row["k"] == 4:  # the folded 2n-cube
                self.assertEqual(row["best_cut"], {2: 32, 3: 128}[row["n"]])
            if row["k"] % 4 == 0:  # four slabs, alternating between the sides, cut no jump cable
                self.assertLessEqual(row["best_cut"], 8 * row["k"] ** (row["n"] - 1))
            self.assertEqual(verdict == "agrees", row["best_cut"] == row["printed"])

    def test_numbers_of_shortest_paths_equal_those_of_networkx(self):
        figure = run("nova-eq8")
        for row in rows(figure):
            k = row["k"]
            if row["network"] == "torus":
                hops = [min(x, k - x) for x in (3, 4, 5)]
                paths = math.factorial(sum(hops))
                for x in hops:
                    paths //= math.factorial(x)
                    paths *= 2 if 2 * x == k else 1
                self.assertEqual((row["distance"], row["shortest_paths"]), (sum(hops), paths), row)
            elif k <= 9:
                graph = networkx.Graph(nova_graph(k, 3))
                paths = list(networkx.all_shortest_paths(graph, (0, 0, 0), (3, 4, 5)))
                self.assertEqual((row["distance"], row["shortest_paths"]),
                                 (len(paths[0]) - 1, len(paths)), row)

    def test_mean_paths_equal_those_of_networkx(self):
        figure = run("nova-eq10")
        for row in rows(figure):
            if row["k"] <= 10:
                mean = networkx.average_shortest_path_length(nova_graph(row["k"], 2))
                self.assertAlmostEqual(row["mean_path"], mean, places=12)
            self.assertAlmostEqual(row["printed"], row["mean_path"], places=12)
        self.assertEqual(set(verdicts(figure)), {"agrees"})


def built(spec):
    """The network that weft writes: a graph, and the number of servers of each node."""
    with tempfile.TemporaryDirectory() as folder:
        done = weft("topo", "build", spec, "--out", folder + "/network.json")
        assert done.code == 0, done.err
        with open(folder + "/network.json") as file:
            data = json.load(file)
    graph = networkx.Graph()
    for link in data.get("links") or data["edges"]:
        graph.add_edge(link["source"], link["target"])
    return graph, {node["id"]: node["servers"] for node in data["nodes"]}


def bollobas(switches, degree):
    return switches * (degree / 4 - math.sqrt(degree * math.log(2)) / 2)


def full(switches, ports, servers):
    return bollobas(switches, ports - servers / switches) >= servers / 2


class Jellyfish(unittest.TestCase):
    def test_hops_of_the_fat_tree_follow_from_its_pods(self):
        figure = run("jelly-fig1c")
        tree = {row["hops"]: row["share"] for row in rows(figure) if row["network"] == "fat-tree"}
        for hops, others in ((2, 6), (3, 6), (4, 48), (5, 48), (6, 685)):
            self.assertAlmostEqual(tree[hops], 100 * others / 685)
        self.assertEqual(verdicts(figure)[:3], ["agrees", "differs", "agrees"])

    def test_hops_of_jellyfish_equal_those_of_the_built_network(self):
        share = [row["share"] for row in rows(run("jelly-fig1c", "--seed", 7))
                 if row["network"] == "Jellyfish" and row["hops"] == 4]
        means = []
        for seed in (7, 8, 9):
            spec = f"jellyfish:servers=686,switches=245,ports=14,seed={seed}"
            graph, servers = built(spec)
            near = sum(servers[a] * servers[b] - (a == b) * servers[a]
                       for a, lengths in networkx.all_pairs_shortest_path_length(graph, cutoff=2)
                       for b in lengths)
            means.append(100 * near / (686 * 685))
        self.assertAlmostEqual(share[0], sum(means) / 3)

    def test_one_more_server_would_break_full_bisection(self):
        figure = run("jelly-fig2a")
        claims = figure["claims"]
        for claim, (switches, ports) in zip(claims, ((2880, 48), (1280, 32), (720, 24),
                                                     (2000, 40))):
            self.assertTrue(full(switches, ports, claim["weft"]), claim)
            self.assertFalse(full(switches, ports, claim["weft"] + 1), claim)
        self.assertEqual(claims[4]["weft"], 20000)
        self.assertEqual([claim["verdict"] for claim in claims[:5]], ["agrees"] * 4 + ["differs"])
        for row in rows(figure):
            if row["network"] != "fat-tree":
                degree = row["ports"] - row["servers"] / row["switches"]
                self.assertAlmostEqual(row["bisection"],
                                       bollobas(row["switches"], degree) * 2 / row["servers"], 3)

    def test_the_cost_uses_as_few_switches_as_possible(self):
        for row in rows(run("jelly-fig2b")):
            self.assertEqual(row["total_ports"], row["switches"] * row["ports"])
            if row["network"] == "fat-tree":
                self.assertEqual(row["ports_per_server"], 5)
            else:
                self.assertTrue(full(row["switches"], row["ports"], row["servers"]))
                self.assertFalse(full(row["switches"] - 1, row["ports"], row["servers"]))

    def test_grown_networks_are_as_good_as_new_ones(self):
        figure = run("jelly-fig5")
        last = [row for row in rows(figure) if row["switches"] == 3200]
        self.assertEqual(len(last), 2)
        for row in last:
            self.assertAlmostEqual(row["mean_path"], 2.65, delta=0.01)
        self.assertEqual(verdicts(figure)[:2], ["agrees", "agrees"])

    def test_paths_of_a_link_match_networkx(self):
        figure = run("jelly-fig9")
        shares = {row["routing"]: row for row in rows(figure, 1)}
        dice = random.Random(SEED)
        print(f"# seed {SEED}")
        found, per_pair = [], []
        for seed in (1, 2, 1, 2):  # the graphs of the figure with other permutations
            graph, servers = built(f"jellyfish:servers=686,switches=245,ports=14,seed={seed}")
            homes = [node for node in graph for _ in range(servers[node])]
            sends = dice.sample(homes, len(homes))
            links = collections.Counter()
            pairs = {pair for pair in zip(homes, sends) if pair[0] != pair[1]}
            paths = [path for pair in sorted(pairs)
                     for path in networkx.all_shortest_paths(graph, *pair)]
            for path in paths:
                links.update(zip(path, path[1:]))
            few = 2744 - sum(count > 2 for count in links.values())
            found.append(100 * few / 2744)
            per_pair.append(len(paths) / len(pairs))
        every = shares["64-way ECMP"]  # hardly any pair has more than 64 paths
        self.assertAlmostEqual(every["at_most_2"], sum(found) / 4, delta=5)
        self.assertAlmostEqual(every["paths_per_pair"], sum(per_pair) / 4, delta=0.25)
        # the choice among equally long paths does not change the number of hops
        drawn, ordered = shares["8 shortest paths"], shares["8 shortest paths, by number"]
        self.assertAlmostEqual(drawn["paths_per_pair"], 8, 9)
        self.assertAlmostEqual(drawn["paths_per_link"], ordered["paths_per_link"], 9)
        self.assertLess(drawn["at_most_2"], ordered["at_most_2"])
        self.assertLess(every["at_most_2"], shares["8-way ECMP"]["at_most_2"])
        for name, row in shares.items():
            curve = [one["paths"] for one in rows(figure) if one["routing"] == name]
            self.assertEqual(curve, sorted(curve))
            self.assertAlmostEqual(sum(curve) / len(curve), row["paths_per_link"], delta=0.1)

    def test_cables_and_bundles_are_counted(self):
        figure = run("jelly-cabling")
        for row in rows(figure):
            k, servers, switches = row["ports"], row["servers"], row["jellyfish_switches"]
            self.assertEqual(row["fattree_cables"], 3 * k ** 3 // 4)
            self.assertEqual(row["jellyfish_cables"], (switches * k - servers) // 2 + servers)
            self.assertTrue(full(switches, k, servers) and not full(switches - 1, k, servers))
        (bundle,) = rows(figure, 1)
        self.assertEqual(bundle["bundles"], 40 * 39 // 2)
        self.assertAlmostEqual(bundle["mean_bundle"], bundle["cables_between"] / 780)
        self.assertGreater(bundle["largest_bundle"], bundle["mean_bundle"])
        self.assertLessEqual(bundle["cables_between"], (bundle["switches"] * 48 - 100000) // 2)


main()
