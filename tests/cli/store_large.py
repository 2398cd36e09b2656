"""Values of up to 64 MiB in the store: limits, programs and servers that end in the middle."""

import concurrent.futures
import os
import pathlib
import random
import signal
import struct
import sys
import tempfile

sys.path.insert(0, sys.path[0] + "/..")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
if os.environ.get("SANITIZE", "none") != "none":
    print("1..0 # SKIP the interpreter cannot load a sanitized library")
    sys.exit()
from cluster_shell import PATIENCE, ClusterCase  # noqa: E402
from tap import main, weft  # noqa: E402
from weft import program, store  # noqa: E402

MIB = 1 << 20
LARGEST = 64 * MIB
PART = 60000  # bytes of a part that a test sends
SEED = random.randrange(1 << 32)
CALL_OPEN, CALL_PART = 8, 9
SAYS_SEND, SAYS_AGAIN = 0x80, 0x82


def value_of(size, salt=0):
    return random.Random(SEED + salt).randbytes(size)


class Case(ClusterCase):
    def begin_store(self, *words):
        print(f"# seed {SEED}")
        self.up("torus:3", "--service", "store", *words)

    def open(self, server=None):
        keys = store.Store(self.folder, server)
        self.addCleanup(keys.close)
        return keys

    def run_weft(self, command, *words, env=None, timeout=PATIENCE):
        words = ("--dir", self.folder, *words)
        if command in ("put", "get", "stat"):
            words = ("--timeout", PATIENCE, *words)
        return weft(command, *words, env=env, timeout=2 * timeout)

    def kill(self, server):
        os.kill(int((self.folder / f"node-{server}.lock").read_text().split()[0]), signal.SIGKILL)

    def large_bytes(self, server):
        nodes = self.good("nodes", "--json").json["nodes"]
        return nodes[server]["services"]["store"]["large_bytes"]


class Limits(Case):
    def test_values_of_64_mebibytes_are_kept_and_no_larger_ones(self):
        self.begin_store()
        keys = self.open()
        value = value_of(LARGEST)
        keys.put("largest", value, PATIENCE)
        for server in range(3):
            self.assertTrue(self.open(server).get("largest", timeout=PATIENCE) == value)
        for call in (lambda: keys.put("more", value + b"x", PATIENCE),
                     lambda: keys.append("largest", b"x", PATIENCE),
                     lambda: keys.prepend("largest", b"x", PATIENCE)):
            with self.assertRaises(store.TooLarge):
                call()
        self.assertIsNone(keys.get("more", timeout=PATIENCE))
        keys.put("joined", value[100:-100], PATIENCE)
        keys.append("joined", value[-100:], PATIENCE)
        keys.prepend("joined", value[:100], PATIENCE)
        self.assertTrue(keys.get("joined", timeout=PATIENCE) == value)
        with self.assertRaises(store.TooLarge):
            keys.append("joined", b"x", PATIENCE)
        with self.assertRaises(store.NotNumber):
            keys.add("joined", 1, PATIENCE)
        keys.delete("joined", PATIENCE)
        self.assertIsNone(keys.get("joined", timeout=PATIENCE))
        for server in range(3):
            self.until(lambda server=server: self.large_bytes(server) == 0, "memory is free")

    def test_commands_read_and_write_files_of_any_size(self):
        self.begin_store()
        with tempfile.TemporaryDirectory() as folder:
            file, back = pathlib.Path(folder, "value"), pathlib.Path(folder, "back")
            for size in (65000, 65001, 131072, LARGEST):
                file.write_bytes(value_of(size))
                self.good("put", "file", "--file", file)
                self.good("get", "file", "--file", back)
                self.assertTrue(back.read_bytes() == file.read_bytes())
                self.assertEqual(self.good("stat", "file", "--json").json["size"], size)
            file.write_bytes(bytes(LARGEST + 1))
            self.refused("put", "file", "--file", file, code=2, says="a value 64 MiB")
            self.assertEqual(self.good("stat", "file", "--json").json["size"], LARGEST)

    def test_small_segments_have_smaller_values(self):
        self.begin_store("--set", "store.segment=1M")
        keys = self.open()
        largest = MIB - 4096
        value = value_of(largest)
        keys.put("key", value, PATIENCE)
        with self.assertRaises(store.TooLarge):
            keys.put("key", value + b"x", PATIENCE)
        with self.assertRaises(store.TooLarge):
            keys.append("key", b"x", PATIENCE)
        self.assertTrue(keys.get("key", timeout=PATIENCE) == value)


class Programs(Case):
    def test_programs_put_large_values_at_once(self):
        self.begin_store()

        def run(number):
            with store.Store(self.folder, number % 3) as keys:
                for turn in range(4):
                    value = value_of(MIB + number, 10 * number + turn)
                    keys.put(f"program {number}", value, PATIENCE)
                    if keys.get(f"program {number}", timeout=PATIENCE) != value:
                        return False
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(list(pool.map(run, range(8))), [True] * 8)

    def test_a_program_takes_many_large_answers_at_once(self):
        self.begin_store()
        keys = self.open()
        values = {f"key {i}": value_of(70000 * (i + 1), i) for i in range(20)}
        self.assertEqual(len(dict(keys.put_many(values, PATIENCE))), 20)
        self.assertTrue(dict(keys.get_many(values, timeout=PATIENCE)) == values)

    def test_an_upload_goes_on_at_another_server_when_its_server_ends(self):
        self.begin_store()
        keys = self.open()
        value = value_of(LARGEST)
        ticket = keys.post(store.PUT, "key", value, PATIENCE)
        for _ in range(30):  # a part of the value is on its way
            try:
                keys.take(0)
                break
            except store.WouldBlock:
                pass
        self.kill(0)
        answer = keys.take(PATIENCE)
        self.assertEqual((answer.ticket, answer.error), (ticket, None))
        self.assertTrue(keys.get("key", timeout=PATIENCE) == value)


class Lies(Case):
    """What only a program does that is no friend, or ends in the middle."""

    def setUp(self):
        super().setUp()
        self.begin_store()
        self.weft = program.Attachment(self.folder, 0)
        self.addCleanup(self.weft.close)
        self.service = self.weft.find("store", PATIENCE)
        self.number = 0

    def head(self, size):
        """Of a request to put the key "k"."""
        self.number += 1
        return struct.pack(">BBBIQIQQqQBI", store.PUT, 0, 0, 0, 77, self.number, 0, 0,
                           PATIENCE * 10**9, 0, 1, size) + b"k"

    def begin_upload(self, size):
        """Returns the name of the upload."""
        said = self.weft.ask(self.service, bytes([CALL_OPEN]) + self.head(size), PATIENCE)
        self.assertEqual(said[0], SAYS_SEND)
        return struct.unpack(">Q", said[1:])[0]

    def part(self, name, offset, value, last=False):
        return struct.pack(">BQIBBqI", CALL_PART, name, offset, last, 0, PATIENCE * 10**9,
                           len(value)) + value

    def send(self, *words, **named):
        self.weft.post(self.service, self.part(*words, **named), PATIENCE, answer=False)

    def ask_last(self, name, offset, value):
        return self.weft.ask(self.service, self.part(name, offset, value, last=True), PATIENCE)[0]

    def test_parts_that_come_twice_or_are_missing_do_no_harm(self):
        value = value_of(2 * PART)
        name = self.begin_upload(2 * PART)
        self.send(name, 0, value[:PART])
        self.send(name, 0, b"x" * PART)  # once more, with other bytes
        self.assertEqual(self.ask_last(name, PART, value[PART:]), 0)
        self.assertTrue(self.open(1).get("k", timeout=PATIENCE) == value)
        self.assertEqual(self.ask_last(name, PART, value[PART:]), SAYS_AGAIN)  # it is over
        name = self.begin_upload(3 * PART)
        self.send(name, PART, value[:PART])  # the first one is missing
        self.assertEqual(self.ask_last(name, 2 * PART, value[:PART]), SAYS_AGAIN)
        name = self.begin_upload(2 * PART)
        self.assertEqual(self.ask_last(name, 0, value[:PART]), SAYS_AGAIN)  # it is not whole
        name = self.begin_upload(2 * PART)
        self.send(name, 0, value[:PART])
        self.assertEqual(self.ask_last(name, PART, value[:PART] + b"x"), SAYS_AGAIN)  # too much
        self.assertEqual(self.ask_last(name + 1, 0, value[:PART]), SAYS_AGAIN)  # of no program
        self.assertEqual(self.ask_last(2**64 - 1, 0, value[:PART]), SAYS_AGAIN)
        self.assertTrue(self.open(1).get("k", timeout=PATIENCE) == value)
        self.until(lambda: self.large_bytes(0) == 0, "memory is free")

    def test_sizes_that_make_no_sense_are_refused(self):
        for size, status in ((LARGEST + 1, 9), (1000, 9), (0, 9)):
            said = self.weft.ask(self.service, bytes([CALL_OPEN]) + self.head(size), PATIENCE)
            self.assertEqual(said[0], status)  # malformed
        said = self.weft.ask(self.service, bytes([CALL_OPEN]), PATIENCE)
        self.assertEqual(said[0], 9)
        said = self.weft.ask(self.service, bytes([CALL_PART]), PATIENCE)
        self.assertEqual(said[0], 9)

    def test_the_upload_of_another_program_is_not_touched(self):
        name = self.begin_upload(2 * PART)
        value = value_of(2 * PART)
        self.send(name, 0, value[:PART])
        with program.Attachment(self.folder, 0) as other:
            said = other.ask(self.service, self.part(name, PART, b"x" * PART, last=True), PATIENCE)
            self.assertEqual(said[0], SAYS_AGAIN)
        self.assertEqual(self.ask_last(name, PART, value[PART:]), 0)
        self.assertTrue(self.open(1).get("k", timeout=PATIENCE) == value)

    def test_the_memory_of_a_program_that_ends_is_given_to_the_next_one(self):
        self.begin_upload(LARGEST)
        self.assertGreaterEqual(self.large_bytes(0), LARGEST)
        self.weft.close()
        value = value_of(LARGEST)
        keys = self.open(0)
        keys.put("key", value, PATIENCE)
        self.assertTrue(keys.get("key", timeout=PATIENCE) == value)

    def test_a_program_that_sends_nothing_more_makes_others_wait_only_for_a_time(self):
        self.begin_upload(LARGEST)
        keys = self.open(0)
        keys.put("key", value_of(LARGEST), PATIENCE)


main()
