"""Programs that use a server by weft.program, the Python binding of weft/weft.h: answers, events,
deadlines, and servers that stop, die and return."""

import asyncio
import errno
import os
import pathlib
import select
import signal
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
from weft import program  # noqa: E402

TALK = os.environ["TALK"]
SERVERS = 3


class Case(ClusterCase):
    ways = (False, True)  # through shared memory, and through the socket

    def setUp(self):
        super().setUp()
        self.up(f"torus:{SERVERS}", "--service", TALK)

    def attach(self, server=0, socket_only=False):
        attachment = program.Attachment(self.folder, server, socket_only)
        self.addCleanup(attachment.close)
        self.assertEqual(attachment.state[:3], (server, True, not socket_only))
        return attachment

    def ask(self, attachment, text):
        return attachment.ask("talk", text.encode(), timeout=PATIENCE).decode()

    def take(self, attachment):
        return attachment.take(PATIENCE)


class Requests(Case):
    def test_a_request_gets_its_answer(self):
        for socket_only in self.ways:
            attachment = self.attach(1, socket_only)
            for text in ("", "a", "b" * 200):
                self.assertEqual(self.ask(attachment, "echo " + text), text)
            for size in (0, 1, 8940, 8941, program.MESSAGE_MAX):
                self.assertEqual(self.ask(attachment, f"size {size}"), "x" * size)
            self.assertEqual(attachment.find("talk", PATIENCE), 400)
            with self.assertRaises(program.Absent):
                attachment.find("nonsense", PATIENCE)
            with self.assertRaises(program.Absent):
                attachment.ask(999, b"", PATIENCE)
            with self.assertRaises(program.Error) as caught:
                attachment.ask("talk", b"x" * (program.MESSAGE_MAX + 1), PATIENCE)
            self.assertEqual(caught.exception.errno, errno.EMSGSIZE)
            nowhere = (program.lib.weft_ask(attachment._open(), 1, None, 5, None, 0, 0),
                       program.lib.weft_ask(attachment._open(), 1, b"x", 1, None, 5, 0),
                       program.lib.weft_find(attachment._open(), None, 0))
            self.assertEqual(set(nowhere), {-errno.EINVAL})
            large = b"echo " + b"y" * (program.MESSAGE_MAX - 5)
            self.assertEqual(attachment.ask("talk", large, PATIENCE), b"y" * 250)

    def test_what_c_cannot_represent_reaches_no_other_server_or_service(self):
        attachment = self.attach()
        for server in (-1, 2**32, 2**40):
            with self.assertRaisesRegex(ValueError, "32 bits"):
                program.Attachment(self.folder, server)
        with self.assertRaisesRegex(ValueError, "zero byte"):
            program.Attachment(f"{self.folder}\0x", 0)
        number = attachment.find("talk", PATIENCE)
        for service in (number + 2**32, number - 2**32):
            with self.assertRaisesRegex(ValueError, "32 bits"):
                attachment.ask(service, b"echo x", timeout=PATIENCE)
        with self.assertRaisesRegex(ValueError, "zero byte"):
            attachment.find("talk\0x", PATIENCE)
        self.assertEqual(attachment.ask("talk", b"echo x", timeout=float("inf")), self.ask(attachment, "echo x").encode())

    def test_many_requests_are_under_way(self):
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            tickets = {attachment.post("talk", b"echo %d" % i, PATIENCE): i for i in range(300)}
            self.assertEqual(len(tickets), 300)
            held = attachment.post("talk", b"hold", PATIENCE)
            self.assertEqual(self.ask(attachment, "echo between"), "between")
            self.assertEqual(self.ask(attachment, "release"), "released")
            for _ in range(300):
                message = self.take(attachment)
                self.assertEqual((message.kind, message.result, message.service),
                                 (program.ANSWER, 0, 400))
                self.assertEqual(int(message.data), tickets.pop(message.ticket))
            message = self.take(attachment)
            self.assertEqual((message.ticket, message.data), (held, b"held"))
            self.assertEqual(attachment.state.under_way, 0)
            with self.assertRaises(program.WouldBlock):
                attachment.take(0)
            lost = attachment.post(999, b"", PATIENCE)
            message = self.take(attachment)
            self.assertEqual((message.kind, message.result, message.ticket),
                             (program.ENDED, -errno.ENOENT, lost))
            twice = attachment.post("talk", b"twice", PATIENCE)
            self.assertEqual([(m.ticket, m.data) for m in (self.take(attachment), self.take(attachment))],
                             [(twice, b"one"), (twice, b"two")])

    def test_a_request_times_out_and_its_late_answer_is_dropped(self):
        attachment = self.attach()
        attachment.find("talk", PATIENCE)
        with self.assertRaises(program.Timeout):
            attachment.ask("talk", b"hold", 0.05)
        self.assertEqual(self.ask(attachment, "release"), "released")
        with self.assertRaises(program.WouldBlock):
            attachment.take(0)
        with self.assertRaises(program.Timeout):
            attachment.take(0.01)

    def test_events_arrive_as_the_program_reads_them(self):
        for socket_only in self.ways:
            attachment = self.attach(2, socket_only)
            ticket = attachment.post("talk", b"event 20000", PATIENCE)
            self.assertEqual(self.attach(2).ask("talk", b"echo x", PATIENCE), b"x")
            for i in range(20000):  # more than fit into the channel or the socket
                message = self.take(attachment)
                self.assertEqual((message.kind, message.ticket, message.data),
                                 (program.EVENT, 0, b"event %d" % i))
            message = self.take(attachment)
            self.assertEqual((message.ticket, message.data), (ticket, b"sent"))
            self.assertEqual(attachment.state.dropped, 0)

    def last(self, attachment):
        """Takes all answers. Those that find no room are dropped by the service; so the last request is repeated."""
        while True:
            try:
                data = attachment.take(1).data
            except program.Timeout:
                attachment.post("talk", b"echo last", timeout=PATIENCE)
                continue
            if data != b"z" * 200:
                return data

    def test_a_full_attachment_accepts_requests_again(self):
        """Nothing reads the answers: at last there is no room for requests, and then there is."""
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            attachment.find("talk", PATIENCE)
            self.kill(0, signal.SIGSTOP)
            sent = 0
            with self.assertRaises(program.WouldBlock):
                while True:
                    attachment.post("talk", b"echo " + b"z" * 200, timeout=0)
                    sent += 1
            self.assertGreater(sent, 50)
            with self.assertRaises(program.Timeout):
                attachment.post("talk", b"echo z", timeout=0.05)
            threading.Timer(0.2, lambda: self.kill(0, signal.SIGCONT)).start()
            attachment.post("talk", b"echo last", timeout=PATIENCE)  # waits until there is room
            self.assertEqual(self.last(attachment), b"last")

    def kill(self, server, number):
        os.kill(int((self.folder / f"node-{server}.lock").read_text().split()[0]), number)

    def test_threads_share_an_attachment(self):
        for socket_only in self.ways:
            attachment, wrong = self.attach(0, socket_only), []

            def run(name):
                for i in range(200):
                    text = f"{name} {i}"
                    if self.ask(attachment, "echo " + text) != text:
                        wrong.append(text)

            threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
            for thread in threads:
                thread.start()
            posted = {attachment.post("talk", b"echo p", PATIENCE) for _ in range(100)}
            taken = {self.take(attachment).ticket for _ in posted}
            for thread in threads:
                thread.join()
            self.assertEqual((wrong, taken), ([], posted))

    def test_a_child_cannot_use_the_attachment_of_its_parent(self):
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            self.assertEqual(self.ask(attachment, "echo a"), "a")
            descriptor = attachment.fileno()
            child = os.fork()
            if not child:
                code = 1
                try:
                    try:
                        attachment.ask(400, b"echo b", 1)
                    except program.Inherited:
                        code = 2
                    try:
                        os.fstat(descriptor)
                        code = 3
                    except OSError:
                        pass  # closed
                    own = program.Attachment(self.folder, 1, socket_only)
                    if own.ask("talk", b"echo child", PATIENCE) == b"child" and code == 2:
                        code = 0
                finally:
                    os._exit(code)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.assertEqual(self.ask(attachment, "echo c"), "c")


class Servers(Case):
    def pid(self, server):
        return int((self.folder / f"node-{server}.lock").read_text().split()[0])

    def test_a_stopped_server_does_not_block_the_program(self):
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            self.assertEqual(self.ask(attachment, "echo a"), "a")
            os.kill(self.pid(0), signal.SIGSTOP)
            try:
                with self.assertRaises(program.Timeout):
                    attachment.ask("talk", b"echo b", 0.1)
            finally:
                os.kill(self.pid(0), signal.SIGCONT)
            self.assertEqual(self.ask(attachment, "echo c"), "c")
            self.assertEqual(attachment.state.reattached, 0)

    def test_a_killed_server_ends_requests_and_returns(self):
        for socket_only in self.ways:
            attachment, errors = self.attach(0, socket_only), []
            attachment.find("talk", PATIENCE)
            tickets = {attachment.post("talk", b"never", PATIENCE) for _ in range(5)}

            def wait():
                try:
                    attachment.ask("talk", b"never", PATIENCE)
                except program.Error as error:
                    errors.append(error.errno)

            thread = threading.Thread(target=wait)
            thread.start()
            self.assertEqual(self.ask(attachment, "echo a"), "a")
            os.kill(self.pid(0), signal.SIGKILL)
            thread.join()
            self.assertEqual(errors, [errno.ECONNRESET])
            self.assertEqual(self.take(attachment).kind, program.LOST)
            ended = [self.take(attachment) for _ in tickets]
            self.assertEqual({message.ticket for message in ended}, tickets)
            self.assertEqual({(message.kind, message.result, message.service) for message in ended},
                             {(program.ENDED, -errno.ECONNRESET, 400)})
            self.assertFalse(attachment.state.up)
            with self.assertRaises(program.ServerGone):
                attachment.post("talk", b"echo", timeout=0)
            with self.assertRaises(program.Timeout):
                attachment.ask("talk", b"echo", 0.1)
            self.good("revive", "0")
            self.assertEqual(self.ask(attachment, "echo back"), "back")
            self.assertEqual(self.take(attachment).kind, program.BACK)
            self.assertEqual(attachment.state[:3], (0, True, not socket_only))
            self.assertEqual(attachment.state.reattached, 1)

    def test_a_server_that_is_not_there(self):
        with self.assertRaises(program.Absent):
            program.Attachment(self.folder, SERVERS)
        with self.assertRaises(program.Absent):
            program.Attachment(self.folder / "missing")
        os.kill(self.pid(0), signal.SIGKILL)
        self.until(lambda: not self.answers(0), "the end of server 0")
        with program.Attachment(self.folder) as attachment:  # the first that accepts the program
            self.assertEqual(attachment.state.server, 1)

    def answers(self, server):
        try:
            program.Attachment(self.folder, server).close()
            return True
        except (program.Absent, program.ServerGone):  # it may end while it accepts the program
            return False

    def test_the_default_server_is_that_of_the_environment(self):
        for name in ("WEFT_DIR", "WEFT_NODE"):
            os.environ.pop(name, None)
            self.addCleanup(os.environ.pop, name, None)
        os.environ["WEFT_DIR"] = str(self.folder)
        with program.Attachment() as attachment:
            self.assertEqual(attachment.state.server, 0)
        os.environ["WEFT_NODE"] = f"{self.folder}/node-2.socket"
        with program.Attachment() as attachment:
            self.assertEqual(attachment.state.server, 2)
        with program.Attachment(server=1) as attachment:
            self.assertEqual(attachment.state.server, 1)


class Loops(Case):
    def loop(self, attachment, count):
        """Takes messages in an event loop of select."""
        descriptor, messages = attachment.fileno(), []
        while len(messages) < count:
            try:
                messages.append(attachment.take(0))
                continue
            except program.WouldBlock:
                pass
            if attachment.arm():
                ready = select.select([descriptor], [], [], PATIENCE)[0]
                self.assertEqual(ready, [descriptor])
        return messages

    def test_an_event_loop_waits_for_the_descriptor(self):
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            attachment.fileno()
            for i in range(300):  # one at a time: each sleep needs a wake-up of its own
                attachment.post("talk", b"echo %d" % i, PATIENCE)
                self.assertEqual(self.loop(attachment, 1)[0].data, b"%d" % i)
            attachment.post("talk", b"event 5000", PATIENCE)
            self.assertEqual(len(self.loop(attachment, 5001)), 5001)
            attachment.post("talk", b"size 50000", PATIENCE)
            self.assertEqual(len(self.loop(attachment, 1)[0].data), 50000)

    def test_a_loop_can_arm_before_it_has_the_descriptor(self):
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            for i in range(100):
                self.ask(attachment, "echo %d" % i)
            for _ in range(200):  # takes the rings of former sleeps out of the socket
                self.assertRaises(program.WouldBlock, attachment.take, 0)
            self.assertTrue(attachment.arm())
            descriptor = attachment.fileno()
            attachment.post("talk", b"echo now", PATIENCE)
            self.assertEqual(select.select([descriptor], [], [], PATIENCE)[0], [descriptor])
            self.assertEqual(attachment.take(PATIENCE).data, b"now")

    def test_an_event_loop_sees_what_another_thread_received(self):
        attachment = self.attach()
        attachment.fileno()

        def run():
            for _ in range(300):
                self.ask(attachment, "echo thread")

        thread = threading.Thread(target=run)
        thread.start()
        for i in range(300):
            attachment.post("talk", b"echo %d" % i, PATIENCE)
            self.assertEqual(self.loop(attachment, 1)[0].data, b"%d" % i)
        thread.join()

    def test_an_event_loop_sees_the_server_go_and_return(self):
        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            attachment.fileno()
            ticket = attachment.post("talk", b"never", PATIENCE)
            os.kill(int((self.folder / "node-0.lock").read_text().split()[0]), signal.SIGKILL)
            lost, ended = self.loop(attachment, 2)
            self.assertEqual((lost.kind, ended.kind, ended.ticket),
                             (program.LOST, program.ENDED, ticket))
            self.good("revive", "0")
            self.assertEqual(self.loop(attachment, 1)[0].kind, program.BACK)
            attachment.post("talk", b"echo again", PATIENCE)
            self.assertEqual(self.loop(attachment, 1)[0].data, b"again")

    def test_asyncio_takes_messages(self):
        async def run(attachment):
            for i in range(50):
                attachment.post("talk", b"echo %d" % i, PATIENCE)
            found = []
            async for message in attachment.messages():
                found.append(int(message.data))
                if len(found) == 50:
                    return found

        for socket_only in self.ways:
            attachment = self.attach(0, socket_only)
            found = asyncio.run(asyncio.wait_for(run(attachment), PATIENCE))
            self.assertEqual(sorted(found), list(range(50)))


main()
