"""Key spaces of real stores: keys in memory, with copies of their own, and what happens when servers end."""

import pathlib
import sys
import tempfile

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main

SPACES = "store.spaces=m/:memory,m/one/:copies=1:groups=16:memory,d/:copies=2"


class SpacesCase(ClusterCase):
    def begin_store(self, *words, topology="torus:3"):
        self.up(topology, "--service", "store", *words)

    def put(self, key, value):
        return self.good("put", key, value, "--timeout", PATIENCE, "--json").json["version"]

    def get(self, key):
        return self.good("get", key, "--timeout", PATIENCE).out

    def store(self, *words):
        done = self.run_weft("store", "status", "--json", *words)
        self.assertEqual(done.err, "")
        return done.json

    def settle(self):
        """Waits until all groups have all their copies."""
        store = self.store("--wait", PATIENCE)
        self.assertEqual(store["health"], "OK", store["reasons"])
        return store

    def check_copies(self, store, count):
        """There are so many copies. A server that led a group before others joined keeps it until the next view."""
        held = sum(node["groups_held"] for node in store["nodes"])
        self.assertTrue(count <= held <= count + store["groups"]["all"] // 4, held)

    def kill(self, *servers):
        for server in servers:
            self.good("kill", server)

    def revive(self, *servers):
        for server in servers:
            self.good("revive", server)


class Memory(SpacesCase):
    def setUp(self):
        super().setUp()
        self.begin_store("--set", SPACES)
        self.settle()

    def test_a_copy_in_memory_is_enough(self):
        versions = {f"m/{i}": self.put(f"m/{i}", f"value {i}") for i in range(40)}
        for first in range(3):
            self.kill(first, (first + 1) % 3)
            self.revive(first, (first + 1) % 3)
            self.settle()
            for key, version in versions.items():
                self.assertEqual(self.good("stat", key, "--timeout", PATIENCE, "--json").json["version"], version)
        self.assertEqual(self.get("m/7"), "value 7")

    def test_keys_in_memory_end_with_all_their_servers(self):
        version = self.put("m/key", "memory")
        self.put("key", "disk")
        self.kill(0, 1, 2)
        self.revive(0, 1, 2)
        self.settle()
        self.assertEqual(self.get("key"), "disk")
        self.refused("get", "m/key", "--timeout", PATIENCE, says="there is no such key")
        self.assertGreater(self.put("m/key", "again"), version)
        self.assertEqual(self.get("m/key"), "again")

    def test_without_its_copies_a_group_waits_and_does_not_forget(self):
        """Two servers end and start again, while the third one, which has all keys, is away."""
        self.put("m/key", "memory")
        self.kill(0, 1, 2)
        self.revive(0, 1)
        self.refused("get", "m/key", "--timeout", "3", says="no answer until the deadline|too few servers")
        unavailable = self.store()["groups"]["unavailable"]
        self.assertGreater(unavailable, 0)
        self.assertEqual({one["server"] for one in self.store()["unavailable"] if one["reason"] == "away"}, {2})
        self.revive(2)
        self.settle()
        self.refused("get", "m/key", "--timeout", PATIENCE, says="there is no such key")

    def test_values_in_memory_are_smaller(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"large " * (7 << 17))
            file.flush()
            self.good("put", "m/large", "--file", file.name, "--timeout", PATIENCE)
            self.assertEqual(self.get("m/large"), "large " * (7 << 17))
            file.write(b"large " * (7 << 17))
            file.flush()
            self.refused("put", "m/large", "--file", file.name, "--timeout", PATIENCE, code=2, says="too large")
            self.good("put", "large", "--file", file.name, "--timeout", PATIENCE)

    def test_each_space_has_its_copies(self):
        store = self.settle()
        self.assertEqual(store["groups"]["all"], 256 + 64 + 16 + 64)
        self.check_copies(store, 3 * (256 + 64) + 16 + 2 * 64)
        for key in ("m/one/a", "m/one", "d/a"):
            self.put(key, key)
        self.assertEqual(self.good("ls", "m/", "--timeout", PATIENCE).out.split(), ["m/one", "m/one/a"])
        self.kill(1)
        self.assertEqual(self.get("d/a"), "d/a")
        self.assertEqual(self.get("m/one"), "m/one")


class Full(SpacesCase):
    def test_a_full_memory_refuses_values_until_there_is_space(self):
        self.begin_store("--set", "store.spaces=m/:memory", "--set", "store.memory_size=4M")
        self.settle()
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"v" * 60000)
            file.flush()
            taken = 0
            while self.run_weft("put", f"m/{taken}", "--file", file.name, "--timeout", "2").code == 0:
                taken += 1
                self.assertLess(taken, 4 << 20)
            self.assertGreater(taken, 20)
            self.refused("put", "m/more", "--file", file.name, "--timeout", "2", says="no more space")
            self.assertEqual(self.get(f"m/{taken - 1}"), "v" * 60000)
            self.good("put", "on disk", "--file", file.name, "--timeout", PATIENCE)
            self.assertIn("STORE_FULL", self.codes(self.status()))
            self.assertIn("memory full", self.run_weft("store", "status").out)
            for number in range(taken):
                self.good("del", f"m/{number}", "--timeout", PATIENCE)
            self.good("put", "m/more", "--file", file.name, "--timeout", PATIENCE)
            self.until(lambda: self.store()["health"] == "OK", "there is space again")


class Layout(SpacesCase):
    """What was set up on a disk stays."""

    def begin_with(self, *words):
        self.begin_store("--data", self.data, *words)

    def test_another_layout_is_refused(self):
        self.data = pathlib.Path(self.above.name) / "data"
        self.begin_with("--set", SPACES)
        self.settle()
        for key in range(40):
            self.put(f"d/{key}", f"value {key}")
        self.down()
        for words in ((), ("--set", SPACES.replace("memory", "disk")), ("--set", SPACES + ",more/"),
                      ("--set", SPACES, "--set", "store.group_count=128"),
                      ("--set", SPACES, "--set", "store.medium=memory")):
            self.begin_with(*words)
            self.until(lambda: {node["state"] for node in self.store()["nodes"]} == {"refuses to run"}, "is refused")
            self.assertIn("set up with other store.spaces", self.store()["nodes"][0]["error"])
            self.refused("put", "d/1", "other", "--timeout", "1", says="too few servers")
            self.down()
        self.begin_with("--set", SPACES.replace("copies=2", "copies=3"))
        for key in range(40):
            self.assertEqual(self.get(f"d/{key}"), f"value {key}")
        store = self.settle()
        self.check_copies(store, 3 * (256 + 64 + 64) + 16)

    def test_mistakes_are_refused_before_anything_starts(self):
        for words, says in (("store.spaces=m/:tape", "store.spaces: this is not for a key space: 'tape'"),
                            ("store.spaces=:memory", "a prefix has 1 to 64 bytes"),
                            ("store.spaces=a/:copies=9", "'copies=9'"), ("store.spaces=a/,a/", "twice"),
                            ("store.medium=tape", "none of disk|memory")):
            self.refused("up", "torus:3", "--service", "store", "--set", words, code=2, says=says)


main()
