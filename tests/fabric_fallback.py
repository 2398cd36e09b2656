"""A context whose libfabric port is unreachable is reached by udp: the port loses packets from the
beginning, or while a conversation uses it. Runs itself in a network namespace, where rules send
packets of such ports into a void. Needs libfabric."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap
from fabric_flood import listening

LIMIT = 150  # seconds until a hung program ends
APART = "WEFT_TEST_APART"
ADDRESS = "10.99.1.1"
PORTS = (20000, 20100)  # for libfabric; all other ports are chosen by the system above them

# Packets that the rules select leave by a link whose other end drops them. The rules must come
# before the table of local addresses.
NETWORK = f"""
ip link set lo up
ip address add {ADDRESS}/32 dev lo
ip link add void type veth peer name end
ip link set void up
ip link set end up
ip address add 10.99.2.1/24 dev void
ip neighbour add 10.99.2.2 lladdr 02:00:00:00:00:01 dev void
ip route add default via 10.99.2.2 dev void table 100
ip rule add pref 100 lookup local
ip rule delete pref 0
"""


class Fallback(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weft-fallback-")
        self.rules = []
        self.running = []
        self.env = {
            **os.environ,
            "WEFT_FOLDER": self.folder,
            "WEFT_ADDRESS": ADDRESS,
            "WEFT_TRANSPORTS": "fabric,udp",
            "FI_TCP_PORT_LOW_RANGE": str(PORTS[0]),
            "FI_TCP_PORT_HIGH_RANGE": str(PORTS[1]),
        }
        self.server = self.start("serve", "79", "--seconds", "600")
        self.assertIn("serving 79", self.server.stdout.readline())

    def tearDown(self):
        for process in self.running:
            process.kill()
            process.communicate()
        self.unfilter()
        shutil.rmtree(self.folder)

    def start(self, *words):
        process = subprocess.Popen(
            [os.environ["WEFT"], "ripc", *words], env=self.env, stdout=subprocess.PIPE, text=True
        )
        self.running.append(process)
        return process

    def filter(self, first=PORTS[0], last=PORTS[1]):
        """Loses all packets from and to these ports."""
        for end in ("dport", "sport"):
            rule = ["ipproto", "tcp", end, f"{first}-{last}", "lookup", "100"]
            subprocess.run(["ip", "rule", "add", "pref", "10", *rule], check=True)
            self.rules.append(rule)

    def unfilter(self):
        for rule in self.rules:
            subprocess.run(["ip", "rule", "delete", "pref", "10", *rule], check=True)
        self.rules = []

    def ping(self):
        pings = self.start("ping", "79", "--count", "3", "--timeout", "60000")
        out, _ = pings.communicate(timeout=LIMIT)
        self.assertIn("3 answered, 0 lost", out)
        return out

    def test_a_filtered_port_is_replaced_by_udp_until_it_is_open_again(self):
        self.assertIn("over fabric", self.ping())
        self.filter()
        self.assertIn("over udp", self.ping())
        self.unfilter()
        self.assertIn("over fabric", self.ping())

    def test_one_open_port_of_two_is_enough(self):
        """The server connects to the client, or both use udp."""
        ports = [port for port in listening(self.server.pid) if PORTS[0] <= port <= PORTS[1]]
        self.assertEqual(len(ports), 1)
        self.filter(ports[0], ports[0])
        self.ping()

    def test_a_conversation_whose_path_is_lost_goes_on_over_udp(self):
        pings = self.start("ping", "79", "--interval", "200", "--timeout", "2000")
        self.assertRegex(pings.stdout.readline(), r"^1: ")
        self.filter()
        line = ""
        while "no answer" not in line:
            line = pings.stdout.readline()
            self.assertTrue(line, "the pings ended")
        while "no answer" in line:
            line = pings.stdout.readline()
            self.assertTrue(line, "the pings ended")
        pings.send_signal(2)
        out, _ = pings.communicate(timeout=LIMIT)
        self.assertIn("over udp", out)

    def test_a_stopped_process_is_not_a_lost_path(self):
        pings = self.start("ping", "79", "--interval", "200", "--timeout", "60000", "--count", "4")
        self.assertRegex(pings.stdout.readline(), r"^1: ")
        self.server.send_signal(19)
        try:
            pings.wait(timeout=15)  # longer than a path may be silent
        except subprocess.TimeoutExpired:
            pass
        self.server.send_signal(18)
        out, _ = pings.communicate(timeout=LIMIT)
        self.assertIn("over fabric: 4 short pings of 64 bytes, 4 answered, 0 lost", out)


if __name__ == "__main__":
    if APART not in os.environ:
        probe = ["unshare", "-Urn", "sh", "-ec", NETWORK]
        tried = subprocess.run(probe, capture_output=True, text=True)
        if tried.returncode != 0:
            print(f"1..0 # SKIP no network namespace with veth and rules: {tried.stderr[:80]!r}")
            sys.exit(0)
        env = {**os.environ, APART: "1"}
        os.execvpe("unshare", ["unshare", "-Urn", sys.executable, *sys.argv], env)
    subprocess.run(["sh", "-ec", NETWORK], check=True)
    tap.main()
