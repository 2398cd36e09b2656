"""Services that misbehave on one server of a cluster: the other services and servers do not suffer, and the
operator learns which service it is. The services are in tests/plugins; PLUGINS names the folder of their objects."""

import os
import pathlib
import re
import socket
import struct
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main, weft

PLUGINS = pathlib.Path(os.environ["PLUGINS"])
HOARDER = 4  # the server on which tests/plugins/hoard.c keeps all packets
KEPT = "stop: the service still holds packets"
SHARE = 256  # packets that a service may hold if it does not say otherwise


class Refused(ClusterCase):
    """Services that no server runs are refused by the command, so no server is looked for."""

    def refused_at_once(self, *names, says):
        words = [word for name in names for word in ("--service", PLUGINS / f"plugin_{name}.so")]
        self.refused("up", "torus:2", *words, code=2, env={"WEFTD": "/nowhere"},
                     says=rf"^weft: \S*/plugin_{names[-1]}\.so: {says}")
        self.assertFalse(self.folder.exists())

    def test_a_service_with_a_bad_name_or_id_is_refused_before_any_server_starts(self):
        self.refused_at_once("words", says=r"service \?: its name is not one of 1 to 32 letters, digits and -")
        self.refused_at_once("low", says="its service has the id 200; ids below 256 are reserved for weft")
        self.refused_at_once("many", says="service plugged: has keep_packets above the limit")

    def test_two_services_with_the_same_name_or_id_are_refused_before_any_server_starts(self):
        self.refused_at_once("good", "good", says="service plugged: another service has the same name")
        self.refused_at_once("good", "twin", says="service twin: has the id 300, like the service plugged")

    def test_a_service_that_no_server_runs_is_not_shown(self):
        done = weft("service", "show", PLUGINS / "plugin_words.so")
        self.assertEqual((done.code, done.out), (2, ""))
        self.assertRegex(done.err, r"^weft: \S+/plugin_words\.so: service \?: its name is not one of [^\n]+\n\Z")


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
        self.down([f"node {HOARDER}: service hoard: {KEPT}"])

    def test_servers_that_share_a_process_with_the_hoarder_do_not_suffer(self):
        self.up("torus:3x3", "--processes", 1, "--service", PLUGINS / "hoard.so")
        self.until(self.hoarding, "the service keeps all packets that it gets")
        for other in range(9):
            done = self.ping((other + 1) % 9, "--from", other, "--count", 20)
            self.assertEqual((done["answered"], done["lost"]), (20, 0), other)
        status = self.status()
        self.assertEqual(self.codes(status), {"SERVICES_FULL"}, status)
        self.assertEqual(status["drops"]["no_buffer"], 0)
        self.down([f"node {HOARDER}: service hoard: {KEPT}"])

    def test_the_simulator_limits_the_service_in_the_same_way(self):
        done = weft("sim", "run", "torus:3x3", "--service", PLUGINS / "hoard.so", "--seconds", "0.5", "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        numbers = done.json["numbers"]
        self.assertGreater(numbers["hoard_made_none"], 0)
        self.assertLessEqual(numbers["hoard_made"], SHARE)
        self.assertLessEqual(numbers["hoard_kept"], SHARE + 1)
        self.assertGreater(done.json["drops"]["share"], 0)


class Clumsy(ClusterCase):
    """Every mistake is refused, counted and named; the server and its other services run on."""

    def ask(self, server, service, text=b""):
        """Asks a service as a program does; docs/guide/service.md explains the bytes."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as program:
            program.settimeout(PATIENCE)
            program.connect(str(self.folder / f"node-{server}.socket"))
            program.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))
            program.recv(100)
            program.send(struct.pack(">HHQ", service, 0, 1) + text)
            return program.recv(1000)[12:].decode()

    def log(self, server):
        return (self.folder / f"node-{server}.log").read_text()

    def named(self, server, service):
        """The functions that the log names for the service, in order."""
        return re.findall(rf"node {server}: service {service}: (\w+): ", self.log(server))

    def numbers(self, server, service):
        return self.good("nodes", "--json").json["nodes"][server]["services"][service]

    def lives_on(self, server):
        done = self.ping(server, "--from", (server + 1) % 9, "--count", 20)
        self.assertEqual((done["answered"], done["lost"]), (20, 0))
        self.assertEqual(self.status()["servers"]["live"], 9)

    def test_every_wrong_call_is_refused_and_named(self):
        self.up("torus:3x3", "--service", PLUGINS / "clumsy.so")
        self.assertEqual(self.ask(4, 301), "as documented")
        self.lives_on(4)
        numbers = self.numbers(4, "clumsy")
        self.assertEqual(numbers["good"], 7)
        self.assertGreaterEqual(numbers["mistakes"], 45)
        self.assertEqual(numbers["kept"], 1)
        status = self.status()
        self.assertEqual(self.codes(status), {"SERVICES_MISTAKEN"}, status)
        self.assertRegex(status["reasons"][0]["text"], r"\bclumsy on 4 \(\d+\)")
        self.assertEqual(self.ask(4, 301), "as documented")  # stats() was called meanwhile
        named = self.named(4, "clumsy")
        self.assertEqual(set(named), {
            "weft_set_size", "weft_set_priority", "weft_set_identity", "weft_packet", "weft_payload", "weft_done",
            "weft_refuse", "weft_send_key", "weft_send_server", "weft_send_port", "weft_reply", "weft_address_key",
            "weft_address_server", "weft_address_port", "weft_local", "weft_servers", "weft_is_root", "weft_wake",
            "weft_timer", "weft_answer", "weft_stat", "weft_allocate"})
        lines = re.findall(r"service clumsy: .*", self.log(4))
        self.assertEqual(len(lines), len(set(lines)))  # each kind once, although all were made twice
        self.assertIn("service clumsy: weft_wake: the service has no poll function", lines)
        self.down([f"node 4: service clumsy: {KEPT}"])

    def test_wrong_results_of_poll_and_intercept_are_refused_and_named(self):
        self.up("torus:3x3", "--service", PLUGINS / "clumsy_queue.so")
        self.ask(0, 302)
        self.until(lambda: set(self.named(0, "clumsy-queue")) == {"poll", "weft_timer"}, "mistakes of server 0")
        self.assertIn("poll: the packet is larger than the room", self.log(0))
        self.assertIn("poll: the packet was not addressed", self.log(0))
        self.assertIn("poll: the service does not hold the packet that it returns", self.log(0))
        self.assertEqual(self.numbers(0, "clumsy-queue")["timers_refused"], 1)
        logs = lambda: "".join(self.log(server) for server in range(9))
        self.until(lambda: "intercept: the verdict is neither WEFT_PASS nor WEFT_TAKEN" in logs(), "a wrong verdict")
        self.until(lambda: "intercept: the service passes a packet on" in logs(), "a packet that is gone")
        self.lives_on(0)
        self.down()

    def test_a_server_that_ends_names_a_service_that_kept_packets(self):
        self.up("torus:2", "--service", PLUGINS / "clumsy.so")
        self.assertEqual(self.ask(1, 301), "as documented")
        log = self.folder / "node-1.log"
        with log.open() as kept:  # down removes the file
            self.down([f"node 1: service clumsy: {KEPT}"])
            self.assertIn(f"service clumsy: {KEPT}", kept.read())

    def test_the_simulator_refuses_the_same_mistakes(self):
        done = weft("sim", "run", "torus:3x3", "--service", PLUGINS / "clumsy.so", "--request", "x", "--packets", "10",
                    "--seconds", "0.1", "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertGreaterEqual(done.json["numbers"]["clumsy_mistakes"], 9 * 45)
        text = weft("sim", "run", "torus:3x3", "--service", PLUGINS / "clumsy.so", "--request", "x", "--packets", "10",
                    "--seconds", "0.1")
        self.assertIn("as documented", text.out)
        done = weft("sim", "run", "torus:3x3", "--service", PLUGINS / "clumsy_queue.so", "--request", "x", "--packets",
                    "10", "--seconds", "0.1", "--json")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertGreater(done.json["numbers"]["clumsy-queue_mistakes"], 0)


main()
