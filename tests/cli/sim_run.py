"""weft sim run: loads on simulated clusters, compared with the rates and delays of cables."""

import os
import re
import statistics
import sys
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

COUNTER = os.environ["COUNTER"]
JOURNAL = os.environ["JOURNAL"]


def run(*words):
    result = weft("sim", "run", *words, "--json")
    assert result.code == 0, result.err
    return result.json


def hop_nsec(payload, bits_per_nsec=1, delay=1000):
    """A frame of one packet: 40 bytes of header, 38 of Ethernet."""
    return (payload + 40 + 38) * 8 / bits_per_nsec + delay


class SimRun(unittest.TestCase):
    def test_every_packet_arrives_after_its_hops(self):
        found = run("torus:4x4", "--service", "bench", "--load", "servers", "--packets", "500",
                    "--seconds", "0.2", "--size", "1000")
        self.assertEqual(found["sent"], 16 * 100)
        self.assertEqual(found["dropped"], 0)
        # Only packets that were in flight at the end are missing.
        self.assertLess(found["sent"] - found["delivered"], 5)
        self.assertAlmostEqual(found["delivery_nsec"]["least"], hop_nsec(1000), delta=1)
        self.assertGreater(found["delivery_nsec"]["most"], hop_nsec(1000) * 4 - 1)
        # In a torus of 4 by 4, the paths to the 15 other servers have 32 hops in total.
        self.assertAlmostEqual(found["numbers"]["bench_hops_received"] / found["delivered"],
                               32 / 15, delta=0.1)

    def test_rate_and_delay_of_cables_are_respected(self):
        found = run("torus:3x3", "--service", "bench", "--load", "servers", "--packets", "50",
                    "--seconds", "0.1", "--size", "8900", "--rate", "10Gbps", "--delay", "250")
        self.assertAlmostEqual(found["delivery_nsec"]["least"], hop_nsec(8900, 10, 250), delta=1)

    def test_the_same_seed_gives_the_same_run(self):
        words = ["novacube:4x4", "--service", "bench", "--packets", "300", "--seconds", "0.1",
                 "--boot"]
        one = run(*words, "--seed", "7")
        self.assertEqual(one, run(*words, "--seed", "7"))
        self.assertNotEqual(one["hash"], run(*words, "--seed", "8")["hash"])
        self.assertGreater(one["boot_seconds"], 0)
        self.assertGreater(one["delivered"], 400)

    def test_links_can_be_filled(self):
        found = run("torus:3x3", "--service", "bench", "--load", "links", "--size", "8000",
                    "--seconds", "0.2")
        self.assertGreater(found["link_busy_mean"], 0.99)
        self.assertLessEqual(found["link_busy_most"], 1.01)
        self.assertEqual(found["dropped"], 0)

    def test_pings_are_answered(self):
        found = run("jellyfish:n=16,degree=4,seed=2", "--service", "ping", "--packets", "200",
                    "--seconds", "0.5", "--size", "100")
        self.assertGreaterEqual(found["answered"], 16 * 99)
        self.assertGreaterEqual(found["answer_nsec"]["least"], 2 * hop_nsec(100) - 1)

    def test_a_loaded_service_answers_requests(self):
        found = run("torus:3x3x3", "--service", COUNTER, "--request", "+apples", "--packets",
                    "20", "--seconds", "0.5")
        self.assertEqual(found["service"], "counter")
        self.assertEqual(found["asked"], 27 * 10)
        self.assertEqual(found["answered"], 27 * 10)
        said = weft("sim", "run", "torus:3x3x3", "--service", COUNTER, "--request", "+apples",
                    "--packets", "20", "--seconds", "0.5")
        self.assertIn("first answer           1 ", said.out)

    def test_a_service_that_uses_the_disk_has_one(self):
        found = run("torus:3x3", "--service", JOURNAL, "--request", "+record", "--packets", "20",
                    "--seconds", "0.5")
        self.assertEqual((found["asked"], found["answered"]), (9 * 10, 9 * 10))
        self.assertGreater(found["answer_nsec"]["median"], 200000)  # an append and a sync take time

    def test_text_and_json_agree(self):
        words = ["torus:3x3", "--service", "bench", "--seconds", "0.1"]
        said = weft("sim", "run", *words)
        self.assertEqual(said.code, 0)
        self.assertIn(run(*words)["hash"], said.out)

    def test_several_seeds_give_the_run_of_each_and_their_spread(self):
        words = ["torus:3x3", "--service", "bench", "--packets", "3000", "--seconds", "0.05", "--boot"]
        found = run(*words, "--seed", "5", "--seeds", "4", "--threads", "1")
        self.assertEqual((found["seed"], found["seeds"]), (5, 4))
        for number, row in enumerate(found["runs"]):
            one = run(*words, "--seed", str(5 + number))
            self.assertEqual(row.pop("hash"), one["hash"])
            for name in "delivery_nsec", "answer_nsec":
                for part in "median", "percentile_99":
                    self.assertEqual(row.pop(f"{name}_{part}"), one[name][part])
            self.assertEqual(row, {key: one[key] for key in row})
            self.assertEqual(row["seed"], 5 + number)
        self.assertGreater(len({row["link_busy_mean"] for row in found["runs"]}), 1)
        for key in row.keys() - {"seed"}:
            values = [row[key] for row in found["runs"]]
            self.assertEqual(found["spread"][key], {"least": min(values), "median": statistics.median(values),
                                                    "most": max(values)})

    def test_results_do_not_depend_on_the_number_of_threads(self):
        words = ["novacube:4x4", "--service", "ping", "--seconds", "0.05", "--seeds", "7"]
        one, two = (weft("sim", "run", *words, "--threads", threads) for threads in ("1", "3"))
        self.assertEqual((one.code, one.out), (0, two.out))
        self.assertEqual(run(*words, "--threads", "1"), run(*words, "--threads", "3"))
        lines = one.out.splitlines()
        self.assertEqual(lines[0], "novacube:4x4: 16 servers, ping, 0.05 s simulated, 7 seeds from 1")
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         ["seed", *"1234567", "least", "median", "most", "event"])
        self.assertEqual(run(*words)["hash"], lines[-1].split()[-1])

    def test_one_seed_is_reported_in_full(self):
        words = ["torus:3x3", "--service", "bench", "--seconds", "0.05"]
        self.assertEqual(run(*words, "--seeds", "1", "--threads", "2"), run(*words))

    def test_every_listed_service_runs(self):
        unknown = weft("sim", "run", "torus:3x3", "--service", "relay")
        names = re.search(r"expected one of ([\w, ]+), or a file", unknown.err).group(1).split(", ")
        self.assertEqual(sorted(names), ["bench", "control", "directory", "ping", "ripc", "store"])
        manual = weft("help", "sim", "run").out
        option = re.sub(r"\s+", " ", manual)
        option = re.search(r"the service: (.+?), or a shared object", option).group(1)
        self.assertEqual(sorted(option.split(", ")), sorted(names))
        for name in names:
            self.assertEqual(run("torus:3x3", "--service", name, "--seconds", "0.01")["service"], name)

    def refused(self, code, text, *words):
        result = weft("sim", "run", *words)
        self.assertEqual(result.code, code, result.err)
        self.assertEqual(result.out, "")
        self.assertIn(text, result.err)

    def test_errors_have_a_reason(self):
        self.refused(2, "--service is missing", "torus:3x3")
        self.refused(2, "no such service", "torus:3x3", "--service", "nonsense")
        self.refused(2, "weft: fattree:k=4 has switches", "fattree:k=4", "--service", "bench")
        self.refused(2, "nonsense.so", "torus:3x3", "--service", "./nonsense.so")
        self.refused(2, "needs --service bench", "torus:3x3", "--service", "ping", "--load",
                     "keys")
        self.refused(2, "--request", "torus:3x3", "--service", "ping", "--load", "requests")
        self.refused(2, "--rate", "torus:3x3", "--service", "bench", "--rate", "fast")
        self.refused(2, "--seeds 0", "torus:3x3", "--service", "bench", "--seeds", "0")
        self.refused(2, "from 1 to 2", "torus:3x3", "--service", "bench", "--seeds", "3", "--seed", str(2**64 - 2))
        self.refused(2, "--threads", "torus:3x3", "--service", "bench", "--threads", "x")
        self.refused(2, "--seconds", "torus:3x3", "--service", "bench", "--seconds", "-1")


main()
