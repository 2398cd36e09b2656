"""A store of real servers on real disks, while they are killed, stopped, emptied and cut off, and while
their disk is full. Clients change few keys all the time (tests/store_load.c); whatever happened, each
request must be answered as one register for each key would, and after each calm all copies are equal.

The seed is printed. WEFT_SEED repeats it; WEFT_ACTIONS sets the number of failures; WEFT_KILLS says how
often all servers are killed at once."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from processes import lives
from tap import main

SEED = int(os.environ.get("WEFT_SEED") or random.SystemRandom().randrange(1 << 32))
ACTIONS = int(os.environ.get("WEFT_ACTIONS") or 8)
KILLS = int(os.environ.get("WEFT_KILLS") or 4)
MOUNTS = "WEFT_TEST_MOUNTS"  # set: this process may mount file systems
GROUPS = 32
CLIENTS = 8


class Load:
    """The clients. Their first error ends the test."""

    def __init__(self, case, servers):
        self.case = case
        words = [os.environ["STORE_LOAD"], case.folder, SEED, CLIENTS, servers, GROUPS, *case.load_words]
        self.program = subprocess.Popen([*map(str, words)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        case.addCleanup(self.kill)

    def kill(self):
        if self.program.poll() is None:
            self.program.kill()
        self.program.communicate()

    def ask(self, order):
        try:
            self.program.stdin.write(order + "\n")
            self.program.stdin.flush()
        except BrokenPipeError:
            pass
        said = self.program.stdout.readline()
        if not said:
            self.case.fail(f"the clients ended: {self.program.communicate()[1]}")
        return said

    def counts(self):
        return json.loads(self.ask("counts"))

    def calm(self):
        """Returns when every client was answered for good, whatever it asked."""
        self.ask("calm")
        if not self.counts()["fine"]:
            self.end()

    def storm(self):
        self.ask("storm")

    def go_on(self, requests, of="requests"):
        """Waits until so many more requests have ended."""
        before = self.counts()[of]
        self.case.until(lambda: self.counts()[of] >= before + requests, f"{requests} more {of}")

    def end(self):
        out, err = self.program.communicate("end\n", timeout=PATIENCE)
        self.case.assertEqual((self.program.returncode, err), (0, ""), err)
        counts = json.loads(out)
        print(f"# {counts}")
        return counts


class StormCase(ClusterCase):
    load_words = ("expires",)  # some keys have a time to live

    def setUp(self):
        super().setUp()
        print(f"# seed {SEED}")
        self.random = random.Random(SEED)
        self.data = pathlib.Path(f"{self.folder}.data")

    def begin_store(self, spec, *words):
        self.servers = self.up(spec, "--service", "store", "--set", "store.segment=512K", "--set",
                               f"store.group_count={GROUPS}", *words, silence=1000)["servers"]
        self.load = Load(self, self.servers)
        self.load.go_on(100)

    def pid(self, server):
        return int((self.folder / f"node-{server}.lock").read_text().split()[0])

    def kill(self, *servers):
        pids = [self.pid(server) for server in servers]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.until(lambda: not any(map(lives, pids)), "the processes have ended")

    def revive(self, *servers):
        for server in servers:
            self.pids.add(self.good("revive", server, "--wait", PATIENCE, "--json").json["pid"])

    def sums(self):
        """The counters of the store, over all servers."""
        nodes = self.good("nodes", "--json").json["nodes"]
        counters = [node["services"]["store"] for node in nodes if "services" in node]
        if len(counters) < self.servers or any("digest" not in each for each in counters):
            return None
        return {name: sum(each[name] for each in counters) for name in
                ("groups_led", "copies_missing", "digest", "digest_due", "under_way", "log_full")}

    def is_whole(self):
        """Every group has a leader and all its copies, which are equal, and nothing is under way."""
        sums = self.sums()
        return sums and sums["groups_led"] == GROUPS and sums["copies_missing"] + sums["under_way"] == 0 and \
            (sums["digest"] - sums["digest_due"]) % 2**64 == 0

    def settle(self):
        """A calm: all is mended, so the store must be available and whole again."""
        self.load.calm()
        self.until(self.is_whole, f"the store is whole again: {self.sums()}")

    def finish_storm(self):
        self.settle()
        counts = self.load.end()
        self.assertGreater(min(counts["gets"], counts["changes"]), 100)
        self.down()


class Storm(StormCase):
    # ---- what fails ----

    def any_servers(self, count):
        return self.random.sample(range(self.servers), count)

    def some_die(self):
        dead = self.any_servers(self.random.choice((1, 1, 2, 4)))
        self.kill(*dead)
        self.load.go_on(self.random.randrange(20, 200))
        self.revive(*dead)

    def some_stop(self):
        stopped = [self.pid(server) for server in self.any_servers(self.random.choice((1, 2)))]
        try:
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.choice((0.05, 0.5, 2)))  # is noticed, or not
            self.load.go_on(20)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    def one_loses_its_disk(self):
        self.settle()  # every key has other copies
        self.load.storm()
        server, = self.any_servers(1)
        self.kill(server)
        self.load.go_on(self.random.randrange(20, 200))
        shutil.rmtree(self.data / f"server-{server}")
        self.revive(server)
        self.settle()
        self.load.storm()

    def one_is_cut_off(self):
        server, = self.any_servers(1)
        links = [(link["a"], link["b"]) for link in self.good("top", "--json").json["links"]
                 if server in (link["a"], link["b"])]
        for link in links:
            self.run_weft("cut", *link)  # may be refused while a server does not answer yet
        self.load.go_on(self.random.randrange(20, 200))
        for link in links:
            self.until(lambda link=link: self.run_weft("heal", *link).code == 0, "the link is healed")

    def test_servers_are_killed_stopped_emptied_and_cut_off(self):
        self.begin_store("torus:3x3")
        kinds = [self.some_die, self.some_stop, self.one_loses_its_disk, self.one_is_cut_off]
        for action in range(ACTIONS):
            kind = kinds[action] if action < len(kinds) else self.random.choice(kinds)
            print(f"# {kind.__name__}")
            kind()
            self.load.go_on(self.random.randrange(200))
        self.finish_storm()

    def test_all_servers_are_killed_at_once(self):
        self.begin_store("torus:3x3")
        for _ in range(KILLS):
            self.kill(*range(self.servers))
            self.revive(*self.any_servers(self.servers))
            self.load.calm()
            self.load.storm()
            self.load.go_on(self.random.randrange(20, 400))
        self.finish_storm()

    def test_a_plane_of_a_torus_is_cut_off(self):
        """Nine of 27 servers are on their own side: they do not serve, and come back by themselves."""
        self.begin_store("torus:3x3x3")
        stride, place = self.random.choice((1, 3, 9)), self.random.randrange(3)
        plane = {server for server in range(27) if server // stride % 3 == place}
        links = [(link["a"], link["b"]) for link in self.good("top", "--json").json["links"]
                 if (link["a"] in plane) != (link["b"] in plane)]
        for link in links:
            self.good("cut", *link)
        self.load.go_on(100, of="changes")
        for link in links:
            self.good("heal", *link)
        self.finish_storm()


class SmallDisk(StormCase):
    load_words = ()  # keys that expire would make room again

    def mount(self, size):
        if MOUNTS not in os.environ:
            self.skipTest("this user may not mount file systems")
        self.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", self.data], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.data])

    def fill(self, leave):
        """Fills the disk except for so many bytes, with a file that is not the store's."""
        with open(self.data / "ballast", "wb", buffering=0) as file:
            free = shutil.disk_usage(self.data).free
            for _ in range((free - leave) >> 16):
                file.write(bytes(1 << 16))

    def has_space(self):
        sums = self.sums()
        return sums and sums["log_full"] == 0

    def test_a_full_disk_refuses_changes_until_there_is_space(self):
        self.mount("64m")
        self.begin_store("torus:3")
        self.load.go_on(200, of="changes")
        self.fill(leave=1 << 20)
        self.load.go_on(20, of="full")
        self.load.go_on(100, of="gets")
        (self.data / "ballast").unlink()
        self.until(self.has_space, "all servers have seen that there is space")
        self.load.calm()
        self.load.storm()
        self.load.go_on(100, of="changes")
        self.finish_storm()


if __name__ == "__main__":
    if MOUNTS not in os.environ and "WEFT_TEST_ASKED" not in os.environ:
        apart = ["unshare", "-m" if os.geteuid() == 0 else "-Urm"]
        env = {**os.environ, "WEFT_TEST_ASKED": "1"}
        if subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
            os.execvpe("unshare", [*apart, sys.executable, *sys.argv], {**env, MOUNTS: "1"})
    main()
