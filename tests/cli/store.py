"""weft put, get, del, cas, incr, touch and stat: against real servers on real disks."""

import pathlib
import random
import sys
import tempfile

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main, weft

VALUE_MAX = (1 << 20) - 4096  # of store.segment=1M
KEY_MAX = 250


class StoreCase(ClusterCase):
    """The words of a command may contain --, so the folder and the timeout go before them."""

    def run_weft(self, command, *words, env=None, timeout=PATIENCE):
        words = ("--dir", self.folder, *words)
        if command in ("put", "get", "del", "cas", "incr", "stat", "touch") and "--timeout" not in words:
            words = ("--timeout", PATIENCE, *words)
        return weft(command, *words, env=env, timeout=2 * timeout)

    def begin_store(self):
        self.up("torus:3x3", "--service", "store", "--set", "store.segment=1M")

    def put(self, key, value, *words):
        return self.good("put", key, value, "--json", *words).json["version"]

    def get(self, key, *words):
        return self.good("get", key, *words).out

    def absent(self, *words):
        """The command says no: exit code 1, one line, no output."""
        return self.refused(*words, code=1, says="^weft: ")


class Store(StoreCase):
    def setUp(self):
        super().setUp()
        self.begin_store()

    def test_a_value_is_what_was_written_last(self):
        first = self.put("colour", "blue")
        self.assertEqual(self.get("colour"), "blue")
        second = self.put("colour", "red")
        self.assertGreater(second, first)
        for server in range(9):
            self.assertEqual(self.get("colour", "--from", server), "red")
        self.assertEqual(self.good("get", "colour", "--json").json,
                         {"key": "colour", "version": second, "flags": 0, "size": 3, "ttl_s": None,
                          "value": "red"})
        self.assertEqual(self.good("stat", "colour").out, f"colour: version {second}, 3 bytes, flags 0\n")
        self.good("del", "colour")
        self.assertIn("there is no such key", self.absent("get", "colour"))
        self.assertIn("there is no such key", self.absent("del", "colour"))
        self.assertGreater(self.put("colour", "green"), second)

    def test_values_and_keys_have_any_bytes_up_to_their_limits(self):
        seed = random.randrange(1 << 32)
        print(f"# seed {seed}")
        value = random.Random(seed).randbytes(VALUE_MAX)
        with tempfile.TemporaryDirectory() as folder:
            file, back = pathlib.Path(folder, "value"), pathlib.Path(folder, "back")
            file.write_bytes(value)
            self.good("put", "big", "--file", file)
            self.good("get", "big", "--file", back)
            self.assertEqual(back.read_bytes(), value)
            found = self.good("get", "big", "--json").json
            self.assertEqual(bytes.fromhex(found["value_hex"]), value)
            file.write_bytes(value + b"x")
            self.refused("put", "big", "--file", file, code=2, says="too large; a key has at most 250 bytes")
            self.assertEqual(self.good("stat", "big", "--json").json["size"], VALUE_MAX)
            self.refused("put", "big", "more", "--append", code=2, says="too large")
        for key in ("", "k" * KEY_MAX, "-", "\x01\n é"):
            self.good("put", "--", key, "")
            self.assertEqual(self.good("get", "--", key).out, "")
            self.assertEqual(self.good("stat", "--json", "--", key).json["size"], 0)
        self.refused("put", "k" * (KEY_MAX + 1), "x", code=2, says="too large")

    def test_conditions_hold_or_nothing_changes(self):
        self.assertIn("no such key", self.absent("put", "lock", "a", "--if-present"))
        first = self.put("lock", "a", "--if-absent")
        self.assertIn("exists already", self.absent("put", "lock", "b", "--if-absent"))
        self.assertIn(f"another version: {first}", self.absent("cas", "lock", str(first - 1), "c"))
        self.assertIn("exists already", self.absent("cas", "lock", "0", "c"))
        self.assertEqual(self.get("lock"), "a")
        second = self.good("cas", "lock", str(first), "d", "--json").json["version"]
        self.assertIn(f"another version: {second}", self.absent("del", "lock", "--if-version", str(first)))
        self.put("lock", "e", "--if-version", str(second))
        self.put("lock", "f", "--if-present", "--flags", "7")
        self.assertEqual(self.good("stat", "lock", "--json").json["flags"], 7)
        self.good("put", "lock", "g", "--append")
        self.good("put", "lock", "e", "--prepend")
        self.assertEqual(self.get("lock"), "efg")
        self.assertIn("no such key", self.absent("put", "none", "x", "--append"))
        self.assertIn("no such key", self.absent("cas", "none", "5", "x"))

    def test_numbers_are_counted(self):
        self.assertIn("no such key", self.absent("incr", "n"))
        for words, number in (("n", "--initial", "10"), 10), (("n", "--initial", "10"), 11), \
                (("n", "5"), 16), (("n", "--", "-6"), 10), (("n", "--", "-11"), 0), \
                (("n", str(2**64 - 1)), 2**64 - 1):
            self.assertEqual(self.good("incr", *words).out, f"{number}\n")
        self.refused("incr", "n", code=2, says="not a number below 2")
        self.assertEqual(self.get("n"), str(2**64 - 1))
        self.put("word", "ten")
        self.refused("incr", "word", code=2, says="not a number")
        for word in ("x", "-", "1.5", str(2**64), ""):
            self.refused("incr", "--", "n", word, code=2, says="expected a whole number")

    def test_mistakes_are_refused(self):
        for words, says in ((("put", "k", "v", "--if-absent", "--if-present"), "exclude each other"),
                            (("put", "k", "v", "--append", "--prepend"), "exclude each other"),
                            (("put", "k", "v", "--append", "--flags", "1"), "cannot be combined"),
                            (("put", "k", "v", "--file", "/dev/null"), "cannot be combined"),
                            (("put", "k", "--file", "/nowhere/file"), "/nowhere/file"),
                            (("put", "k", "v", "--if-version", "0"), "--if-version"),
                            (("cas", "k", "first", "v"), "expected a version"),
                            (("del", "k", "l", "--if-version", "4"), "about one key"),
                            (("put", "k", "v", "--append", "--ttl", "1s"), "see weft touch"),
                            (("put", "k", "v", "--ttl", "0s"), "put: --ttl: "),
                            (("put", "k", "v", "--ttl", "900000h"), "--ttl"),
                            (("touch", "k", "--ttl", "5"), "touch: --ttl: "),
                            (("touch", "k", "--ttl", "soon"), "a duration such as"),
                            (("get", "k", "--timeout", "0"), "--timeout"),
                            (("get", "k", "--from", "9"), "9")):
            self.refused(*words, code=2, says=says)

    def left(self, key, *words):
        return self.good("stat", key, "--json", *words).json["ttl_s"]

    def wait_until_absent(self, key):
        """The key expires sooner or later; until then it has its value."""
        for _ in range(10000):
            run = self.run_weft("get", key)
            if run.code == 1:
                self.assertIn("there is no such key", run.err)
                return
            self.assertEqual((run.code, run.out), (0, "v"))
        self.fail(f"{key} does not expire")

    def test_keys_expire(self):
        self.put("long", "v", "--ttl", "2h")
        self.assertLessEqual(self.left("long"), 7200)
        self.assertGreater(self.left("long", "--from", 5), 3600)
        self.assertRegex(self.good("stat", "long").out, "flags 0, expires in [0-9.]+ s$")
        self.put("short", "v", "--ttl", "1s")
        self.wait_until_absent("short")
        self.assertIn("no such key", self.absent("touch", "short", "--ttl", "1h"))
        self.put("short", "new", "--if-absent")
        self.assertIsNone(self.left("short"))

    def test_touch_sets_when_a_key_expires(self):
        first = self.put("k", "v")
        second = self.good("touch", "k", "--ttl", "3h", "--json").json["version"]
        self.assertGreater(second, first)
        self.assertEqual(self.get("k"), "v")
        self.assertGreater(self.left("k"), 3600)
        self.good("put", "k", "w", "--append")
        self.assertGreater(self.left("k"), 3600)
        self.assertRegex(self.good("touch", "k").out, "^k: version [0-9]+\n$")
        self.assertEqual(self.get("k"), "vw")
        self.assertIsNone(self.left("k"))
        self.good("touch", "k", "--ttl", "3h")
        self.put("k", "v")
        self.assertIsNone(self.left("k"))
        self.good("touch", "k", "--ttl", "10ms")
        self.wait_until_absent("k")
        self.assertIn("no such key", self.absent("touch", "k"))

    def test_a_key_expires_while_no_server_runs(self):
        self.put("short", "v", "--ttl", "1s")
        self.put("long", "v", "--ttl", "2h")
        self.down()
        self.begin_store()
        self.assertGreater(self.left("long"), 3600)
        self.wait_until_absent("short")

    def test_several_keys_are_deleted_at_once(self):
        self.put("a", "1")
        self.put("b", "2")
        run = self.run_weft("del", "a", "x", "b", "--json")
        self.assertEqual((run.code, run.json), (1, {"deleted": 2}))
        self.put("a", "3")
        self.assertEqual(self.good("del", "a").out, "1 key deleted\n")

    def test_what_was_written_survives_the_end_of_all_servers(self):
        versions = {key: self.put(key, f"value of {key}") for key in map(str, range(20))}
        self.down()
        self.begin_store()
        for key, version in versions.items():
            found = self.good("get", key, "--json").json
            self.assertEqual((found["value"], found["version"]), (f"value of {key}", version))

    def test_servers_may_die(self):
        """Of nine servers two die at a time, and come back; every value stays readable and writable."""
        keys = [str(key) for key in range(12)]
        for key in keys:
            self.put(key, "0")
        for turn, dead in enumerate(((0, 1), (4, 8), (2, 6)), start=1):
            for server in dead:
                self.good("kill", server)
            for key in keys:
                self.assertEqual(self.get(key), str(turn - 1))
                self.put(key, str(turn))
            for server in dead:
                self.good("revive", server)
        for key in keys:
            self.assertEqual(self.get(key), "3")


class NoStore(StoreCase):
    def test_a_cluster_without_a_store_is_named(self):
        self.up("torus:3")
        for words in (("put", "k", "v"), ("get", "k"), ("del", "k"), ("incr", "k"), ("stat", "k"), ("touch", "k")):
            self.refused(*words, code=1, says="runs no store; start it with: weft up SPEC --service store")
        self.down()
        self.refused("get", "k", code=2, says="no cluster here")

    def test_an_unknown_service_is_refused(self):
        self.refused("up", "torus:3", "--service", "stroe", code=2, says="stroe")
        self.assertFalse(self.folder.exists())


main()
