"""Tests of weft in processes that fork, also by multiprocessing."""

import gc
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import traceback
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bindings" / "python")]
from tap import main

FOLDER = tempfile.TemporaryDirectory(prefix="weft-")
os.environ["WEFT_FOLDER"] = FOLDER.name
os.environ["WEFT_DOMAIN"] = "fork"

if os.environ.get("SANITIZE", "none") != "none":
    print("1..0 # SKIP the interpreter cannot load a sanitized library")
    sys.exit()

from weft import ripc, sst

PATIENCE = 20  # seconds; nothing takes that long


def in_child(call, *arguments):
    """Runs the call in a child of os.fork. Returns its exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            call(*arguments)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def serve(ready):
    """A process with a child that does nothing."""
    with ripc.Context() as context, context.bind(77) as service:
        child = os.fork()
        if child == 0:
            signal.alarm(100)
            while True:
                signal.pause()
        ready.send(child)
        for message in service:
            message.reply(message.data, timeout=PATIENCE)


class Fork(unittest.TestCase):
    def setUp(self):
        self.here, self.there = ripc.Context(), ripc.Context()
        self.addCleanup(self.here.close)
        self.addCleanup(self.there.close)
        self.client, self.server = self.here.bind(), self.there.bind()

    def exchange(self):
        self.client.send(self.server.id, b"there", timeout=PATIENCE)
        with self.server.receive(PATIENCE) as message:
            message.reply(b"back", timeout=PATIENCE)
        with self.client.receive(PATIENCE) as message:
            self.assertEqual(message.data, b"back")

    def test_calls_in_a_child_raise(self):
        self.exchange()
        buffer, notice = self.here.alloc(1000), self.here.notice()
        calls = [
            lambda: self.client.send(self.server.id, b"x", timeout=1),
            lambda: self.server.receive(1), lambda: self.server.poll(timeout=1),
            lambda: self.here.bind(5), lambda: self.here.alloc(10), lambda: self.here.stats(),
            lambda: self.here.progress(), lambda: self.client.fileno(), lambda: notice.wait(1),
            lambda: self.here.register(bytearray(100)), notice.close, buffer.free,
            self.client.close, self.here.close,
        ]

        def use():
            for call in calls:
                with self.assertRaises(ripc.Inherited):
                    call()
            with self.assertRaises(ChildProcessError):
                self.server.close()
            self.assertTrue(self.server.close())  # closing twice is harmless

        self.assertEqual(in_child(use), 0)
        self.exchange()
        buffer.free()
        notice.close()

    def test_collecting_objects_in_a_child_changes_nothing(self):
        self.client.send(self.server.id, b"kept", timeout=PATIENCE)
        message = self.server.receive(PATIENCE)
        table = sst.Table(self.here, 5, {"step": "u64"})
        kept = {"here": self.here, "there": self.there, "message": message, "table": table,
                "buffer": self.here.alloc(100), "client": self.client, "server": self.server}

        def drop():
            nonlocal message, table
            message = table = None
            self.__dict__.clear()
            kept.clear()
            gc.collect()

        self.assertEqual(in_child(drop), 0)
        self.assertEqual(message.data, b"kept")
        message.release()
        table.set("step", 3)
        self.exchange()
        self.assertTrue(table.close())

    def test_the_exit_handler_of_a_child_changes_nothing(self):
        table = sst.Table(self.here, 6, {"step": "u64"})
        # The other exit handlers would remove this test's folder.
        self.assertEqual(in_child(sst._close_all), 0)
        self.exchange()
        self.assertTrue(table.close())

    def test_a_block_that_a_child_leaves_does_not_raise(self):
        def leave():
            with self.client, self.here:
                pass

        self.assertEqual(in_child(leave), 0)
        self.exchange()

    def test_a_process_of_multiprocessing_opens_its_own_context(self):
        def talk(to):
            with ripc.Context() as context, context.bind() as service:
                service.send(to, b"from the child", timeout=PATIENCE)
                service.receive(PATIENCE).release()

        process = multiprocessing.get_context("fork").Process(target=talk, args=(self.server.id,))
        process.start()
        with self.server.receive(PATIENCE) as message:
            self.assertEqual(message.data, b"from the child")
            message.reply(b"well", timeout=PATIENCE)
        process.join(PATIENCE)
        self.assertEqual(process.exitcode, 0)
        self.exchange()

    def test_an_idle_child_keeps_no_name_of_its_killed_parent(self):
        ready, told = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=serve, args=(told,))
        self.client.watch(77)
        process.start()
        child = ready.recv()
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.client.send(77, b"hello", timeout=PATIENCE)
        self.assertEqual(self.client.receive(PATIENCE).data, b"hello")
        process.kill()
        process.join()
        kind = None
        while kind != ripc.DOWN:
            kind = self.client.poll(1, PATIENCE)[0].kind
        self.here.bind(77).close()
        os.kill(child, 0)  # it still runs


try:
    main()
finally:
    ripc.clean()
    FOLDER.cleanup()
