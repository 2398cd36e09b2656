"""weft sim chaos: its output, its replays and its errors."""

import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft


def planted(*words):
    """The weft for tests, which contains bugs that --plant enables."""
    return weft(*words, program="WEFT_PLANTED")


class Chaos(unittest.TestCase):
    def test_clean_seeds_are_reported(self):
        run = weft("sim", "chaos", "torus:3x3", "--seeds", "6")
        self.assertEqual(run.code, 0, run.err)
        self.assertRegex(run.out, r"torus:3x3: 6 seeds from 1, \d+ faults")
        self.assertIn("\n  clean\n", run.out)

    def test_results_do_not_depend_on_the_number_of_threads(self):
        one = weft("sim", "chaos", "novacube:4x4", "--seeds", "5", "--threads", "1", "--json").json
        two = weft("sim", "chaos", "novacube:4x4", "--seeds", "5", "--threads", "2", "--json").json
        self.assertEqual(one, two)
        self.assertTrue(one["clean"])
        self.assertRegex(one["hash"], r"^[0-9a-f]{16}$")
        self.assertEqual(one["failures"], [])
        self.assertGreater(one["sent"], 1000)

    def test_a_failure_prints_the_command_that_replays_it(self):
        first = planted("sim", "chaos", "--seeds", "2", "--plant", "unfair", "--json")
        self.assertEqual(first.code, 1)
        failure = first.json["failures"][0]
        self.assertEqual(failure["checker"], "fair")
        words = failure["replay"].split()
        self.assertEqual(words[0], "weft")
        again = planted(*words[1:], "--json")
        self.assertEqual(again.code, 1)
        self.assertEqual(again.json["failures"][0], failure)
        text = planted(*words[1:])
        self.assertIn("NOT CLEAN", text.out)
        self.assertIn(failure["replay"], text.out)
        self.assertRegex(text.out, r"seed \d+ at [\d.]+ ms: fair: ")

    def test_the_store_is_checked_by_clients_of_its_own(self):
        words = ("sim", "chaos", "torus:3", "--service", "store", "--seeds", "3", "--json")
        one = weft(*words, "--threads", "1")
        self.assertEqual((one.code, one.err), (0, ""))
        self.assertEqual((one.json["clean"], one.json["failures"]), (True, []))
        self.assertGreater(one.json["simulated_s"], 36)  # until the clients have read all keys
        self.assertEqual(weft(*words, "--threads", "2").json, one.json)
        other = weft(*words, "--set", "store.recover=1s", "--siege").json
        self.assertTrue(other["clean"])
        self.assertGreater(other["faults"], 30)

    def test_bugs_of_the_store_are_found_and_replayed(self):
        words = ("sim", "chaos", "torus:3", "--service", "store", "--siege", "--seeds", "6", "--plant-store", "condition")
        found = planted(*words, "--json")
        self.assertEqual((found.code, found.err), (1, ""))
        failure = found.json["failures"][0]
        self.assertEqual(failure["checker"], "store")
        self.assertIn("--service store --siege --plant-store condition", failure["replay"])
        again = planted(*failure["replay"].split()[1:], "--history", "--json")
        self.assertEqual(again.json["failures"], [failure])
        self.assertGreater(len(again.json["history"]), 10)

    def test_mistakes_with_the_store_are_refused(self):
        for words, says in ((("--siege",), "--siege: needs --service store"),
                            (("--service", "store", "--siege", "--faults", "loss"), "a siege draws its own"),
                            (("--service", "store", "--set", "store.copies=0"), "store.copies"),
                            (("torus:5x5x5", "--service", "store", "--siege"), "more than 64 servers")):
            run = weft("sim", "chaos", *words)
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertRegex(run.err, rf"^weft: [^\n]*{says}[^\n]*\n\Z")

    def test_a_failure_with_a_long_file_name_is_replayed_too(self):
        with tempfile.TemporaryDirectory() as above:
            folder = pathlib.Path(above, *["a" * 200] * 4)
            folder.mkdir(parents=True)
            plan = folder / "plan.edgelist"
            plan.write_text("0 1\n1 2\n2 0\n")
            for words in ((), ("--json",)):
                run = planted("sim", "chaos", plan, "--seeds", 8, "--plant", "leak", *words)
                self.assertEqual(run.code, 1, run.err)
                self.assertRegex(run.out, rf"weft sim chaos {plan} --seed \d+ --seeds 1 --faults [a-z,]+ --plant leak")

    def test_faults_can_be_restricted(self):
        run = weft("sim", "chaos", "torus:3x3", "--seed", "3", "--faults", "loss", "--json").json
        self.assertEqual(run["allowed"], "loss")
        self.assertGreater(run["lost"], 0)
        none = weft("sim", "chaos", "torus:3x3", "--seed", "3", "--faults", "none", "--json").json
        self.assertEqual((none["faults"], none["lost"]), (0, 0))

    def test_a_single_server_has_the_faults_of_servers_only(self):
        run = weft("sim", "chaos", "torus:1", "--seeds", "20", "--json", timeout=60)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertTrue(run.json["clean"])
        self.assertGreaterEqual(run.json["faults"], 20)
        self.assertEqual(run.json["lost"], 0)
        links = weft("sim", "chaos", "torus:1", "--faults", "loss,flap", "--json").json
        self.assertEqual((links["clean"], links["faults"]), (True, 0))

    def test_a_network_in_pieces_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".dot") as file:
            file.write("graph { 0 -- 1; 1 -- 2; 2 -- 0; 3 }\n")
            file.flush()
            run = weft("sim", "chaos", file.name, "--seeds", "3", timeout=60)
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertEqual(run.err.count(file.name), 1)
            self.assertRegex(run.err, r"^weft: [^\n]+: not all servers are connected[^\n]*\n$")

    def test_invalid_options_are_refused_in_one_line(self):
        for words in (["--faults", "fire"], ["--plant", "leak"], ["--seeds", "0"],
                      ["--seed", "x"], ["nowhere:3"], ["fattree:k=4"]):
            run = weft("sim", "chaos", *words)
            self.assertEqual((run.code != 0, run.out), (True, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")
        self.assertEqual(weft("sim", "chaos", "fattree:k=4").err.count("fattree:k=4"), 1)

    def test_an_unknown_word_gets_a_list_of_the_known_ones(self):
        manual = weft("help", "sim", "chaos").out
        faults = re.search(r"Faults:\n((?: +\w+ .*\n)+)", manual).group(1)
        names = [line.split()[0] for line in faults.splitlines()]
        self.assertIn("clock", names)
        refused = weft("sim", "chaos", "--faults", "loss,fire")
        self.assertIn("'fire'", refused.err)
        self.assertIn(f"there are {', '.join(names)}, all and none\n", refused.err)
        for name in [*names, "all", "none"]:
            run = weft("sim", "chaos", "torus:1", "--faults", name)
            self.assertEqual(run.code, 0, run.err)
        refused = planted("sim", "chaos", "--plant", "tree")
        self.assertEqual(refused.code, 2)
        plants = refused.err.split("expected one of ")[1].strip().split(", ")
        source = pathlib.Path(__file__).parents[2] / "src" / "node" / "planted.h"
        self.assertEqual(plants, re.findall(r'^    X\([A-Z_]+,\s+"(\w+)"', source.read_text(), re.M))
        self.assertGreaterEqual(len(plants), 25)
        for name in plants[:5]:
            self.assertIn(planted("sim", "chaos", "torus:2", "--plant", name).code, (0, 1))

    def test_the_manual_names_every_field(self):
        chaos = planted("sim", "chaos", "--plant", "unfair", "--json")
        churn = weft("sim", "churn", "torus:3x3", "--seconds", "0.5", "--json")
        for command, keys in (("chaos", [*chaos.json, *chaos.json["failures"][0]]),
                              ("churn", [*churn.json])):
            manual = weft("help", "sim", command).out
            words = re.findall(r"\w+", manual[manual.index("With --json"):manual.index("options:")])
            self.assertEqual([key for key in keys if key not in words], [], command)
        self.assertRegex(churn.out, r"[^\n]\n}\n\Z")


main()
