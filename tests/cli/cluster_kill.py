"""Kills a third of the servers one by one while pings to keys run: the pings continue, and the status
is correct all the time. The longest time without an answer is printed, but not judged."""

import json
import random
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import ClusterCase
from processes import lives
from tap import main

SEED = 1


class Kill(ClusterCase):
    def homes(self, count):
        """Names whose keys have different homes, and these homes; never server 0."""
        found = {}
        for number in range(1000):
            where = self.good("where", f"key-{number}", "--json").json
            if where["home"] != 0:
                found.setdefault(where["home"], f"key-{number}")
            if len(found) == count:
                return found
        self.fail("keys are not spread")

    def test_nine_of_27_servers_are_killed_one_by_one(self):
        print(f"# seed {SEED}")
        self.up("torus:3x3x3")
        homes = self.homes(9)
        victims = list(homes)
        random.Random(SEED).shuffle(victims)
        first = victims[0]
        heirs = [place["server"] for place in
                 self.good("where", homes[first], "--replicas", 27, "--json").json["replicas"]]
        pings = [self.begin("ping", homes[victim], "--from", 0, "--interval", 20, "--json")
                 for victim in (first, victims[4])]

        dead = []
        for victim in victims:
            killed = self.good("kill", victim, "--json").json
            self.assertFalse(lives(killed["pid"]))
            dead.append(victim)
            status = self.status()
            self.assertEqual(status["servers"]["dead"], sorted(dead))
            self.assertEqual(status["health"], "WARN", status["reasons"])
            self.assertIn("SERVERS_DOWN", self.codes(status))
            answered = self.good("ping", homes[victim], "--from", 0, "--count", 5, "--json").json
            self.assertGreater(answered["answered"], 0)
            self.assertTrue(set(dead).isdisjoint(one["server"] for one in answered["answered_by"][-1:]))
        found = self.good("where", homes[first], "--from", 0, "--json").json
        self.assertEqual(found["root"], next(server for server in heirs if server not in dead))

        for shell in pings:
            out, err = self.finish(shell)
            self.assertEqual((shell.returncode, err), (130, ""))
            done = json.loads(out)
            self.assertGreater(done["answered"], 0)
            print(f"# {done['sent']} pings at 20 ms, {done['lost']} lost, "
                  f"longest without an answer {done['longest_gap_ns'] / 1e6:.0f} ms")

        for victim in victims:
            self.pids.add(self.good("revive", victim, "--json").json["pid"])
            dead.remove(victim)
            self.assertEqual(self.status()["servers"]["dead"], sorted(dead))
        self.well()
        for victim in victims:  # revived servers have their keys again
            self.assertEqual(self.good("where", homes[victim], "--json").json["root"], victim)
            done = self.ping(homes[victim], "--from", 0, "--count", 5)
            self.assertEqual(([one["server"] for one in done["answered_by"]], done["lost"]), ([victim], 0))
        self.down()


main()
