"""weft paper: the figures about throughput, compared with verified results of `topo measure`."""

import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from figures import rows, run
from tap import main, weft

SEED = 5


def measured(network, seed, gap=0.01):
    """Verified lower and upper bound of a permutation's throughput, in [0,1]."""
    with tempfile.TemporaryDirectory() as folder:
        done = weft("topo", "measure", network, "--throughput", "permutation", "--seed", seed,
                    "--gap", gap, "--flow", folder + "/flow.json", "--verify", "--json")
    assert done.code == 0, done.err
    return min(1, done.json["throughput_lower"]), min(1, done.json["throughput_upper"])


def mean(brackets):
    return [sum(side) / len(brackets) for side in zip(*brackets)]


class Throughput(unittest.TestCase):
    def agree(self, row, brackets):
        """Compares with the same solver on the same traffic. The largest mean rate of the servers
        is at least the rate that all can have at the same time."""
        lower, upper = mean(brackets)
        self.assertAlmostEqual(row["at_once_lower"], lower)
        self.assertAlmostEqual(row["at_once_upper"], upper)
        self.assertGreaterEqual(row["mean_upper"], lower - 1e-9)
        self.assertLessEqual(row["mean_lower"], row["mean_upper"])

    def test_degree_diameter_graphs_match_topo_measure(self):
        figure = run("jelly-fig3", "--seed", SEED)
        found = rows(figure)
        self.assertEqual([row["graph"] for row in found[:2]], ["50,7,2", "98,4,4"])
        seeds = (SEED, SEED + 1)
        for row in found[:2]:
            graph, servers = f"degree-diameter:{row['graph']}", row["servers"]
            random = (f"jellyfish:servers={servers * row['switches']},switches={row['switches']},"
                      f"ports={row['degree'] + servers}")
            whole = mean([measured(f"{graph},servers={servers}", seed) for seed in seeds])
            ours = mean([measured(f"{random},seed={seed}", seed) for seed in seeds])
            self.assertLess(max(whole), 1)
            self.assertGreater(row["benchmark_upper"], whole[0])
            self.assertGreater(row["jellyfish_upper"], ours[0])
            share = row["ratio_at_once_lower"]
            self.assertAlmostEqual(share, 100 * ours[0] / whole[1])
            if servers > 1:
                fewer = [measured(f"{graph},servers={servers - 1}", seed) for seed in seeds]
                self.assertEqual(max(upper for _, upper in fewer), 1)
        for row, claim in zip(found, figure["claims"]):
            share = 100 * row["jellyfish_lower"] / row["benchmark_upper"]
            self.assertAlmostEqual(row["ratio_lower"], share)
            if row["in_paper"] == "yes":
                self.assertEqual(claim["weft"], row["ratio_lower"])
        others = [row["ratio_lower"] for row in found if row["in_paper"] == "no"]
        self.assertEqual(figure["claims"][2]["weft"], min(others))
        self.assertEqual({claim["verdict"] for claim in figure["claims"][3:]},
                         {"cannot be reproduced"})

    def test_small_worlds_match_topo_measure(self):
        figure = run("jelly-fig4", "--seed", SEED)
        seeds = (SEED, SEED + 1)
        specs = {"Jellyfish": "jellyfish:servers=200,switches=100,ports=8",
                 "ring": "swdc-ring:100,servers=2",
                 "2D torus": "swdc-torus2d:10x10,servers=2",
                 "3D hex torus": "swdc-hex3d:6x5x3,servers=2"}
        found = {row["network"]: row for row in rows(figure, servers=2)}
        for name, spec in specs.items():
            self.agree(found[name], [measured(f"{spec},seed={seed}", seed, 0.02)
                                     for seed in seeds])
        self.assertLess(found["ring with parallel cables"]["mean_upper"],
                        found["Jellyfish"]["mean_lower"])
        jelly, ring = found["Jellyfish"], found["ring"]
        low, high = (jelly["mean_lower"] / ring["mean_upper"],
                     jelly["mean_upper"] / ring["mean_lower"])
        self.assertAlmostEqual(figure["claims"][3]["weft"], 50 * (low + high))

    def test_grown_networks_match_topo_measure(self):
        figure = run("jelly-fig6", "--seed", SEED)
        fresh, grown = [], []
        for seed in range(SEED, SEED + 4):
            fresh.append(measured(f"jellyfish:servers=160,switches=40,ports=12,seed={seed}", seed))
            start = f"jellyfish:servers=80,switches=20,ports=12,seed={seed + 4}"
            with tempfile.TemporaryDirectory() as folder:
                done = weft("topo", "grow", start, "--add", 20, "--ports", 12, "--servers", 4,
                            "--seed", seed + 4, "--out", folder + "/grown.json")
                self.assertEqual(done.code, 0, done.err)
                grown.append(measured(folder + "/grown.json", seed))
        (row,) = rows(figure, built="from scratch", switches=40)
        self.agree(row, fresh)
        (row,) = rows(figure, built="grown", switches=40)
        self.agree(row, grown)
        worst = 0
        for switches in (20, 40, 60):
            (one,), (other,) = (rows(figure, built=built, switches=switches)
                                for built in ("grown", "from scratch"))
            worst = max(worst, 100 * (1 - one["mean_lower"] / other["mean_upper"]),
                        100 * (one["mean_upper"] / other["mean_lower"] - 1))
        self.assertAlmostEqual(figure["claims"][0]["weft"], worst)


class NovaCube(unittest.TestCase):
    def test_bounds_on_both_sides_of_the_printed_share_decide_nothing(self):
        figure = run("nova-worst")
        claims = iter(figure["claims"])
        verdicts = set()
        for row in rows(figure):
            for whose in ("own", "torus"):
                # Valiant's routing attains half of any network's own capacity.
                lower = row["torus_lower"] if whose == "torus" else 50
                upper, claim = row[whose + "_upper"], next(claims)
                self.assertLessEqual(lower, upper)
                wanted = ("agrees" if lower > 62.5 else
                          "differs" if upper < 62.5 else "cannot be reproduced")
                self.assertEqual(claim["verdict"], wanted, claim)
                verdicts.add(wanted)
            self.assertNotIn("own_lower", row)  # it is always 50
            self.assertLessEqual(row["pora"], row["own_upper"] + 1e-9)
            self.assertLessEqual(row["valiant"], row["own_upper"] + 1e-9)
        self.assertEqual(len(verdicts), 3)

    def test_printed_capacities_are_judged_by_bounds(self):
        figure = run("nova-eq7")
        for row in rows(figure):
            found = weft("route", "load", "novacube:" + "x".join([str(row["k"])] * row["n"]),
                         "--algorithm", "dor", "--gap", 0.002, "--json").json
            self.assertLessEqual(row["capacity_lower"], found["capacity_upper"] + 1e-9)
            self.assertLessEqual(found["capacity_lower"], row["capacity_upper"] + 1e-9)
            self.assertLess(row["capacity_upper"], (2 * row["k"] + 8) / row["k"])
            self.assertAlmostEqual(row["torus_lower"], 8 / row["k"])
        self.assertEqual([claim["verdict"] for claim in figure["claims"]],
                         ["agrees", "differs", "agrees", "agrees"])


class FullCapacity(unittest.TestCase):
    def test_the_size_of_the_paper_is_not_run_at_the_quick_size(self):
        claims = run("jelly-fig2c")["claims"]
        for claim in claims[:2]:
            self.assertEqual((claim["verdict"], claim["weft"]), ("not run at this size", None))
            self.assertIn("14-port", claim["reason"])
        self.assertNotIn("not run at this size", [claim["verdict"] for claim in claims[2:]])

    def test_every_step_is_decided_by_its_certificate(self):
        figure = run("jelly-fig2c", "--seed", SEED)
        steps = rows(figure, 2)
        self.assertEqual(len(steps), sum(row["steps"] for row in rows(figure, 1, ports=8)))
        for step in steps:
            self.assertLessEqual(step["lower"], step["upper"] + 1e-9)
            self.assertEqual(step["carried"], "yes" if step["lower"] >= 1 - 1e-6 else "no", step)
            self.assertTrue(step["carried"] == "yes" or step["upper"] < 1, step)

    def test_the_servers_found_are_carried_and_one_more_is_not(self):
        figure = run("jelly-fig2c", "--seed", SEED)
        (search,) = rows(figure, 1, ports=8)
        servers = search["servers"]
        self.assertLessEqual(servers, search["servers_found"])
        stands = rows(figure, 2, servers=servers, carried="yes")
        self.assertEqual(sorted(step["matrix"] for step in stands), list(range(1, 14)))
        self.assertEqual(len({step["matrix_seed"] for step in stands}), 13)
        (fails,) = rows(figure, 2, servers=servers + 1, carried="no")
        for step in [*stands[:3], fails]:
            spec = f"jellyfish:servers={step['servers']},switches=80,ports=8,seed={SEED}"
            lower, upper = measured(spec, step["matrix_seed"])
            self.assertLessEqual(lower, step["upper"] + 1e-9)
            self.assertGreaterEqual(upper, min(1, step["lower"]) - 1e-9)

    def test_sizes_are_the_means_of_the_searches(self):
        figure = run("jelly-fig2c", "--seed", SEED)
        for ports in (6, 8):
            (jelly,), (tree,) = (rows(figure, ports=ports, network=network)
                                 for network in ("Jellyfish", "fat-tree"))
            self.assertEqual(tree["servers"], ports ** 3 // 4)
            self.assertEqual(jelly["switches"], 5 * ports ** 2 // 4)
            found = [row["servers"] for row in rows(figure, 1, ports=ports)]
            self.assertAlmostEqual(jelly["servers"], sum(found) / len(found))
            self.assertAlmostEqual(jelly["more_than_fattree"],
                                   100 * (jelly["servers"] / tree["servers"] - 1))


main()
