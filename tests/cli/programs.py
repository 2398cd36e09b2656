"""Programs that attach to a server: how many, and that none of them affects another. The programs
here speak the protocol of docs/protocol.md on the server's socket."""

import errno
import random
import resource
import socket
import struct
import sys
import time

sys.path.insert(0, sys.path[0])
sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main

CONTROL = 1
HELLO = struct.pack(">HHII", 0xFFFF, 2, 0, 0)
SNAPSHOT = struct.pack(">BBI", 1, 1, 77)


class Program:
    """One connection to a server's socket."""

    def __init__(self, folder, server):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(f"{folder}/node-{server}.socket")  # waits while too many connect
        self.socket.settimeout(PATIENCE)

    def hello(self):
        """Sends the hello and returns the status of the welcome."""
        try:
            self.socket.send(HELLO)
        except OSError:
            pass  # refused and hung up on: the welcome says why
        return self.welcome()

    def welcome(self):
        try:
            packet = self.socket.recv(100)
        except ConnectionResetError:
            packet = self.socket.recv(100)  # what the server said before it hung up
        mark, status, version, _, _ = struct.unpack(">HHHHI", packet)
        assert (mark, version) == (0xFFFF, 2), packet
        return status

    def ask(self, ticket, service=CONTROL, request=SNAPSHOT):
        self.socket.send(struct.pack(">HHQ", service, 0, ticket) + request)

    def answer(self):
        """Returns service, status, ticket and the bytes."""
        packet = self.socket.recv(70000)
        return struct.unpack(">HHQ", packet[:12]) + (packet[12:],)

    def close(self):
        self.socket.close()


class Programs(ClusterCase):
    def setUp(self):
        super().setUp()
        self.programs = []
        self.addCleanup(lambda: [program.close() for program in self.programs])
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

    def attach(self, server=0, status=0):
        program = Program(self.folder, server)
        self.programs.append(program)
        self.assertEqual(program.hello(), status)
        return program

    def close(self):
        for program in self.programs:
            program.close()
        self.programs = []

    def serves(self, server=0):
        """Another program is served, and packets pass the server."""
        program = self.attach(server)
        program.ask(5)
        self.assertEqual(program.answer()[:3], (CONTROL, 0, 5))
        pinged = self.ping((server + 1) % 3, "--from", server, "--count", 4)
        self.assertEqual(pinged["answered"], 4)

    def log(self, server=0):
        return (self.folder / f"node-{server}.log").read_text()

    def test_thousands_of_programs_are_served_by_one_server(self):
        self.up("torus:3")
        count = min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 - 300)
        self.assertGreater(count, 300)
        for _ in range(count):
            self.attach()
        for ticket, program in enumerate(self.programs, 1):
            program.ask(ticket)
        for ticket, program in enumerate(self.programs, 1):
            self.assertEqual(program.answer()[:3], (CONTROL, 0, ticket))
        self.serves()

    def test_many_requests_of_one_program_are_told_apart(self):
        self.up("torus:3")
        program = self.attach()
        tickets = random.Random(4).sample(range(1, 1 << 62), 50)
        for ticket in tickets:
            program.ask(ticket)
        program.ask(9, service=999)
        self.assertEqual([program.answer()[2] for _ in tickets], tickets)
        self.assertEqual(program.answer(), (999, errno.ENOENT, 9, b""))  # there is no such service
        program.ask(10, service=0xFFFF, request=b"control")  # its number, by name
        self.assertEqual(program.answer(), (0xFFFF, 0, 10, struct.pack(">H", CONTROL)))
        program.ask(11, service=0xFFFF, request=b"contro")
        self.assertEqual(program.answer(), (0xFFFF, errno.ENOENT, 11, b""))

    def test_beyond_the_configured_maximum_a_program_gets_an_error(self):
        self.up("torus:3", "--programs", 40)
        status = 0
        while not status:
            self.programs.append(Program(self.folder, 0))
            status = self.programs[-1].hello()
        self.assertEqual(status, errno.EUSERS)
        # The last places are for processes with few connections, such as these commands.
        self.assertIn(len(self.programs), range(30, 41))
        self.assertEqual(self.status()["health"], "OK")
        self.assertEqual(self.ping(1, "--from", 0, "--count", 4)["answered"], 4)
        self.attach(1)  # another server counts its own
        self.assertIn("refused a program: too many programs are attached", self.log())
        self.programs.pop(0).close()
        self.until(lambda: Program(self.folder, 0).hello() == 0, "room for one more")
        self.refused("up", "--programs", 0, code=2, says="--programs")

    def test_a_program_of_another_version_gets_an_error(self):
        self.up("torus:3")
        for first in (b"\0\1" + SNAPSHOT, struct.pack(">HHII", 0xFFFF, 1, 512, 1 << 19), b"x"):
            program = Program(self.folder, 0)
            self.programs.append(program)
            program.socket.send(first)
            self.assertEqual(program.welcome(), errno.EPROTONOSUPPORT)
            self.assertEqual(program.socket.recv(100), b"")
        self.assertIn("does not use version 2 of the protocol", self.log())
        self.serves()

    def test_garbage_affects_no_other_program(self):
        self.up("torus:3")
        choose = random.Random(21)
        witness = self.attach()
        for turn in range(300):
            program = Program(self.folder, 0)
            if turn % 3:
                self.assertEqual(program.hello(), 0)
            try:
                for _ in range(choose.randrange(1, 4)):
                    program.socket.send(choose.randbytes(choose.choice((1, 5, 12, 13, 60, 9000))))
            except OSError:
                pass  # hung up on
            program.close()
        witness.ask(6)
        self.assertEqual(witness.answer()[:3], (CONTROL, 0, 6))
        self.serves()

    def test_a_program_that_never_reads_affects_no_other(self):
        self.up("torus:3")
        silent = self.attach()
        silent.socket.settimeout(0)
        for ticket in range(1, 20000):
            try:
                silent.ask(ticket)
            except BlockingIOError:
                time.sleep(0.001)
        self.serves()
        silent.socket.settimeout(PATIENCE)
        self.assertEqual(silent.answer()[:3], (CONTROL, 0, 1))
        self.assertEqual(self.status()["health"], "OK")

    def test_ten_thousand_attachments_affect_no_other(self):
        self.up("torus:3")
        witness = self.attach()
        for _ in range(10000):
            program = Program(self.folder, 0)
            program.socket.send(HELLO)
            program.close()
        witness.ask(6)
        self.assertEqual(witness.answer()[:3], (CONTROL, 0, 6))
        self.serves()
        self.assertLess(self.log().count("\n"), 200)


main()
