"""Programs that use the store by weft.store, the Python binding of weft/store.h."""

import asyncio
import errno
import os
import pathlib
import random
import select
import signal
import sys
import threading
import time

sys.path.insert(0, sys.path[0])
sys.path.insert(0, sys.path[0] + "/..")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings" / "python"))
if os.environ.get("SANITIZE", "none") != "none":
    print("1..0 # SKIP the interpreter cannot load a sanitized library")
    sys.exit()
from cluster_shell import PATIENCE, ClusterCase  # noqa: E402
from tap import main  # noqa: E402
from weft import store  # noqa: E402

VALUE_MAX = (1 << 20) - 4096  # of store.segment=1M


class Case(ClusterCase):
    def setUp(self):
        super().setUp()
        self.up("torus:3", "--service", "store", "--set", "store.segment=1M")

    def open(self, server=None):
        keys = store.Store(self.folder, server)
        self.addCleanup(keys.close)
        return keys

    def signal(self, server, number):
        os.kill(int((self.folder / f"node-{server}.lock").read_text().split()[0]), number)

    def begin_thread(self, run, *words):
        """The thread ends before the store is closed that was opened before."""
        thread = threading.Thread(target=run, args=words)
        thread.start()
        self.addCleanup(thread.join)
        return thread

    def raises(self, kind, number, call, *words, **named):
        """The call raises exactly that class with that errno. Returns the exception."""
        with self.assertRaises(store.Error) as caught:
            call(*words, **named)
        self.assertEqual((type(caught.exception), caught.exception.errno), (kind, number))
        return caught.exception


class Requests(Case):
    def test_a_value_is_what_was_put_last(self):
        keys = self.open()
        self.assertIsNone(keys.get("colour", timeout=PATIENCE))
        self.assertEqual(keys.get("colour", b"none", PATIENCE), b"none")
        self.assertIsNone(keys.get_entry("colour", PATIENCE))
        first = keys.put("colour", b"blue", PATIENCE)
        second = keys.put("colour", b"red", PATIENCE, flags=2**32 - 1)
        self.assertLess(first, second)
        for server in range(3):
            found = self.open(server).get_entry("colour", PATIENCE)
            self.assertEqual(found, (b"red", second, 2**32 - 1, None))
        self.assertEqual(keys.append("colour", b"dish", PATIENCE), keys.get_entry("colour", PATIENCE).version)
        self.assertLess(second, keys.prepend("colour", b"infra", PATIENCE))
        self.assertEqual(keys.get("colour", timeout=PATIENCE), b"infrareddish")
        keys.delete("colour", PATIENCE)
        self.assertIsNone(keys.get("colour", timeout=PATIENCE))
        for call in (keys.delete, keys.add):
            self.raises(store.Missing, errno.ENOENT, call, "colour", timeout=PATIENCE)
        for call in (keys.append, keys.prepend):
            self.raises(store.Missing, errno.ENOENT, call, "colour", b"x", PATIENCE)

    def test_keys_expire(self):
        keys = self.open()
        first = keys.put("session", b"mine", PATIENCE, ttl=3600)
        self.assertTrue(1800 < keys.get_entry("session", PATIENCE).ttl <= 3600)
        keys.append("session", b"!", PATIENCE)
        self.assertTrue(1800 < keys.get_entry("session", PATIENCE).ttl <= 3600)
        second = keys.touch("session", timeout=PATIENCE)
        self.assertLess(first, second)
        self.assertEqual(keys.get_entry("session", PATIENCE), (b"mine!", second, 0, None))
        self.assertLess(second, keys.touch("session", 0.001, PATIENCE, if_version=second))
        while keys.get("session", timeout=PATIENCE) is not None:
            pass
        self.raises(store.Missing, errno.ENOENT, keys.touch, "session", 1, PATIENCE)
        keys.put("session", b"next", PATIENCE, if_absent=True)
        ticket = keys.post(store.TOUCH, "session", ttl=7200, timeout=PATIENCE)
        answer = keys.take(PATIENCE)
        self.assertEqual((answer.ticket, answer.error), (ticket, None))
        self.assertGreater(keys.get_entry("session", PATIENCE).ttl, 3600)
        for ttl in (0, -1, 1e11):
            self.assertRaises(ValueError, keys.put, "session", b"x", PATIENCE, ttl=ttl)
        self.raises(store.Error, errno.EINVAL, keys._ask, store._request(store.GET, "session", ttl=1), PATIENCE)

    def test_keys_and_values_have_any_bytes_up_to_their_limits(self):
        keys, seed = self.open(), random.randrange(1 << 32)
        print(f"# seed {seed}")
        value = random.Random(seed).randbytes(VALUE_MAX)
        for key in (b"", bytes(range(250)), b"k\0" * 125):
            keys.put(key, value, PATIENCE)
            self.assertEqual(keys.get(bytearray(key), timeout=PATIENCE), value)
            keys.put(key, memoryview(b"\0x"), PATIENCE)
            self.assertEqual(keys.get(memoryview(key), timeout=PATIENCE), b"\0x")
            keys.put(key, b"", PATIENCE)
            self.assertEqual(keys.get(key, timeout=PATIENCE), b"")
        keys.put("Größe", b"5", PATIENCE)
        self.assertEqual(keys.get("Größe".encode(), timeout=PATIENCE), b"5")
        self.raises(store.TooLarge, errno.EFBIG, keys.get, "k" * 251, timeout=PATIENCE)
        self.raises(store.TooLarge, errno.EFBIG, keys.put, "k", value + b"x", PATIENCE)
        keys.put("k", value, PATIENCE)
        self.raises(store.TooLarge, errno.EFBIG, keys.append, "k", b"x", PATIENCE)
        self.assertEqual(keys.get("k", timeout=PATIENCE), value)

    def test_conditions_hold_or_nothing_changes(self):
        keys = self.open()
        self.raises(store.Missing, errno.ENOENT, keys.put, "lock", b"a", PATIENCE, if_present=True)
        stale = self.raises(store.Stale, errno.ESTALE, keys.put, "lock", b"a", PATIENCE, if_version=5)
        self.assertEqual(stale.version, 0)
        first = keys.put("lock", b"a", PATIENCE, if_absent=True)
        exists = self.raises(store.Exists, errno.EEXIST, keys.put, "lock", b"b", PATIENCE, if_absent=True)
        self.assertEqual(exists.version, first)
        stale = self.raises(store.Stale, errno.ESTALE, keys.exchange, "lock", b"b", first - 1, PATIENCE)
        self.assertEqual(stale.version, first)
        self.assertIsInstance(stale, store.Conflict)
        self.raises(store.Exists, errno.EEXIST, keys.exchange, "lock", b"b", 0, PATIENCE)
        self.raises(store.Stale, errno.ESTALE, keys.delete, "lock", PATIENCE, if_version=first + 1)
        self.raises(store.Stale, errno.ESTALE, keys.append, "lock", b"x", PATIENCE, if_version=first + 1)
        self.assertEqual(keys.get_entry("lock", PATIENCE), (b"a", first, 0, None))
        second = keys.exchange("lock", b"c", first, PATIENCE)
        third = keys.prepend("lock", b"b", PATIENCE, if_version=second)
        self.assertEqual(keys.get_entry("lock", PATIENCE), (b"bc", third, 0, None))
        keys.delete("lock", PATIENCE, if_version=third)
        self.assertLess(third, keys.exchange("lock", b"d", 0, PATIENCE))

    def test_numbers_are_counted(self):
        keys, last = self.open(), 2**64 - 1
        self.assertEqual([keys.add("n", timeout=PATIENCE, initial=10) for _ in range(3)], [10, 11, 12])
        self.assertEqual([keys.add("n", delta, PATIENCE) for delta in (5, -7, 0, -11, last)],
                         [17, 10, 10, 0, last])
        self.raises(store.NotNumber, errno.ERANGE, keys.add, "n", 1, PATIENCE)
        self.assertEqual(keys.add("n", -last, PATIENCE), 0)
        keys.put("word", b"ten", PATIENCE)
        self.raises(store.NotNumber, errno.ERANGE, keys.add, "word", 1, PATIENCE)
        self.assertEqual(keys.get("n", timeout=PATIENCE), b"0")

    def test_what_makes_no_sense_is_refused(self):
        keys = self.open()
        for call, words in ((keys.add, {"delta": 2**64}), (keys.add, {"initial": -1}), (keys.add, {"initial": 2**64}),
                            (keys.delete, {"if_version": 0}), (keys.delete, {"if_version": 2**64}),
                            (keys.delete, {"if_version": 1, "if_absent": True})):
            with self.assertRaises(ValueError):
                call("k", **words)
        for words in ((5, b"v"), ("k", "v"), ("k", 5), (None, b"v")):
            with self.assertRaises(TypeError):
                keys.put(*words)
        for words in ({"flag": 1}, {"delta": 1}):
            with self.assertRaises(TypeError):
                keys.put("k", b"v", PATIENCE, **words)
        with self.assertRaises(ValueError):
            keys.put("k", b"v", flags=2**32)
        self.raises(store.Error, errno.EINVAL, keys.post, 99, "k")
        self.assertIsNone(keys.get("k", timeout=PATIENCE))
        keys.close()
        keys.close()
        for call, words in ((keys.get, ["k"]), (keys.take, []), (keys.fileno, []), (keys.arm, [])):
            with self.assertRaisesRegex(ValueError, "closed"):
                call(*words)


class Many(Case):
    def test_many_values_are_put_and_read(self):
        keys = self.open()
        items = {f"key {i}": b"value %d" % i for i in range(300)}
        versions = dict(keys.put_many(items, PATIENCE))
        self.assertEqual(set(versions), set(items))
        for key in ("key 0", "key 299"):
            self.assertEqual(keys.get_entry(key, PATIENCE), (items[key], versions[key], 0, None))
        self.assertEqual(dict(keys.get_many(items, timeout=PATIENCE)), items)
        pairs = [("key 5", b"new"), (b"key 6", b"newer")]
        self.assertEqual({key for key, _ in keys.put_many(pairs, PATIENCE)}, {"key 5", b"key 6"})
        found = dict(keys.get_many(iter(["key 5", "none", "key 6", b"none"]), b"?", PATIENCE))
        self.assertEqual(found, {"key 5": b"new", "key 6": b"newer", "none": b"?", b"none": b"?"})
        self.assertEqual(list(keys.get_many([], timeout=PATIENCE)), [])
        self.assertEqual(list(keys.get_many(["none", "none"], timeout=PATIENCE)), [("none", None)] * 2)

    def test_64_requests_of_a_generator_are_under_way(self):
        keys = self.open()
        self.signal(0, signal.SIGSTOP)
        self.addCleanup(self.signal, 0, signal.SIGCONT)
        thread = self.begin_thread(lambda: list(keys.get_many(map(str, range(100)), timeout=PATIENCE)))
        self.until(lambda: len(keys._boxes) == 64, "64 requests under way")
        self.signal(0, signal.SIGCONT)
        thread.join()
        self.assertEqual(keys._boxes, {})

    def test_an_error_names_its_key(self):
        keys = self.open()
        with self.assertRaises(store.TooLarge) as caught:  # it is not even posted
            list(keys.put_many([("a", b"1"), ("k" * 251, b"2")], PATIENCE))
        self.assertEqual(caught.exception.key, "k" * 251)
        self.stop_all()
        with self.assertRaises(store.Timeout) as caught:
            list(keys.get_many(["a"], timeout=0.1))
        self.assertEqual(caught.exception.key, "a")

    def stop_all(self):
        for server in range(3):
            self.signal(server, signal.SIGSTOP)
            self.addCleanup(self.signal, server, signal.SIGCONT)

    def test_generators_and_requests_share_a_store(self):
        """Each gets its own answers, however many are under way; those of an abandoned one are dropped."""
        keys = self.open()
        items = {str(i): b"%d" % i for i in range(200)}
        self.assertEqual(len(list(keys.put_many(items, PATIENCE))), 200)
        abandoned = keys.get_many(items, timeout=PATIENCE)
        next(abandoned)
        abandoned.close()
        self.assertEqual(list(keys.answers()), [])
        tickets = {keys.post(store.GET, str(i), timeout=PATIENCE): b"%d" % i for i in range(20)}
        first, second = (keys.get_many(items, timeout=PATIENCE) for _ in range(2))
        for (one, value), (other, same) in zip(first, second, strict=True):
            self.assertEqual((value, same), (items[one], items[other]))
            self.assertEqual(keys.get(one, timeout=PATIENCE), value)
        found = {answer.ticket: answer.value for answer in keys.answers()}
        self.assertEqual(found, tickets)
        self.raises(store.Idle, errno.ENODATA, keys.take, PATIENCE)

    def test_no_more_than_64_requests_are_under_way(self):
        keys = self.open()
        self.signal(0, signal.SIGSTOP)
        self.addCleanup(self.signal, 0, signal.SIGCONT)
        with self.assertRaises(store.Idle):
            keys.take(0)
        tickets = {keys.post(store.PUT, str(i), b"%d" % i, PATIENCE, flags=i, if_absent=True): i for i in range(64)}
        self.assertEqual(len(tickets), 64)
        self.raises(store.WouldBlock, errno.EAGAIN, keys.post, store.GET, "x", timeout=PATIENCE)
        self.raises(store.WouldBlock, errno.EAGAIN, keys.take, 0)
        self.raises(store.Timeout, errno.ETIMEDOUT, keys.take, 0.01)
        self.signal(0, signal.SIGCONT)
        answers = [keys.take(PATIENCE) for _ in tickets]
        self.assertEqual({answer.ticket for answer in answers}, set(tickets))
        self.assertEqual({answer.error for answer in answers}, {None})
        versions = {tickets[answer.ticket]: answer.version for answer in answers}
        for i in range(64):
            self.assertEqual(keys.get_entry(str(i), PATIENCE), (b"%d" % i, versions[i], i, None))
        again = keys.post(store.PUT, "5", b"", PATIENCE, if_absent=True)
        answer = keys.take(PATIENCE)
        self.assertEqual((answer.ticket, type(answer.error), answer.error.version, answer.value),
                         (again, store.Exists, versions[5], None))

    def test_threads_share_a_store(self):
        keys, wrong = self.open(), []

        def run(name):
            try:
                for i in range(100):
                    value = b"%d" % i
                    keys.put(name, value, PATIENCE)
                    if keys.get(name, timeout=PATIENCE) != value:
                        wrong.append((name, i))
                    keys.add("sum", 1, PATIENCE, initial=1)
            except Exception as error:  # a thread's exception would only be printed
                wrong.append(error)

        threads = [self.begin_thread(run, f"thread {n}") for n in range(4)]
        items = {str(i): b"%d" % i for i in range(300)}
        self.assertEqual(len(list(keys.put_many(items, PATIENCE))), 300)
        self.assertEqual(dict(keys.get_many(items, timeout=PATIENCE)), items)
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(keys.get("sum", timeout=PATIENCE), b"400")
        self.assertEqual(keys._boxes, {})


class Loops(Case):
    def loop(self, keys, count):
        """Takes answers in an event loop of select."""
        descriptor, answers = keys.fileno(), []
        while len(answers) < count:
            try:
                answers.append(keys.take(0))
                continue
            except (store.WouldBlock, store.Idle):
                pass
            if keys.arm():
                self.assertEqual(select.select([descriptor], [], [], PATIENCE)[0], [descriptor])
        return answers

    def test_an_event_loop_waits_for_the_descriptor(self):
        keys = self.open()
        keys.put("n", b"0", PATIENCE)
        for i in range(1, 200):  # one at a time: each sleep needs a wake-up of its own
            keys.post(store.INCR, "n", timeout=PATIENCE, delta=1)
            self.assertEqual(self.loop(keys, 1)[0].number, i)

    def test_a_loop_can_arm_before_it_has_the_descriptor(self):
        keys = self.open(0)
        keys.put("k", b"v", PATIENCE)
        self.signal(0, signal.SIGSTOP)
        self.addCleanup(self.signal, 0, signal.SIGCONT)
        ticket = keys.post(store.GET, "k", timeout=2 * PATIENCE)
        for _ in range(200):  # also takes the rings of former sleeps out of the socket
            self.raises(store.WouldBlock, errno.EAGAIN, keys.take, 0)
        self.assertTrue(keys.arm())
        descriptor = keys.fileno()
        self.signal(0, signal.SIGCONT)
        self.assertEqual(select.select([descriptor], [], [], PATIENCE)[0], [descriptor])
        self.assertEqual(keys.take(PATIENCE).ticket, ticket)

    def test_an_event_loop_sees_what_another_thread_received(self):
        keys, wrong = self.open(), []
        keys.put("k", b"v", PATIENCE)

        def run():
            for _ in range(300):
                if keys.get("k", timeout=PATIENCE) != b"v":
                    wrong.append("k")

        thread = self.begin_thread(run)
        for _ in range(300):
            keys.post(store.GET, "k", timeout=PATIENCE)
            self.assertEqual(self.loop(keys, 1)[0].value, b"v")
        thread.join()
        self.assertEqual(wrong, [])

    def test_an_answer_that_another_thread_is_about_to_hand_over_is_waited_for(self):
        keys, received, take = self.open(), threading.Event(), store._take

        def slow_take(*words):
            answer = take(*words)
            received.set()
            time.sleep(0.5)
            return answer

        def run():
            while not received.is_set():
                keys._turn([], 2**63 - 1)

        self.addCleanup(setattr, store, "_take", take)
        store._take = slow_take
        keys.fileno()
        ticket = keys.post(store.GET, "k", timeout=PATIENCE)
        self.begin_thread(run)
        self.assertTrue(received.wait(PATIENCE))
        self.assertFalse(keys.arm())
        self.assertEqual(keys.take(0).ticket, ticket)

    def test_an_answer_that_waits_here_is_not_slept_on(self):
        keys = self.open()
        keys.fileno()
        keys.post(store.GET, "posted", timeout=PATIENCE)
        while not keys._answers:
            keys.get("k", timeout=PATIENCE)
        self.assertFalse(keys.arm())
        keys.take(0)
        self.assertTrue(keys.arm())

    def test_asyncio_takes_answers(self):
        async def run(keys):
            for i in range(50):
                keys.post(store.PUT, str(i), b"%d" % i, PATIENCE)
            puts = [answer.error async for answer in keys.answers()]
            tickets = {keys.post(store.GET, str(i), timeout=PATIENCE): b"%d" % i for i in range(50)}
            return puts, {answer.ticket: answer.value async for answer in keys.answers()}, tickets

        puts, found, tickets = asyncio.run(asyncio.wait_for(run(self.open()), PATIENCE))
        self.assertEqual((puts, found), ([None] * 50, tickets))


class Trouble(Case):
    def test_a_child_cannot_use_the_store_of_its_parent(self):
        keys = self.open()
        keys.put("k", b"parent", PATIENCE)
        descriptor = keys.fileno()
        child = self.fork_in_a_call(keys)
        if not child:
            signal.alarm(PATIENCE)
            code = 1
            try:
                for call, words in ((keys.get, ["k"]), (keys.take, []), (keys.fileno, []), (keys.arm, [])):
                    self.raises(store.Inherited, errno.ECHILD, call, *words)
                self.assertRaises(OSError, os.fstat, descriptor)
                keys.close()
                with store.Store(self.folder) as own:
                    own.append("k", b" and child", PATIENCE)
                code = 0
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(keys.get("k", timeout=PATIENCE), b"parent and child")

    def fork_in_a_call(self, keys):
        """Forks while another thread holds the lock of the store."""
        held, forked = threading.Event(), threading.Event()

        def run():
            with keys._changed:
                held.set()
                forked.wait()

        thread = self.begin_thread(run)
        held.wait()
        child = os.fork()
        if child:
            forked.set()
            thread.join()
        return child

    def test_calls_change_to_another_server(self):
        keys = self.open()
        keys.put("n", b"0", PATIENCE)
        self.signal(0, signal.SIGKILL)
        self.assertEqual([keys.add("n", 1, PATIENCE) for _ in range(20)], list(range(1, 21)))
        bound = store.Store(self.folder, 1)
        self.addCleanup(bound.close)
        self.assertEqual(bound.get("n", timeout=PATIENCE), b"20")

    def test_a_server_that_was_stopped_does_not_answer_from_the_past(self):
        for server in range(3):
            other = self.open((server + 1) % 3)
            stopped = self.open(server)
            for i in range(8):
                other.put(f"key {i}", b"old", PATIENCE)
                self.assertEqual(stopped.get(f"key {i}", timeout=PATIENCE), b"old")
            self.signal(server, signal.SIGSTOP)
            self.addCleanup(self.signal, server, signal.SIGCONT)
            for i in range(8):  # the others go on without the server
                other.put(f"key {i}", b"new", PATIENCE)
            for i in range(8):
                stopped.post(store.GET, f"key {i}", timeout=PATIENCE)
            self.signal(server, signal.SIGCONT)
            self.assertEqual([stopped.take(PATIENCE).value for i in range(8)], [b"new"] * 8)

    def test_a_request_ends_at_its_timeout(self):
        keys = self.open(0)
        keys.put("k", b"v", PATIENCE)
        self.signal(0, signal.SIGSTOP)
        self.addCleanup(self.signal, 0, signal.SIGCONT)
        begin = time.monotonic()
        self.assertIsInstance(self.raises(store.Timeout, errno.ETIMEDOUT, keys.put, "k", b"w", 0.3), TimeoutError)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)
        self.signal(0, signal.SIGKILL)
        self.until(lambda: self.unreachable(keys), "the end of server 0")

    def unreachable(self, keys):
        try:
            keys.put("k", b"x", 0.1)
        except store.Timeout:  # it was sent
            return False
        except store.Unreachable as error:
            return isinstance(error, ConnectionError)
        return False

    def test_an_interrupt_ends_a_wait(self):
        keys = self.open(0)
        keys.put("k", b"v", PATIENCE)
        self.signal(0, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            keys.get("k", timeout=PATIENCE)
        self.assertLess(time.monotonic() - begin, PATIENCE / 2)
        self.signal(0, signal.SIGCONT)
        self.assertEqual(keys.get("k", timeout=PATIENCE), b"v")  # not the answer to the former
        self.raises(store.Idle, errno.ENODATA, keys.take, PATIENCE)


class Absence(ClusterCase):
    def test_a_cluster_without_a_store_is_named(self):
        with self.assertRaises(store.Absent):
            store.Store(self.folder)
        self.up("torus:3")
        for server in (None, 1):
            with self.assertRaisesRegex(store.Unsupported, "weft up --service store"):
                store.Store(self.folder, server)
        with self.assertRaises(store.Absent):
            store.Store(self.folder, 3)
        with self.assertRaisesRegex(ValueError, "32 bits"):
            store.Store(self.folder, 2**32)


main()
