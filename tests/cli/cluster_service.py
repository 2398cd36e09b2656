"""Services that misbehave on one server of a cluster: the other services and servers do not suffer, and the
operator learns which service it is. The services are in tests/plugins; PLUGINS names the folder of their objects."""

import os
import pathlib
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import ClusterCase
from tap import main, weft

PLUGINS = pathlib.Path(os.environ["PLUGINS"])
HOARDER = 4  # the server on which tests/plugins/hoard.c keeps all packets
SHARE = 256  # packets that a service may hold if it does not say otherwise


class Greedy(ClusterCase):
    def node(self, server):
        return self.good("nodes", "--json").json["nodes"][server]

    def hellos(self):
        """Packets that the neighbours of the hoarder received from it, for each port."""
        nodes = self.good("nodes", "--json").json["nodes"]
        return [port["packets_in"] for node in nodes for port in node.get("ports", [])
                if port["peer"] == HOARDER]

    def hoarding(self):
        services = self.node(HOARDER).get("services", {})
        return services.get("hoard", {}).get("made_none", 0) > 0

    def test_a_service_that_keeps_every_packet_leaves_the_links_what_they_need(self):
        """The silence is short: a server that sends no hellos is missed within the test."""
        self.up("torus:3x3", "--service", PLUGINS / "hoard.so", silence=5000)
        self.until(self.hoarding, "the service keeps all packets that it gets")
        before = self.hellos()
        # A hello is sent five times in the time of silence: the links outlive it twice.
        self.until(lambda: min(now - then for now, then in zip(self.hellos(), before)) > 10,
                   "ten more hellos from the hoarder over every link")
        for other in range(9):
            if other != HOARDER:
                done = self.ping(HOARDER, "--from", other, "--count", 20)
                self.assertEqual((done["answered"], done["lost"]), (20, 0), other)
        status = self.status()
        self.assertEqual(self.codes(status), {"SERVICES_FULL"}, status)
        self.assertRegex(status["reasons"][0]["text"], r"\bhoard on 4\b")
        self.assertEqual(status["links"]["up"], 18)
        node = self.node(HOARDER)
        hoard = node["services"]["hoard"]
        self.assertEqual((node["reaches"], node["drops"]["no_buffer"]), (9, 0))
        self.assertLessEqual(hoard["kept"], SHARE + 1)
        self.assertEqual(hoard["share"], SHARE)
        self.assertGreater(hoard["over_share"], 0)
        self.assertGreater(node["drops"]["share"], 0)
        log = (self.folder / f"node-{HOARDER}.log").read_text()
        self.assertNotIn(": down", log)
        self.down()

    def test_servers_that_share_a_process_with_the_hoarder_do_not_suffer(self):
        self.up("torus:3x3", "--processes", 1, "--service", PLUGINS / "hoard.so")
        self.until(self.hoarding, "the service keeps all packets that it gets")
        for other in range(9):
            done = self.ping((other + 1) % 9, "--from", other, "--count", 20)
            self.assertEqual((done["answered"], done["lost"]), (20, 0), other)
        status = self.status()
        self.assertEqual(self.codes(status), {"SERVICES_FULL"}, status)
        self.assertEqual(status["drops"]["no_buffer"], 0)
        self.down()

    def test_the_simulator_limits_the_service_in_the_same_way(self):
        done = weft("sim", "run", "torus:3x3", "--service", PLUGINS / "hoard.so", "--seconds", "0.5", "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        numbers = done.json["numbers"]
        self.assertGreater(numbers["hoard_made_none"], 0)
        self.assertLessEqual(numbers["hoard_made"], SHARE)
        self.assertLessEqual(numbers["hoard_kept"], SHARE + 1)
        self.assertGreater(done.json["drops"]["share"], 0)


main()
