"""Stops the root of a key with SIGSTOP for longer than the silence, and continues it. Another server
has taken the key over meanwhile. The old root must not answer for the key before that server has
given it up: with the service counter, both would count, and their counts would differ."""

import os
import pathlib
import select
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main

SILENCE = 3000  # milliseconds; the default of weft up
ROUNDS = 2
COUNTER = 256  # the id of the service
NAME = "visits"


class Pause(ClusterCase):
    def connect(self, server):
        program = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(program.close)
        program.connect(str(self.folder / f"node-{server}.socket"))
        program.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))  # the hello
        program.recv(100)
        return program

    def send(self, program):
        program.send(struct.pack(">HHQ", COUNTER, 0, 1) + f"+{NAME}".encode())

    def answer(self, program, seconds):
        """The value and the server that answered; None if there is no answer in time."""
        if not select.select([program], [], [], seconds)[0]:
            return None
        value, server = program.recv(100)[12:].decode().split()
        return int(value), int(server)

    def ask(self, server, seconds=0.2):
        """Asks by a new connection, so that the answer cannot belong to an earlier request."""
        program = self.connect(server)
        self.send(program)
        answer = self.answer(program, seconds)
        program.close()
        return answer

    def answered_by(self, asker, wanted):
        """Asks until the answer comes from one of the servers that `wanted` accepts."""
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.ask(asker)
            if answer and wanted(answer[1]):
                return answer
            self.assertLess(time.monotonic(), deadline, f"server {asker} gets no such answer")

    def pause(self, root, asker, pid):
        """One round. Returns the answers that `asker` got to requests that it sent after the program
        at the old root had got its answer, and shortly after that: within the silence no server can
        take the key over again."""
        local = self.connect(root)
        os.kill(pid, signal.SIGSTOP)
        try:
            self.send(local)  # waits in the socket of the stopped server
            heir = self.answered_by(asker, lambda server: server != root)[1]
        finally:
            os.kill(pid, signal.SIGCONT)
        late = []
        answered_at = None
        deadline = time.monotonic() + PATIENCE
        while not late or late[-1] != root:
            now = time.monotonic()
            self.assertLess(now, deadline, f"server {root} never answers again")
            if answered_at is None:
                if self.answer(local, 0):
                    answered_at = now
            elif now - answered_at > SILENCE / 2000:
                break
            answer = self.ask(asker, 0.05)
            if answer and answered_at is not None and time.monotonic() - answered_at < SILENCE / 2000:
                late.append(answer[1])
        local.close()
        print(f"# server {heir} took over from {root}; answers after that of {root}: {late[:20]}")
        return late

    def test_a_root_that_was_stopped_does_not_answer_beside_its_successor(self):
        counter = pathlib.Path(os.environ["WEFT"]).parent / "examples" / "counter.so"
        if not counter.exists():
            self.skipTest("examples are not built")
        self.up("torus:3x3", "--service", counter, silence=SILENCE)
        root = self.good("where", NAME, "--json").json["root"]
        pid = self.good("nodes", "--json").json["nodes"][root]["pid"]
        asker = (root + 4) % 9
        self.answered_by(asker, lambda server: server == root)
        for _ in range(ROUNDS):
            late = self.pause(root, asker, pid)
            self.assertEqual([server for server in late if server != root], [])
            self.well()
            self.answered_by(asker, lambda server: server == root)
        self.down()


main()
