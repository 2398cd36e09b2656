"""Services with sockets of their own: thousands of clients, clients that never read, resets, a lack of descriptors,
mistakes. LINES is examples/lines.c, and DOOR tests/plugins/door.c."""

import os
import re
import resource
import select
import socket
import struct
import sys
import time

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main, weft

LINES, DOOR = os.environ["LINES"], os.environ["DOOR"]
CROWD = 2000
DOOR_ID, DOOR_DESCRIPTORS = 303, 40


class Client:
    """A TCP client that sends lines and receives lines."""

    def __init__(self, port, buffers=0):
        self.socket = socket.socket()
        if buffers:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self.rest = b""

    def send(self, *lines):
        self.socket.sendall("".join(line + "\n" for line in lines).encode())

    def line(self):
        """The next line; None if the server has ended the connection, in order or with a reset."""
        while b"\n" not in self.rest:
            try:
                more = self.socket.recv(65536)
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode()

    def ask(self, text):
        """Asks again while servers are busy: a question may be lost when the machine is slow."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.send(text)
            answer = self.line()
            if answer != "busy":
                return answer
        raise AssertionError(f"{text}: always busy")

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()


class Case(ClusterCase):
    def numbers(self, server, service):
        return self.good("nodes", "--json").json["nodes"][server]["services"][service]

    def client(self, server, service="lines"):
        client = Client(self.numbers(server, service)["port"])
        self.addCleanup(client.close)
        return client

    def pings_pass(self, server):
        """Packets to and through this server arrive."""
        done = self.ping(server, "--from", (server + 1) % 9, "--count", 50)
        self.assertEqual((done["answered"], done["lost"]), (50, 0))

    def nothing_is_wrong(self):
        self.assertEqual(self.codes(self.status()), set())

    def open_becomes(self, server, service, count):
        self.until(lambda: self.numbers(server, service)["descriptors_open"] == count, f"{count} are open")


class Lines(Case):
    def setUp(self):
        super().setUp()
        # RLIMIT_NOFILE of this process is that of the servers, too.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 2 * CROWD + 1000:
            self.skipTest(f"only {hard} descriptors are allowed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    def test_clients_of_every_server_see_the_same_names(self):
        self.up("torus:3x3", "--service", LINES)
        clients = [self.client(server) for server in range(9)]
        for server, client in enumerate(clients):
            self.assertEqual(client.ask(f"set colour-{server} red {server}"), f"red {server}")
        for client in clients:
            self.assertEqual([client.ask(f"get colour-{server}") for server in range(9)],
                             [f"red {server}" for server in range(9)])
        self.assertEqual(clients[0].ask("get nothing"), "none")
        self.assertRegex(clients[0].ask("what"), "^usage: ")
        # Many questions in one segment, a question in many, and half of a connection that ends.
        clients[1].send(*["get colour-3"] * 100)
        self.assertEqual({clients[1].line() for _ in range(100)}, {"red 3"})
        for letter in "get colour-4\n":
            clients[2].socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            clients[2].socket.sendall(letter.encode())
        self.assertEqual(clients[2].line(), "red 4")
        clients[3].send("get colour-5", "get colour-6")
        clients[3].socket.shutdown(socket.SHUT_WR)
        self.assertEqual([clients[3].line() for _ in range(3)], ["red 5", "red 6", None])
        clients[4].send("x" * 200)  # longer than a line may be
        self.assertIsNone(clients[4].line())
        self.open_becomes(3, "lines", 1)
        self.nothing_is_wrong()
        self.down()

    def test_a_server_has_two_thousand_clients(self):
        self.up("torus:3x3", "--service", LINES)
        port = self.numbers(4, "lines")["port"]
        crowd = []
        self.addCleanup(lambda: [client.close() for client in crowd])
        for number in range(CROWD):
            crowd.append(Client(port))
        self.assertEqual(crowd[0].ask("set shared by all"), "by all")
        for client in crowd:  # all at once
            client.send("get shared")
        answers = [client.line() for client in crowd]
        again = [client for client, answer in zip(crowd, answers) if answer == "busy"]
        self.assertLessEqual(set(answers), {"by all", "busy"})
        self.assertEqual({client.ask("get shared") for client in again} | {"by all"}, {"by all"})
        self.pings_pass(4)
        numbers = self.numbers(4, "lines")
        self.assertEqual((numbers["descriptors_open"], numbers["descriptors_accepted"]), (CROWD + 1, CROWD))
        self.assertEqual((numbers["descriptors_refused"], numbers["mistakes"]), (0, 0))
        # Half of them go in order, half by a reset, some with a question under way.
        for number, client in enumerate(crowd):
            if number % 3 == 0:
                client.send("get shared")
            client.reset() if number % 2 else client.close()
        self.open_becomes(4, "lines", 1)
        self.assertEqual(self.client(4).ask("get shared"), "by all")
        self.nothing_is_wrong()
        self.down()

    def test_a_client_that_never_reads_is_not_read_from_and_delays_no_other(self):
        self.up("torus:3x3", "--service", LINES)
        other = self.client(4)
        self.assertEqual(other.ask("set " + "n" * 10 + " " + "v" * 90), "v" * 90)
        deaf = Client(self.numbers(4, "lines")["port"], buffers=8192)
        self.addCleanup(deaf.close)
        deaf.socket.setblocking(False)
        question = b"get " + b"n" * 10 + b"\n"

        def taken():  # until the server takes nothing more
            return self.numbers(4, "lines")["descriptors_bytes_in"]

        before, after, sent = -1, taken(), 0
        while before != after or select.select([], [deaf.socket], [], 0)[1]:
            while select.select([], [deaf.socket], [], 0)[1]:
                sent += deaf.socket.send(question * 1000)
            before, after = after, taken()
        self.assertGreater(sent, 10000)
        for _ in range(100):
            other.send("get " + "n" * 10)
            self.assertIn(other.line(), ("v" * 90, "busy"))
        self.pings_pass(4)
        self.assertEqual(taken() - after, 100 * 15)  # of the other client; nothing of the deaf one
        # It gets its answers when it reads, and more of its questions are read, too.
        deaf.socket.settimeout(PATIENCE)
        for _ in range(sent // len(question) // 2):
            self.assertIn(deaf.line(), ("v" * 90, "busy"))
        self.assertGreater(taken(), after + 1500)
        self.down()

    def test_clients_that_find_no_descriptor_left_are_disconnected(self):
        found = self.up("torus:2x2", "--processes", 1, "--service", LINES)
        client = self.client(0)
        port = self.numbers(0, "lines")["port"]
        pid, = found["pids"]
        used = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(used) + 1, before[1]))
        crowd, refused = [], 0
        self.addCleanup(lambda: [one.close() for one in crowd])
        try:
            while refused < 20:  # some numbers below the limit may be free
                self.assertLess(len(crowd), max(used) - len(used) + 40)
                crowd.append(Client(port))
                try:
                    refused += crowd[-1].ask("get nothing") is None
                except (BrokenPipeError, ConnectionResetError):
                    refused += 1
            self.assertEqual(client.ask("set a b"), "b")  # the others are served
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        for one in crowd:
            one.close()
        self.assertGreaterEqual(self.numbers(0, "lines")["descriptors_refused"], 20)
        self.assertEqual(self.client(0).ask("get a"), "b")
        self.down()

    def test_servers_fail_and_return_under_clients(self):
        self.up("torus:3x3", "--service", LINES)
        stays = self.client(0)
        goes = self.client(4)
        self.assertEqual(goes.ask("set x y"), "y")
        self.good("kill", 4)
        self.assertIsNone(goes.line())
        self.assertEqual(stays.ask("set x z"), "z")
        self.good("revive", 4)
        self.well()
        self.assertIn(self.client(4).ask("get x"), ("z", "none"))  # none: 4 is its root, and has lost it
        self.down()

    def test_the_simulator_runs_the_same_service(self):
        done = weft("sim", "run", "torus:3x3", "--service", LINES, "--seconds", "0.1", "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual(done.json["numbers"]["lines_descriptors_open"], 9)


class Door(Case):
    def ask(self, server, text):
        """Asks the service as a program does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as program:
            program.settimeout(PATIENCE)
            program.connect(str(self.folder / f"node-{server}.socket"))
            program.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))
            program.recv(100)
            program.send(struct.pack(">HHQ", DOOR_ID, 0, 1) + text.encode())
            return program.recv(1000)[12:].decode()

    def sent_by_door(self):
        return self.numbers(4, "door")["descriptors_bytes_out"]

    def test_bytes_without_end_delay_no_packets(self):
        self.up("torus:3x3", "--service", DOOR)
        port = self.numbers(4, "door")["port"]
        deaf, eager = Client(port), Client(port)
        self.addCleanup(deaf.close)
        self.addCleanup(eager.close)
        eager.socket.setblocking(False)
        got, ping = 0, self.begin("ping", 4, "--from", 3, "--count", 200, "--timeout", 20000, "--json")
        while ping.poll() is None:
            if select.select([eager.socket], [], [], 0.01)[0]:
                got += len(eager.socket.recv(1 << 20))
        out, err = ping.communicate(timeout=PATIENCE)
        self.assertEqual((ping.returncode, err), (0, ""), out)
        self.assertGreater(got, 1 << 20)
        numbers = self.numbers(4, "door")
        self.assertGreater(numbers["rooms"], 0)
        self.assertEqual((numbers["descriptors_open"], numbers["mistakes"]), (3, 0))
        # What the deaf client costs is the same later: nothing more is written to it.
        eager.close()
        self.open_becomes(4, "door", 2)
        sent, last = self.sent_by_door(), None
        deadline = time.monotonic() + PATIENCE
        while sent != last:  # the system's buffers for the deaf client may still grow a little
            self.assertLess(time.monotonic(), deadline, f"{sent} bytes were sent, and it goes on")
            self.pings_pass(4)
            sent, last = self.sent_by_door(), sent
        self.assertLess(sent - got, 64 << 20)
        deaf.reset()
        self.open_becomes(4, "door", 1)
        self.down()

    def test_a_service_has_no_more_than_it_declares(self):
        self.up("torus:3x3", "--service", DOOR)
        port = self.numbers(0, "door")["port"]
        clients = [Client(port) for _ in range(DOOR_DESCRIPTORS + 20)]
        self.addCleanup(lambda: [client.close() for client in clients])
        self.until(lambda: self.numbers(0, "door")["descriptors_refused"] == 21, "21 clients are refused")
        numbers = self.numbers(0, "door")
        self.assertEqual(numbers["descriptors_open"], DOOR_DESCRIPTORS)
        self.assertEqual(numbers["descriptors_accepted"], DOOR_DESCRIPTORS - 1)
        self.down()

    def test_mistakes_are_refused_counted_and_named(self):
        self.up("torus:3x3", "--service", DOOR)
        self.assertEqual(self.ask(4, "mistakes"), "as documented")
        log = (self.folder / "node-4.log").read_text()
        named = set(re.findall(r"service door: (\w+): ", log))
        self.assertEqual(named, {f"weft_descriptor_{name}" for name in (
            "listen", "connect", "adopt", "read", "write", "finish", "close", "pause", "user", "set_user", "port")})
        self.assertIn("service door: weft_descriptor_listen: the address is not a number", log)
        self.assertEqual(self.codes(self.status()), {"SERVICES_MISTAKEN"})
        self.pings_pass(4)
        self.down()

    def test_pipes_and_connections_out_work(self):
        self.up("torus:3x3", "--service", DOOR)
        self.assertEqual(self.ask(4, "pipe"), "through a pipe")
        port = self.converse(4, "connect")
        self.assertEqual(self.ask(4, f"connect {port}"), "ECONNREFUSED")
        self.open_becomes(4, "door", 1)
        self.down()

    def converse(self, server, verb):
        """The service connects to a socket of this test, and sends and receives."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(PATIENCE)
            port = listener.getsockname()[1]
            program = self.begin_ask(server, f"{verb} {port}")
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(PATIENCE)
                self.assertEqual(peer.recv(100), b"hello")
                peer.sendall(b"welcome")
                self.assertEqual(program.recv(100)[12:], b"welcome")
        return port

    def test_a_function_that_delays_packets_is_named(self):
        self.up("torus:3x3", "--service", DOOR)
        self.converse(4, "delay")
        self.assertGreaterEqual(self.numbers(4, "door")["slow"], 1)
        texts = [reason["text"] for reason in self.status()["reasons"] if reason["code"] == "SERVICES_SLOW"]
        self.assertRegex(" ".join(texts), r"\bdoor on 4 \(\d+ times; readable for \d+\.\d ms\)")
        self.down()

    def begin_ask(self, server, text):
        program = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(program.close)
        program.settimeout(PATIENCE)
        program.connect(str(self.folder / f"node-{server}.socket"))
        program.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))
        program.recv(100)
        program.send(struct.pack(">HHQ", DOOR_ID, 0, 1) + text.encode())
        return program

    def test_a_service_that_ignores_what_it_could_read_is_paused(self):
        self.up("torus:3x3", "--service", DOOR)
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(PATIENCE)
            self.begin_ask(4, f"ignore {server.getsockname()[1]}")
            peer, _ = server.accept()
            with peer:
                peer.sendall(b"welcome")
                self.until(lambda: self.numbers(4, "door")["mistakes"] == 1, "the mistake is counted")
                self.pings_pass(4)
                self.assertEqual(self.numbers(4, "door")["mistakes"], 1)
        log = (self.folder / "node-4.log").read_text()
        self.assertIn("service door: readable: the service neither read nor paused nor closed the descriptor", log)
        self.down()

    def test_a_port_in_use_is_named_at_the_start(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            self.refused("up", "torus:3x3", "--service", DOOR, "--set", f"door.port={port}",
                         says="service door cannot start: Address already in use")

    def test_the_simulator_refuses_the_same_mistakes(self):
        done = weft("sim", "run", "torus:3x3", "--service", DOOR, "--request", "mistakes", "--packets", "10",
                    "--seconds", "0.1")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertIn("as documented", done.out)


main()
