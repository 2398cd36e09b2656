"""Two network namespaces as two hosts: separate /dev/shm, one address each on a pair of virtual Ethernet
devices. Programs on both, written against the public headers (program.c), find each other by multicast
names, by a file of names and by the directory of a cluster, over libfabric, over UDP alone and, with the
directory, through the servers of the cluster.

The first host is this process, which has moved to namespaces of its own; the second is a process that
holds its namespaces. Both end with this process, and everything that they made with them."""

import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

PATIENCE = int(os.environ.get("HOSTS_PATIENCE", "120"))  # seconds; nothing takes that long on a busy machine
ADDRESSES = {"east": "10.87.0.1", "west": "10.87.0.2"}
MARK = "WEFT_TEST_HOSTS"

# In the first namespaces: the second ones, a cable between both, and a route for multicast.
SETUP = """set -e
ip link set lo up
mount -t tmpfs tmpfs /dev/shm
unshare --net --mount sh -c 'mount -t tmpfs tmpfs /dev/shm && echo up && exec cat' <&3 >&4 &
other=$!
read line <&5
ip link add east type veth peer name west netns $other
ip address add 10.87.0.1/24 dev east
ip link set east up
ip route add 224.0.0.0/4 dev east
nsenter --target $other --net sh -ec '
    ip link set lo up
    ip address add 10.87.0.2/24 dev west
    ip link set west up
    ip route add 224.0.0.0/4 dev west'
echo $other
"""


def isolate():
    """Runs this script again in namespaces of its own. Returns the reason if that is impossible."""
    if os.environ.get(MARK):
        # The first process of a namespace ignores signals that it does not handle.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return None
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    for tool in ("unshare", "nsenter", "ip"):
        if not shutil.which(tool):
            return f"{tool} is not installed (tools/setup test)"
    words = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child=TERM",
             "--mount-proc", "--propagation", "private"]
    tried = subprocess.run([*words, "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && ip link set lo up && "
                            "ip link add east type veth peer name west"], capture_output=True, text=True)
    if tried.returncode:
        return "no namespaces with virtual Ethernet here: " + tried.stderr.strip().replace("\n", "; ")
    os.environ[MARK] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


REASON = isolate()


class Program:
    """A process on one of the hosts, whose lines of output arrive in a queue."""

    wrong = False  # a program of this test has failed

    def __init__(self, host, env, words):
        enter = ["nsenter", "--target", str(Hosts.other), "--net", "--mount"] if host == "west" else []
        self.name = f"{host}: {' '.join(map(str, words))}"
        self.seen = []
        self.lines = queue.Queue()
        self.process = subprocess.Popen([*enter, os.environ["HOSTS_PROGRAM"], *map(str, words)],
                                        env={**Hosts.clean, "WEFT_ADDRESS": ADDRESSES[host], **env}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def fail(self, text):
        Program.wrong = True
        raise AssertionError(f"{self.name}: {text} after {self.seen}")

    def expect(self, text):
        """Waits for a line with this beginning, and returns it."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                line = self.lines.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                self.fail(f"no '{text}' in {PATIENCE} s")
            if line is None:
                self.lines.put(None)  # for rest()
                self.fail(f"ended with {self.process.wait()} without '{text}'")
            self.seen = [*self.seen[-20:], line]
            if line.startswith(text):
                return line
            if line.startswith("failed"):
                self.fail("failed")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def rest(self):
        """The last lines of a program that has ended."""
        while (line := self.lines.get()) is not None:
            self.seen = [*self.seen[-20:], line]
        self.lines.put(None)  # for the next call
        return self.seen

    def end(self, text=None):
        """Tells the program to end; it must end well."""
        self.process.stdin.close()
        if text:
            self.expect(text)
        if self.process.wait(PATIENCE):
            self.rest()
            self.fail(f"exit {self.process.returncode}")


@unittest.skipIf(REASON, REASON)
class Hosts(unittest.TestCase):
    """Base of the cases; `way` says how its programs find and reach each other."""

    other = None  # the process that holds the second host
    clean = {word: value for word, value in os.environ.items() if not word.startswith("WEFT_")}

    @classmethod
    def setUpClass(cls):
        if cls is Hosts:
            return
        scratch = tempfile.TemporaryDirectory(prefix="weft-hosts-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        if not Hosts.other:
            Hosts.make()

    @staticmethod
    def make():
        """Makes the second host. It lives until this process ends, which closes its standard input."""
        end, Hosts.life = os.pipe()
        heard, said = os.pipe()
        done = subprocess.run(["sh", "-c", f"exec 3<&{end} 4>&{said} 5<&{heard}\n{SETUP}"], text=True,
                              capture_output=False, stdout=subprocess.PIPE, pass_fds=(end, said, heard),
                              timeout=PATIENCE, check=True)
        for fd in (end, heard, said):
            os.close(fd)
        Hosts.other = int(done.stdout)

    def setUp(self):
        Program.wrong = False
        self.programs = []
        self.addCleanup(self.end_all)

    def end_all(self):
        """Ends all programs; after a failure their output explains it."""
        for program in self.programs:
            program.kill()
            if Program.wrong:
                print(f"# {program.name}: {program.rest()}", flush=True)

    def way(self, host, ids=()):
        """The variables of a program on this host that will have these ids."""
        raise NotImplementedError

    def start(self, host, *words, ids=()):
        program = Program(host, self.way(host, ids), words)
        self.programs.append(program)
        return program

    def run_one(self, host, *words, text):
        program = self.start(host, *words)
        line = program.expect(text)
        program.end()
        return line

    def serve(self, host, number, *group):
        program = self.start(host, "serve", number, host, *group, ids=(number,))
        program.expect("ready")
        return program


class Talk:
    """What must work in each way."""

    over = "fabric"
    long_size = 1 << 20

    def test_short_messages_and_replies_both_ways(self):
        self.serve("east", 100)
        self.serve("west", 200)
        for host, number, tag in (("east", 200, "west"), ("west", 100, "east")):
            self.assertEqual(self.run_one(host, "short", number, 100, text="100 replies"),
                             f"100 replies from {tag} over {self.over}")

    def test_one_way_messages_arrive(self):
        server = self.serve("west", 210)
        for _ in range(3):
            self.run_one("east", "send", 210, "say", text="sent")
            server.expect("heard")

    def test_long_items_and_return_buffers(self):
        self.serve("west", 220)
        self.run_one("east", "long", 220, 5000, text="5000 bytes")
        self.run_one("east", "long", 220, self.long_size, text=f"{self.long_size} bytes there and back")

    def test_granted_memory_is_read_and_written(self):
        self.serve("west", 230)
        self.run_one("east", "grant", 230, 100000, text="100000 granted bytes changed")

    def test_a_group_has_members_on_both_hosts(self):
        self.serve("east", 241, 240)
        self.serve("west", 242, 240)
        self.serve("west", 243, 240)
        self.run_one("east", "group", 240, 3, 20, text="60 replies to 20 messages")

    def test_a_service_that_moves_is_found_again(self):
        old = self.serve("west", 250)
        client = self.start("east", "follow", 250)
        client.expect("now at west")
        old.end()
        moved = self.serve("east", 250)
        client.expect("now at east")
        moved.kill()  # this time it does not take its leave
        self.serve("west", 250)
        client.expect("now at west")
        client.end("done")

    def test_a_service_moves_in_order_and_loses_nothing(self):
        def hold(host):
            program = self.start(host, "hold", 260, ids=(260,))
            program.expect("ready")
            return program

        holder = hold("west")
        holder.tell("take 0")
        holder.expect("took")
        client = self.start("east", "pour", 260)
        client.expect("pouring")
        for host in ("east", "west", "west", "east"):
            heir = hold(host)
            holder.expect("thousand")
            holder.tell("give")
            number = holder.expect("gave").split()[1]
            heir.tell(f"take {number}")
            heir.expect("took")
            holder.end()
            holder = heir
        holder.expect("thousand")
        client.tell("stop")
        number = client.expect("poured").split()[1].strip(",")
        self.assertEqual(client.seen[-1], f"poured {number}, 0 lost, 0 doubtful")
        holder.tell("give")
        self.assertEqual(holder.expect("gave"), f"gave {number}")
        client.end()

    def table(self, design, number):
        """Three members, two of them on one host. The leader is killed, the others go on, and another
        member takes its place."""
        def join(member, host):
            members[member] = self.start(host, "member", number, member, 1, design, ids=(member,))
            members[member].expect("open as row")
            for other in members:
                if other != member:
                    members[other].expect(f"{len(members)} live")

        def count():
            for program in members.values():
                program.expect("step")

        members = {}
        join(number + 1, "west")
        join(number + 2, "east")
        join(number + 3, "west")
        count()
        members.pop(number + 1).kill()
        for program in members.values():
            program.expect(f"member {number + 1} failed")
        count()
        join(number + 4, "east")
        count()
        count()
        for program in members.values():
            program.end("closed: 0")

    def test_a_table_whose_members_write_outlives_its_leader(self):
        self.table("writes", 300)

    def test_a_table_whose_members_read_outlives_its_leader(self):
        self.table("reads", 400)

    def test_a_table_of_two_goes_on_when_the_eldest_is_killed(self):
        """The network is not divided, so the other member goes on."""
        def join(member, host):
            program = self.start(host, "member", 600, member, 1, "writes", ids=(member,))
            program.expect("open as row")
            return program

        eldest = join(601, "west")
        other = join(602, "east")
        eldest.kill()
        other.expect("member 601 failed")
        third = join(603, "west")
        for program in (other, third):
            program.expect("step")
        for program in (other, third):
            program.end("closed: 0")

    def test_a_table_that_its_members_open_at_once(self):
        members = [self.start(host, "member", 500, 501 + i, 3, "writes", ids=(501 + i,))
                   for i, host in enumerate(("east", "west", "west"))]
        for program in members:
            program.expect("open as row")
            program.expect("step")
        for program in members:
            program.end("closed: 0")


class Multicast:
    def way(self, host, ids=()):
        return {"WEFT_NAMES": "multicast"}


class NamesFile:
    """Each program has a port of its own, and a line for each of its ids. The file is replaced, as an editor
    does. The ids of clients are not in it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = 17700
        cls.lines = {}

    def way(self, host, ids=()):
        cls = type(self)
        path = cls.scratch / "names"
        cls.port += 1
        cls.lines |= {number: f"{number} {ADDRESSES[host]}:{cls.port}" for number in ids}
        new = cls.scratch / "names.new"
        new.write_text("# all services\n" + "\n".join(cls.lines.values()) + "\n")
        new.rename(path)
        return {"WEFT_NAMES": f"file:{path}", "WEFT_PORT": str(cls.port)}


class Udp:
    over = "udp"

    def way(self, host, ids=()):
        return {**super().way(host, ids), "WEFT_TRANSPORTS": "udp"}


class MulticastOverFabric(Talk, Multicast, Hosts):
    pass


class MulticastOverUdp(Udp, Talk, Multicast, Hosts):
    pass


class FileOverFabric(Talk, NamesFile, Hosts):
    pass


class FileOverUdp(Udp, Talk, NamesFile, Hosts):
    pass


class Directory:
    """A cluster of four servers; the programs of each host are attached to another server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = cls.scratch / "run"
        cls.addClassCleanup(weft, "down", "--dir", cls.folder, "--grace", 0, timeout=PATIENCE)
        done = weft("up", "torus:2x2", "--dir", cls.folder, "--silence", 20000, "--wait", PATIENCE,
                    timeout=PATIENCE)
        if done.code:
            raise RuntimeError(done.err)

    def way(self, host, ids=()):
        server = {"east": 0, "west": 3}[host]
        return {"WEFT_NODE": str(type(self).folder / f"node-{server}.socket")}


class DirectoryOverFabric(Talk, Directory, Hosts):
    pass


class DirectoryOverUdp(Udp, Talk, Directory, Hosts):
    pass


class DirectoryThroughServers(Talk, Directory, Hosts):
    """Without an address of their own the programs reach each other only through the servers."""

    over = "routed"

    def way(self, host, ids=()):
        return {**super().way(host, ids), "WEFT_ADDRESS": ""}


if __name__ == "__main__":
    main()
