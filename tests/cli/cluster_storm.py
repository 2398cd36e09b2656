"""A real cluster in a storm: servers are killed, stopped, revived and told to end, links are cut and
healed, pings and load run, at random and several at once. Every command prints what it did or, in one
line, why it did nothing. In the end everything is mended, and the cluster must be healthy again.

The seed is printed. WEFT_SEED repeats a seed; WEFT_ACTIONS sets the number of actions."""

import os
import random
import signal
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from processes import lives
from tap import main

SEED = int(os.environ.get("WEFT_SEED") or random.SystemRandom().randrange(1 << 32))
ACTIONS = int(os.environ.get("WEFT_ACTIONS") or 24)
STOPPED_MAX = 2  # stopped at the same time


class Storm(ClusterCase):
    def setUp(self):
        super().setUp()
        print(f"# seed {SEED}")
        self.random = random.Random(SEED)
        self.stopped, self.shells = set(), []
        self.addCleanup(self.go_on)

    # ---- actions ----

    def tell(self, *words):
        """Runs a command, which may be refused in a storm, with a reason."""
        done = self.run_weft(*words)
        self.assertIn(done.code, (0, 1, 2), words)
        if done.err:
            self.assertRegex(done.err, r"^weft: [^\n]+\n\Z", words)
        return done

    def send_signal(self, server, number):
        pid = self.good("nodes", "--json").json["nodes"][server].get("pid")
        if pid:
            self.pids.add(pid)
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return None
        return pid

    def go_on(self):
        while self.stopped:
            pid = self.stopped.pop()
            if lives(pid):
                os.kill(pid, signal.SIGCONT)

    def revive(self, server):
        done = self.tell("revive", server, "--wait", 20, "--json")
        if done.code == 0:
            self.pids.add(done.json["pid"])

    def stop(self):
        if len(self.stopped) < STOPPED_MAX:
            pid = self.send_signal(self.any_server(), signal.SIGSTOP)
            self.stopped |= {pid} - {None}

    def collide(self):
        """Several operators act at the same time."""
        server = self.any_server()
        for words in (("kill", server), ("revive", server, "--wait", 20), ("status",),
                      ("cut", *self.any_link()), ("heal", *self.any_link())):
            self.shells.append(self.begin(*words))

    def any_server(self):
        return self.random.randrange(self.servers)

    def any_link(self):
        return self.random.choice(self.links)

    def any_key(self):
        return f"0x{self.random.getrandbits(160):x}"

    def act(self):
        server, link, key = self.any_server(), self.any_link(), self.any_key()
        mode = self.random.choice(["links", "servers", "keys"])
        self.random.choice([
            lambda: self.tell("kill", server),
            lambda: self.revive(server),
            lambda: self.tell("cut", *link),
            lambda: self.tell("heal", *link),
            self.stop,
            self.go_on,
            lambda: self.send_signal(server, signal.SIGTERM),
            lambda: self.tell("ping", server, "--count", 10, "--timeout", 200),
            lambda: self.tell("ping", key, "--count", 10, "--timeout", 200),
            lambda: self.tell("where", key),
            lambda: self.tell("bench", "--mode", mode, "--seconds", 0.4),
            lambda: self.shells.append(self.begin("bench", "--mode", mode, "--seconds", 2)),
            lambda: self.shells.append(self.begin("ping", key, "--count", 200, "--timeout", 200)),
            self.collide,
        ])()

    # ---- checks ----

    def finish_shells(self):
        for shell in self.shells:
            out, err = shell.communicate(timeout=PATIENCE)
            self.assertIn(shell.returncode, (0, 1, 2), (shell.args, err))
            self.assertNotIn("nan", out, shell.args)

    def mend(self):
        status = self.status()
        for server in status["servers"]["dead"]:
            self.revive(server)
        for link in status["links"]["not_up"]:
            if link["state"] == "cut":
                self.tell("heal", link["a"], link["b"])
        return not status["servers"]["dead"] and not status["links"]["cut"]

    def storm(self, *words):
        self.servers = self.up(*words, silence=3000)["servers"]
        self.links = [(link["a"], link["b"]) for link in self.good("top", "--json").json["links"]]
        for _ in range(ACTIONS):
            self.act()
        self.go_on()
        self.finish_shells()
        self.until(self.mend, "everything is mended")
        self.well()
        for _ in range(5):
            here, there = self.any_server(), self.any_server()
            done = self.ping(there, "--from", here, "--count", 10)
            self.assertEqual((done["answered"], done["lost"]), (10, 0))
        key = self.any_key()
        roots = {self.good("where", key, "--from", server, "--json").json["root"] for server in range(self.servers)}
        self.assertEqual(len(roots), 1, roots)
        self.pids.update(node["pid"] for node in self.good("nodes", "--json").json["nodes"])
        self.down()

    def test_a_torus_over_shared_memory_survives_a_storm(self):
        self.storm("torus:3x3")

    def test_a_novacube_over_udp_survives_a_storm(self):
        self.storm("novacube:4x4", "--wire", "udp")

    def test_a_random_graph_in_three_processes_survives_a_storm(self):
        self.storm(f"jellyfish:n=12,degree=4,seed={SEED % 100}", "--processes", 3)


main()
