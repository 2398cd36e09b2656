"""Connections to a context's ports that are opened and closed at once do not keep peers out. Needs
libfabric."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

LIMIT = 100  # seconds until a hung program ends
CONNECTIONS = 2000


def listening(pid):
    """Returns the TCP ports of 127.0.0.1 on which the process listens."""
    own = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            own.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    ports = []
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        for line in list(table)[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                ports.append(int(words[1].split(":")[1], 16))
    return ports


def flood(port):
    for _ in range(CONNECTIONS):
        with socket.socket() as stranger:
            stranger.settimeout(LIMIT)
            stranger.connect(("127.0.0.1", port))


class Flood(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weft-flood-")
        self.env = {
            **os.environ,
            "WEFT_FOLDER": self.folder,
            "WEFT_ADDRESS": "127.0.0.1",
            "WEFT_TRANSPORTS": "fabric,udp",
        }
        self.server = self.start("serve", "79", "--seconds", "300")
        self.assertIn("serving 79", self.server.stdout.readline())

    def tearDown(self):
        self.server.kill()
        self.server.communicate()
        shutil.rmtree(self.folder)

    def start(self, *words):
        return subprocess.Popen(
            [os.environ["WEFT"], "ripc", *words], env=self.env, stdout=subprocess.PIPE, text=True
        )

    def ping(self):
        pings = self.start("ping", "79", "--count", "3", "--timeout", "10000")
        out, _ = pings.communicate(timeout=LIMIT)
        self.assertIn("3 answered, 0 lost", out)
        return out

    def test_a_new_peer_is_answered_after_a_flood_of_connections(self):
        self.assertIn("over fabric", self.ping())
        ports = listening(self.server.pid)
        self.assertEqual(len(ports), 2, "the lifelines and libfabric")
        for port in ports:
            flood(port)
        self.ping()

    def test_an_open_conversation_goes_on_during_a_flood(self):
        pings = self.start("ping", "79", "--interval", "100", "--timeout", "10000", "--count", "20")
        self.assertRegex(pings.stdout.readline(), r"^1: ")
        for port in listening(self.server.pid):
            flood(port)
        out, _ = pings.communicate(timeout=LIMIT)
        self.assertIn("20 answered, 0 lost", out)


if __name__ == "__main__":
    tap.main()
