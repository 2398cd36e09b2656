"""weft ls and the scans of weft.store: all keys of real clusters in order, while others write."""

import os
import pathlib
import random
import sys
import threading

sys.path.insert(0, sys.path[0])
sys.path.insert(0, sys.path[0] + "/..")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
if os.environ.get("SANITIZE", "none") != "none":
    print("1..0 # SKIP the interpreter cannot load a sanitized library")
    sys.exit()
from cluster_shell import PATIENCE, ClusterCase  # noqa: E402
from tap import main  # noqa: E402
from weft import store  # noqa: E402

KEY_MAX = 250


def printed(key):
    """As weft ls prints the key, if it is ASCII or no text."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else "\\\\" if byte == 92
                   else f"\\x{byte:02x}" for byte in key)


class Case(ClusterCase):
    def open(self, server=None):
        keys = store.Store(self.folder, server)
        self.addCleanup(keys.close)
        return keys

    def begin_store(self, spec="torus:3"):
        self.up(spec, "--service", "store", "--set", "store.segment=1M")

    def put_all(self, keys):
        """Returns the version of each key."""
        return dict(self.open().put_many(((key, key[:100]) for key in keys), PATIENCE))

    def ls(self, *words):
        """Returns the lines."""
        return self.good("ls", "--timeout", PATIENCE, *words).out.splitlines()


class Names(Case):
    """Keys of all sizes and of any bytes."""

    def setUp(self):
        super().setUp()
        self.begin_store()
        self.names = [b"", b"a", b"a\0", b"a\0b", b"aa", b"a\xff", b"a\xff\xff", b"b\\c", b"\xff" * KEY_MAX,
                      b"\xff" * (KEY_MAX - 1), b"k" * KEY_MAX, b"\n", b"user/1", b"user/10", b"user/2"]
        self.versions = self.put_all(self.names)

    def found(self, prefix):
        return sorted(name for name in self.names if name.startswith(prefix))

    def test_keys_of_any_bytes_are_listed_in_order(self):
        keys = self.open()
        for prefix in (b"", b"a", b"a\0", b"a\xff", b"\xff", b"\xff" * KEY_MAX, b"k" * KEY_MAX, b"user/", b"none"):
            self.assertEqual(list(keys.keys(prefix, PATIENCE)), self.found(prefix))
            for most in (1, 2, 1000):
                self.assertEqual(list(keys.keys(prefix, PATIENCE, most=most)), self.found(prefix))
        for item in keys.scan(b"", PATIENCE):
            self.assertEqual((item.version, item.size), (self.versions[item.key], min(len(item.key), 100)))
        self.assertEqual(list(keys.items(b"a", PATIENCE)), [(name, name) for name in self.found(b"a")])
        for after in (b"", b"a", b"a\xff", b"az", b"\xff" * KEY_MAX):
            self.assertEqual(list(keys.keys(b"", PATIENCE, after=after)),
                             [name for name in self.found(b"") if name > after])
        self.assertEqual(list(keys.keys(b"a", PATIENCE, after=b"b")), [])
        for words in ({"prefix": b"x" * (KEY_MAX + 1)}, {"after": b"x" * (KEY_MAX + 1)}):
            with self.assertRaises(store.TooLarge):
                list(keys.keys(timeout=PATIENCE, **words))
        with self.assertRaises(store.Error):
            list(keys.keys(timeout=PATIENCE, most=1001))

    def test_the_command_prints_any_bytes(self):
        self.assertEqual(self.ls(), [printed(name) for name in self.found(b"")])
        self.assertEqual(self.ls("user/"), ["user/1", "user/10", "user/2"])
        self.assertEqual(self.ls("k" * KEY_MAX), ["k" * KEY_MAX])
        self.assertEqual(self.ls("none"), [])
        self.assertEqual(self.ls("user/", "--after", "user/1", "--limit", "1"), ["user/10"])
        self.assertEqual([line.split() for line in self.ls("user/", "--long")],
                         [[str(self.versions[name]), str(len(name)), name.decode()] for name in self.found(b"user/")])
        found = self.good("ls", "--json").json
        self.assertEqual([bytes.fromhex(row["key_hex"]) if "key_hex" in row else row["key"].encode()
                          for row in found["keys"]], self.found(b""))
        self.assertEqual([row["version"] for row in found["keys"]],
                         [self.versions[name] for name in self.found(b"")])
        self.assertFalse(found["more"])
        self.assertEqual(self.good("ls", "user/", "--limit", "1", "--json").json,
                         {"keys": [{"key": "user/1", "version": self.versions[b"user/1"], "size": 6, "ttl_s": None}],
                          "more": True})
        self.assertEqual(self.good("ls", "none", "--json").json, {"keys": [], "more": False})

    def test_a_deleted_key_is_not_listed(self):
        keys = self.open()
        keys.delete(b"aa", PATIENCE)
        keys.delete(b"", PATIENCE)
        self.names = [name for name in self.names if name not in (b"aa", b"")]
        for server in range(3):
            self.assertEqual(list(self.open(server).keys(b"", PATIENCE)), self.found(b""))

    def test_a_key_that_expires_is_listed_until_then(self):
        keys = self.open()
        keys.put(b"user/3", b"", PATIENCE, ttl=3600)
        keys.put(b"user/4", b"", PATIENCE, ttl=0.2)
        ttl = {item.key: item.ttl for item in keys.scan(b"user/", PATIENCE)}
        self.assertIsNone(ttl[b"user/1"])
        self.assertTrue(3000 < ttl[b"user/3"] <= 3600)
        rows = {row["key"]: row["ttl_s"] for row in self.good("ls", "user/", "--json").json["keys"]}
        self.assertTrue(3000 < rows["user/3"] <= 3600)
        self.until(lambda: b"user/4" not in list(keys.keys(b"user/", PATIENCE)), "user/4 expires")
        self.assertEqual(list(keys.keys(b"user/3", PATIENCE)), [b"user/3"])

    def test_mistakes_are_refused(self):
        for words, says in ((("x" * (KEY_MAX + 1),), "at most 250 bytes"), (("--limit", "0"), "--limit"),
                            (("--after", "x" * (KEY_MAX + 1)), "at most 250 bytes"),
                            (("--server", "1", "--from", "1"), "exclude each other"),
                            (("--server", "7"), "7")):
            self.refused("ls", *words, code=2, says=says)
        self.good("kill", 1)
        self.refused("ls", "--server", 1, code=1, says="1")

    def test_the_copies_of_one_server_are_listed(self):
        """Of three servers each holds all keys, once it has learned them; each by itself, if the others are dead."""
        names = [printed(name) for name in self.found(b"")]
        for server in range(3):
            self.until(lambda number=server: self.ls("--server", number) == names, f"server {server} holds all keys")
        self.good("kill", 0)
        self.good("kill", 1)
        self.assertEqual(self.ls("--server", 2), names)

    def test_without_enough_servers_no_page_is_shorter(self):
        """The last of three servers cannot know whether it still leads, or what the others know."""
        self.good("kill", 0)
        self.good("kill", 1)
        run = self.refused("ls", "--timeout", "3", code=1, says="^weft: ls: ")
        self.assertRegex(run, "too few servers|no answer until the deadline")


class Crowd(Case):
    """10,000 keys, which are there from beginning to end, while others come, change and go."""

    KEYS = [b"key/%05d" % number for number in range(10000)]

    def disturb(self, server, stop, seed):
        """Changes some of the keys, and puts and deletes others."""
        with store.Store(self.folder, server) as keys:
            draw = random.Random(seed)
            while not stop.is_set():
                some = {draw.choice(self.KEYS): draw.randbytes(draw.randrange(200)) for _ in range(20)}
                others = [b"key/%05d/%d" % (draw.randrange(10000), server) for _ in range(20)]
                list(keys.put_many(some, PATIENCE))
                list(keys.put_many({key: b"" for key in others}, PATIENCE))
                for key in set(others):
                    keys.delete(key, PATIENCE)

    def check(self, listed):
        """Keys are in order, each once, and those that exist are all there."""
        self.assertEqual(listed, sorted(set(listed)))
        self.assertEqual([key for key in listed if len(key) == 9], self.KEYS)
        self.assertTrue(all(key[:9] in self.known for key in listed))

    def run_crowd(self, spec, servers):
        seed = random.randrange(1 << 32)
        print(f"# seed {seed}")
        self.known = set(self.KEYS)
        self.begin_store(spec)
        self.put_all(self.KEYS)
        stop = threading.Event()
        writers = [threading.Thread(target=self.disturb, args=(server, stop, seed + server)) for server in (0, 1)]
        for writer in writers:
            writer.start()
        try:
            for server in servers:
                keys = self.open(server)
                self.check(list(keys.keys(b"", PATIENCE)))
                self.check(list(keys.keys(b"key/", PATIENCE, most=777)))
            self.check([line.encode() for line in self.ls()])
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        self.assertEqual([key for key, _ in self.open().items(b"key/0123", PATIENCE)], self.KEYS[1230:1240])

    def test_three_servers_list_all_keys_while_others_write(self):
        self.run_crowd("torus:3", range(3))

    def test_so_do_27(self):
        self.run_crowd("torus:3x3x3", (0, 13, 26))


main()
