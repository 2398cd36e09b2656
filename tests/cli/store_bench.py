"""weft store bench: the workloads of YCSB against a store of real servers."""

import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import ClusterCase
from tap import main

OPERATIONS = {"A": ["read", "update"], "B": ["read", "update"], "C": ["read"], "D": ["read", "insert"],
              "E": ["insert", "scan"], "F": ["read", "modify"]}
KEYS = 40


class Bench(ClusterCase):
    def setUp(self):
        super().setUp()
        self.up("torus:3", "--service", "store", "--set", "store.segment=1M")

    def bench(self, workload, *words):
        return self.good("store", "bench", workload, "--keys", KEYS, "--size", 100, "--json", *words).json

    def check(self, found):
        """Nothing is lost or failed, and the times are in order."""
        for what in ("unknown", "not_begun", "failed", "error"):
            self.assertFalse(found[what], what)
        self.assertEqual(sum(each["count"] for each in found["operations"]), found["requests"])
        for times in found["operations"] + ([found["load"]] if found["load"] else []):
            parts = [times[name] for name in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "most_ns")]
            self.assertEqual(parts, sorted(parts))

    def keys(self):
        return [key["key"] for key in self.good("ls", "--json").json["keys"]]

    def test_each_workload_asks_what_it_says(self):
        for workload, operations in OPERATIONS.items():
            found = self.bench(workload.lower(), "--seconds", 0.3, "--programs", 2)
            self.check(found)
            self.assertEqual((found["workload"], found["closed_loop"]), (workload, True))
            self.assertEqual([each["operation"] for each in found["operations"]], operations)
            self.assertEqual(found["load"]["requests"], KEYS)
            self.assertEqual(found["at_once"], 1 if workload == "E" else 16)
            self.assertGreater(found["requests"], 0)

    def test_inserts_add_keys_and_updates_do_not(self):
        self.check(self.bench("A", "--seconds", 0.3))
        keys = self.keys()
        self.assertEqual(len(set(keys)), KEYS)
        self.assertTrue(all(key.startswith("ycsb/") for key in keys))
        self.assertEqual(len(self.good("get", keys[0]).out), 100)
        found = self.bench("D", "--seconds", 0.3, "--no-load")
        self.check(found)
        self.assertIsNone(found["load"])
        inserts = [each["count"] for each in found["operations"] if each["operation"] == "insert"]
        self.assertEqual(len(self.keys()), KEYS + inserts[0])

    def test_an_update_that_follows_a_read_needs_the_version_that_was_read(self):
        found = self.bench("F", "--seconds", 0.5, "--programs", 4, "--choice", "zipfian")
        self.check(found)
        self.assertGreater(found["operations"][1]["count"], 0)
        self.assertEqual(self.bench("F", "--seconds", 0.3, "--at-once", 1)["conflicts"], 0)

    def test_with_a_rate_every_request_that_is_due_is_sent(self):
        for programs in (1, 3):
            found = self.bench("B", "--rate", 100, "--seconds", 0.5, "--programs", programs)
            self.check(found)
            self.assertEqual((found["requests"], found["closed_loop"], found["rate_wanted"]), (50, False, 100))

    def test_reads_of_keys_that_are_not_there_are_counted(self):
        found = self.bench("C", "--no-load", "--seconds", 0.2)
        self.check(found)
        self.assertGreater(found["absent"], 0)
        self.assertEqual(found["absent"], found["requests"])

    def test_a_wrong_request_is_one_line(self):
        self.refused("store", "bench", "Z", says="there is no such workload", code=2)
        self.refused("store", "bench", "E", "--at-once", 4, says="one scan after the other", code=2)
        self.refused("store", "bench", "A", "--at-once", 65, says="at-once", code=2)
        self.refused("store", "bench", "A", "--size", 70000000, says="size", code=2)

    def test_the_text_says_how_times_count(self):
        words = ("store", "bench", "A", "--keys", KEYS, "--seconds", 0.2)
        text = self.good(*words).out
        self.assertIn("Closed loop", text)
        self.assertIn("update", text)
        text = self.good(*words, "--no-load", "--rate", 50).out
        self.assertNotIn("Closed loop", text)
        self.assertIn("was due", text)


if __name__ == "__main__":
    main()
