"""Tests of all of weft.ripc, with two contexts in one process and with two processes."""

import asyncio
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bindings" / "python")]
from tap import main

FOLDER = tempfile.TemporaryDirectory(prefix="weft-")
os.environ["WEFT_FOLDER"] = FOLDER.name
os.environ["WEFT_DOMAIN"] = "python"

if os.environ.get("SANITIZE", "none") != "none":
    print("1..0 # SKIP the interpreter cannot load a sanitized library")
    sys.exit()

from weft import ripc

PATIENCE = 10  # seconds; nothing takes that long


class Case(unittest.TestCase):
    def setUp(self):
        self.here, self.there = ripc.Context(), ripc.Context()
        self.addCleanup(self.here.close)
        self.addCleanup(self.there.close)
        self.client, self.server = self.here.bind(), self.there.bind()

    def exchange(self, *pieces, **options):
        operation = self.client.send(self.server.id, *pieces, timeout=PATIENCE, **options)
        return operation, self.server.receive(PATIENCE)


class Short(Case):
    def test_a_request_gets_its_reply(self):
        operation, message = self.exchange(b"hello ", bytearray(b"world"))
        self.assertIsNone(operation)
        self.assertEqual((message.data, message.shorts), (b"hello world", [b"hello ", b"world"]))
        self.assertEqual((message.sender, message.to), (self.client.id, self.server.id))
        message.reply(b"back", timeout=PATIENCE)
        self.assertEqual(self.client.receive(PATIENCE).data, b"back")

    def test_an_empty_message_and_the_largest(self):
        self.assertEqual(self.exchange()[1].data, b"")
        big = bytes(range(256)) * 35
        self.assertEqual(self.exchange(big[:ripc.SHORT_MAX])[1].data, big[:ripc.SHORT_MAX])

    def test_each_error_has_its_class_and_text(self):
        with self.assertRaises(ripc.UnknownService) as caught:
            self.client.send(0xdeadbeef, b"x", timeout=0.2)
        self.assertEqual(caught.exception.strerror, "no process holds that id")
        with self.assertRaises(ripc.WouldBlock):
            self.server.receive(0)
        with self.assertRaises(TimeoutError):
            self.server.receive(0.01)
        with self.assertRaises(ripc.InUse):
            self.there.bind(self.client.id)
        with self.assertRaises(OSError):
            self.client.send(self.server.id, bytes(ripc.SHORT_MAX + 1), timeout=1)
        with self.assertRaisesRegex(ripc.Error, "nonsense"):
            ripc.Context(transports="nonsense")

    def test_closed_objects_raise_value_error(self):
        self.client.close()
        with self.assertRaises(ValueError):
            self.client.send(self.server.id, b"x")
        self.there.close()
        with self.assertRaises(ValueError):
            self.server.receive(0)
        with self.assertRaises(ValueError):
            self.there.bind()
        self.there.close()

    def test_a_signal_interrupts_a_wait(self):
        class Rung(Exception):
            pass

        def ring(*_):
            raise Rung

        old = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(Rung):
            self.server.receive()

    def test_other_threads_run_while_one_waits(self):
        got = []
        thread = threading.Thread(target=lambda: got.append(self.server.receive(PATIENCE).data))
        thread.start()
        self.client.send(self.server.id, b"to the thread", timeout=PATIENCE)
        thread.join()
        self.assertEqual(got, [b"to the thread"])


class Long(Case):
    SIZE = 300000

    def sent(self):
        buffer = self.here.alloc(self.SIZE)
        buffer.view[:] = bytes(i * 7 % 251 for i in range(self.SIZE))
        return buffer

    def test_an_item_arrives_in_a_window(self):
        buffer, window = self.sent(), self.there.alloc(self.SIZE)
        self.there.window_add(window, self.server)
        operation, message = self.exchange(b"head", longs=[buffer])
        with message:
            self.assertEqual(message.data, b"head")
            self.assertEqual((message.longs[0].status, message.longs[0].size), (0, self.SIZE))
            self.assertEqual(window.view, buffer.view)
            self.assertEqual(message.longs[0].view, buffer.view)
        operation.wait(PATIENCE)
        buffer.free()
        with self.assertRaises(ValueError):
            buffer.view[0]

    def test_a_pending_item_is_fetched_or_rejected(self):
        buffer = self.sent()
        operation, message = self.exchange(longs=[buffer, buffer.view[:1000]])
        with message:
            self.assertTrue(message.longs[0].pending)
            self.assertEqual(message.longs[0].fetch(timeout=PATIENCE), buffer.view)
            into = bytearray(1000)
            message.longs[1].fetch(into, PATIENCE)
            self.assertEqual(into, bytes(buffer.view[:1000]))
        operation.wait(PATIENCE)
        operation, message = self.exchange(longs=[buffer])
        message.longs[0].reject()
        message.release()
        with self.assertRaises(ripc.Rejected):
            operation.wait(PATIENCE)

    def test_a_reply_goes_into_the_return_buffer(self):
        back = self.here.alloc(self.SIZE)
        _, message = self.exchange(b"please", returns=[back])
        self.assertEqual(message.return_count, 1)
        answer = self.there.alloc(1000)
        answer.view[:] = b"a" * 1000
        with message:
            operation = message.reply(longs=[answer], timeout=PATIENCE)
        with self.client.receive(PATIENCE) as reply:
            self.assertTrue(reply.longs[0].returned)
            self.assertEqual(bytes(reply.longs[0].view), b"a" * 1000)
            self.assertEqual(back.view[:1000], answer.view)
        if operation:
            operation.wait(PATIENCE)

    def test_a_reply_is_in_the_return_buffer_after_its_sender_has_closed(self):
        back = self.here.alloc(1000)
        _, message = self.exchange(returns=[back])
        answer = self.there.alloc(1000)
        answer.view[:] = b"c" * 1000
        with message:
            message.reply(longs=[answer], timeout=PATIENCE)
        self.there.close()
        while not self.here.stats()["peers_lost"]:  # notice its end before its reply
            os.sched_yield()
        with self.client.receive(PATIENCE) as reply:
            self.assertTrue(reply.longs[0].returned)
            self.assertEqual(bytes(back.view), b"c" * 1000)

    def test_the_library_can_allocate_the_return_buffer(self):
        _, message = self.exchange(returns=[5000])
        answer = self.there.alloc(4000)
        answer.view[:] = b"b" * 4000
        with message:
            operation = message.reply(longs=[answer], timeout=PATIENCE)
        with self.client.receive(PATIENCE) as reply:
            self.assertEqual(bytes(reply.longs[0].view), b"b" * 4000)
        if operation:
            operation.wait(PATIENCE)

    def test_a_return_buffer_can_be_withdrawn(self):
        back = self.here.alloc(100)
        _, message = self.exchange(returns=[back])
        message.release()
        self.client.withdraw(back, PATIENCE)
        with self.assertRaises(ripc.Error):
            self.client.withdraw(back, PATIENCE)
        back.free()

    def test_long_items_are_sent_from_registered_memory(self):
        memory = bytearray(os.urandom(8192))
        with self.assertRaises(OSError):
            self.client.send(self.server.id, longs=[memory], timeout=1)
        self.here.register(memory)
        operation, message = self.exchange(longs=[memory])
        with message:
            self.assertEqual(message.longs[0].fetch(timeout=PATIENCE), memory)
        operation.wait(PATIENCE)
        self.here.unregister(memory)

    def test_a_completion_is_reported_as_an_event(self):
        operation, message = self.exchange(longs=[self.sent()], user=77)
        with message:
            message.longs[0].fetch(timeout=PATIENCE)
        event, = self.client.poll(timeout=PATIENCE)
        self.assertEqual(event[:4], (ripc.DONE, 0, operation.number, 77))

    def test_a_cancelled_operation_releases_its_memory(self):
        buffer = self.sent()
        operation, message = self.exchange(longs=[buffer])
        with self.assertRaises(ripc.Error):
            buffer.free()
        self.assertEqual(len(buffer), self.SIZE)
        operation.cancel(PATIENCE)
        message.release()
        buffer.free()


class Others(Case):
    def test_a_message_to_a_group_reaches_all_members(self):
        third = self.there.bind()
        for member in (self.server, third):
            member.join(0x6009)
        self.client.send(0x6009, b"to all", timeout=PATIENCE)
        for member in (self.server, third):
            message = member.receive(PATIENCE)
            self.assertEqual((message.data, message.to), (b"to all", 0x6009))
        members = {name.member for name in self.here.names() if name.id == 0x6009}
        self.assertEqual(members, {self.server.id, third.id})
        third.leave(0x6009)

    def test_a_notice_receives_notifications(self):
        with self.there.notice() as notice:
            self.client.notify(bytes(notice.handle), 5, PATIENCE)
            self.assertTrue(select.select([notice], [], [], PATIENCE)[0])
            self.assertEqual(notice.wait(PATIENCE), (1, 5))
            with self.assertRaises(ripc.WouldBlock):
                notice.wait(0)

    def test_a_notification_calls_the_callback(self):
        rung, seen = threading.Event(), []
        notice = self.there.notice(lambda count, value: (seen.append((count, value)), rung.set()))
        self.client.notify(notice.handle, 9, PATIENCE)
        self.assertTrue(rung.wait(PATIENCE))
        self.assertEqual(seen, [(1, 9)])
        notice.close()

    def test_a_grant_allows_reads_and_writes_until_revoked(self):
        memory = self.here.alloc(4096)
        memory.view[:] = b"m" * 4096
        grant = self.client.grant(self.server.id, memory, ripc.READ | ripc.WRITE)
        self.assertEqual(self.server.read(grant, 4090, timeout=PATIENCE), b"m" * 6)
        self.server.write(grant, b"new", 10, PATIENCE)
        self.assertEqual(bytes(memory.view[9:14]), b"mnewm")
        self.client.revoke(grant, PATIENCE)
        with self.assertRaises(ripc.Denied):
            self.server.read(grant, 0, 1, PATIENCE)

    def test_a_watched_id_is_reported_up_and_down(self):
        self.client.watch(0x77)
        other = self.there.bind(0x77)
        self.assertEqual([(event.kind, event.id) for event in self.client.poll(timeout=PATIENCE)],
                         [(ripc.UP, 0x77)])
        other.close()
        self.assertEqual(self.client.poll(timeout=PATIENCE)[0].kind, ripc.DOWN)
        self.client.unwatch(0x77)

    def test_a_service_retires_and_moves_without_a_loss(self):
        for word in b"one", b"two", b"three":
            self.client.send(self.server.id, word, timeout=PATIENCE)
        self.server.retire(moves=True)
        self.assertEqual([message.data for message in self.server], [b"one", b"two", b"three"])
        with self.assertRaises(ripc.Retired):
            self.server.receive(PATIENCE)
        with self.assertRaises(ripc.WouldBlock):
            self.client.send(self.server.id, b"four", timeout=0)
        self.assertTrue(self.server.close())
        with ripc.Context() as beyond, beyond.bind(self.server.id) as server:
            self.client.send(server.id, b"four", timeout=PATIENCE)
            self.assertEqual(server.receive(PATIENCE).data, b"four")
        self.assertEqual(self.here.stats()["lost"], 0)

    def test_messages_that_a_closed_service_did_not_receive_are_reported(self):
        for word in b"one", b"two", b"three":
            self.client.send(self.server.id, word, timeout=PATIENCE)
        self.assertEqual(self.server.receive(PATIENCE).data, b"one")
        self.server.close()
        event, = self.client.poll(timeout=PATIENCE)
        self.assertEqual(event, (ripc.LOST, 0, 0, 0, self.server.id, 2, 0))
        self.assertEqual(self.here.stats()["lost"], 2)
        self.assertEqual(self.there.stats()["dropped_unread"], 2)

    def test_names_and_statistics(self):
        names = {name.id: name for name in self.here.names()}
        self.assertEqual(names[self.server.id].pid, os.getpid())
        self.assertFalse(names[self.server.id].group)
        self.assertIsNone(self.client.transport(self.server.id))
        self.exchange(b"12345")
        self.assertEqual(self.client.transport(self.server.id), "shm")
        self.assertEqual((self.here.stats()["sent"], self.there.stats()["received"]), (1, 1))
        self.assertGreaterEqual(ripc.clean(), 0)

    def test_a_service_works_with_select(self):
        self.assertTrue(self.server.arm())
        self.client.send(self.server.id, b"x", timeout=PATIENCE)
        while True:  # readable does not always mean a message: a pipe that opens wakes too
            self.assertEqual(select.select([self.server], [], [], PATIENCE)[0], [self.server])
            try:
                message = self.server.receive(0)
                break
            except ripc.WouldBlock:
                self.server.arm()
        self.assertEqual(message.data, b"x")

    def test_a_service_works_with_asyncio(self):
        async def answer():
            for _ in range(3):
                message = await self.server.receive_async()
                message.reply(message.data, timeout=PATIENCE)

        async def ask():
            serving = asyncio.create_task(answer())
            for word in (b"one", b"two", b"three"):
                self.client.send(self.server.id, word, timeout=PATIENCE)
                self.assertEqual((await self.client.receive_async()).data, word)
            await serving

        asyncio.run(asyncio.wait_for(ask(), PATIENCE))


class Processes(unittest.TestCase):
    EXAMPLE = ROOT / "bindings" / "python" / "examples" / "echo.py"

    def test_the_example_prints_its_words(self):
        done = subprocess.run([sys.executable, self.EXAMPLE], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "hello\nworld\n", ""))
        self.assertLess(len(self.EXAMPLE.read_text().splitlines()), 40)

    def send_until_refused(self, service, to):
        """The name may disappear a moment before the pipe breaks; until then sends are lost."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            service.send(to, b"dead?", timeout=0.5)
            time.sleep(0.001)

    def test_a_killed_peer_is_noticed(self):
        with ripc.Context() as context, context.bind() as service:
            child = subprocess.Popen([sys.executable, self.EXAMPLE, "server", "0xabc"])
            try:
                service.watch(0xabc)
                self.assertEqual(service.poll(timeout=PATIENCE)[0].kind, ripc.UP)
                service.send(0xabc, b"alive?", timeout=PATIENCE)
                self.assertEqual(service.receive(PATIENCE).data, b"alive?")
                child.kill()
                child.wait()
                self.assertEqual(service.poll(timeout=PATIENCE)[0].kind, ripc.DOWN)
                with self.assertRaises((ripc.UnknownService, ripc.PeerGone)):
                    self.send_until_refused(service, 0xabc)
            finally:
                child.kill()
                child.wait()


try:
    main()
finally:
    FOLDER.cleanup()
