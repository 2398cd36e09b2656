"""Streams in a real cluster: a process for each server, links in shared memory. The service is
tests/stream_load.c: it checks every byte that arrives, and counts what is acknowledged."""

import os
import re
import socket
import struct
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main

SERVICE = 300


class Streams(ClusterCase):
    def ask(self, server, text):
        """Sends a request to the service of a server and returns its answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            link.settimeout(PATIENCE)
            link.connect(str(self.folder / f"node-{server}.socket"))
            link.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))
            link.recv(100)
            link.send(struct.pack(">HHQ", SERVICE, 0, 1) + text.encode())
            return link.recv(9000)[12:].decode()

    def report(self, server):
        return {name: int(value) for name, value in re.findall(r"([a-z]+)=(\d+)", self.ask(server, "report"))}

    def total(self, servers, name):
        return sum(self.report(server).get(name, 0) for server in servers)

    def begin_cluster(self, *words):
        self.up(*words, "--service", os.environ["STREAM_LOAD"])

    def test_every_byte_arrives(self):
        """Sizes from nothing to 3 MiB, to all servers and to the own, several at once."""
        self.begin_cluster("torus:3x3")
        sizes = [0, 1, 8843, 8844, 8845, 100000, 3 << 20]
        for server in range(9):
            for number, size in enumerate(sizes):
                self.ask(server, f"flow {(server + number) % 9} {size} 5 1 0")
            self.ask(server, f"flow name-{server} 50000 5 1 0")
        count = 9 * (len(sizes) + 1)
        self.until(lambda: self.total(range(9), "finished") == count, "all streams finish")
        self.assertEqual(self.total(range(9), "wrong"), 0)
        self.assertEqual(self.total(range(9), "failed"), 0)
        self.assertEqual(self.total(range(9), "done"), 5 * count)
        self.assertEqual(self.total(range(9), "messages"), 5 * count)
        self.assertEqual(self.total(range(9), "bytes"), 9 * 5 * (sum(sizes) + 50000))
        self.down()

    def test_sending_copies_nothing(self):
        """The bytes go from the service's memory into the link, also beside a service that uses the disk."""
        self.begin_cluster("torus:3x3", "--service", os.environ["JOURNAL"])
        for server in range(9):
            self.ask(server, f"flow {(server + 4) % 9} 300000 5 1 0")
        self.until(lambda: self.total(range(9), "finished") == 9, "all streams finish")
        numbers = [node["services"]["stream-load"] for node in self.good("nodes", "--json").json["nodes"]]
        self.assertGreaterEqual(sum(number["segments_sent"] for number in numbers), 9 * 5 * 34)
        self.assertEqual(sum(number["segments_copied"] for number in numbers), 0)
        self.assertEqual(sum(number["mistakes"] for number in numbers), 0)
        self.down()

    def test_servers_in_one_process(self):
        """The same between nodes of one process, and between two processes."""
        self.begin_cluster("torus:3x3", "--processes", 2)
        for server in range(9):
            for to in range(9):
                self.ask(server, f"flow {to} 200000 3 1 0")
        self.until(lambda: self.total(range(9), "finished") == 81, "all streams finish")
        self.assertEqual(self.total(range(9), "wrong"), 0)
        self.assertEqual(self.total(range(9), "bytes"), 81 * 3 * 200000)
        self.down()

    def test_a_killed_server_ends_streams_and_keys_move(self):
        self.begin_cluster("torus:3x3")
        victim = self.good("where", "name", "--json").json["root"]
        others = [server for server in range(9) if server != victim]
        for server in others:
            self.ask(server, f"flow {victim} 300000 0 1 0")
            self.ask(server, "flow name 300000 0 1 0")
        self.until(lambda: all(self.report(server)["done"] >= 4 for server in others), "messages are acknowledged")
        self.good("kill", victim)
        self.until(lambda: self.total(others, "moved") >= len(others), "the streams to the key move")
        done = {server: self.report(server)["done"] for server in others}
        self.until(lambda: all(self.report(server)["done"] > done[server] + 2 for server in others),
                   "the new root acknowledges messages")
        self.pids.add(self.good("revive", victim, "--wait", PATIENCE, "--json").json["pid"])
        self.until(lambda: self.total(others, "restarted") + self.total(others, "unreachable") >= len(others),
                   "the streams to the server end")
        for server in others:
            self.ask(server, "stop")
        self.until(lambda: self.total(others, "open") == 0, "all streams end")
        self.assertEqual(self.total(range(9), "wrong"), 0)
        self.down()


main()
