"""The memory of a service: a plug-in takes far more than it touches, on every server, and one that
asks for more than there is does not start. A sanitizer needs address space of its own, so there the
limit of address space is not tried."""

import os
import pathlib
import resource
import subprocess
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from plugin_shell import plugin
from tap import main

GIB = 1 << 30

# Takes SIZE bytes as its instance and MORE bytes in start(), and touches one byte of each.
SPARSE = """
#include <weft/service.h>

static int start(struct weft_self *self)
{
    char *instance = weft_memory(self);
    char *more = weft_allocate(self, MORE);
    if (!more)
        return 0; /* a careless service: weft must refuse its start all the same */
    instance[SIZE / 2] = 1;
    more[MORE - 1] = instance[SIZE - 1] + more[MORE / 2] + 1;
    return more[MORE - 1] == 1 ? 0 : -5;
}

static const struct weft_service_ops ops = {.start = start};
WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION, .name = "sparse", .id = 300, .size = SIZE, .ops = &ops};
"""


def resident(pid):
    """Bytes of memory that only this process has, and that are in use."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no RssAnon")


class Memory(ClusterCase):
    def sparse(self, size, more):
        return plugin(self.above.name, "sparse", SPARSE, f"-DSIZE={size}ull", f"-DMORE={more}ull")

    def test_two_gigabytes_per_server_occupy_little_memory_on_27_servers(self):
        plain = self.up("torus:3x3x3")
        used = max(resident(pid) for pid in plain["pids"])
        self.down()
        found = self.up("torus:3x3x3", "--service", self.sparse(GIB, GIB), "--set", "sparse.memory=2G")
        self.assertEqual(found["servers"], 27)
        for pid in found["pids"]:
            self.assertLess(resident(pid), used + 16 * 1024 * 1024)  # four huge pages, and noise
        nodes = self.good("nodes", "--json").json["nodes"]
        self.assertEqual({node["services"]["sparse"]["memory"] for node in nodes}, {2 * GIB})
        self.down()

    def test_a_thousand_simulated_servers_share_the_memory_of_the_machine(self):
        words = [os.environ["WEFT"], "sim", "run", "torus:10x10x10", "--seconds", "0.001", "--set", "sparse.memory=2G",
                 "--service"]
        one, two = (self.simulated(words + [self.sparse(size, size)]) for size in (4096, GIB))
        self.assertEqual(one[0], two[0])  # the size of memory is no event
        self.assertLess(two[1], one[1] + 8 * GIB)  # 2,000 huge pages at most; taken: 2,000 GiB

    def simulated(self, words):
        """Returns the hash of the events, and the most memory in use."""
        done = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        out = done.stdout.read()
        done.stdout.close()
        usage = os.wait4(done.pid, 0)[2]
        done.returncode = 0
        return [line for line in out.splitlines() if "event hash" in line], usage.ru_maxrss << 10

    def test_a_service_beyond_its_budget_is_refused(self):
        ends = r"server \d ended \(exit code 2\); its log ends: weftd: service sparse: "
        self.refused("up", "torus:2", "--service", self.sparse(4096, GIB),
                     says=ends + r"asked for 1 GiB of memory on top of 4 KiB, but its budget is 256 MiB; raise it with "
                                 r"--set sparse\.memory=1025M\n")
        self.assertFalse(self.folder.exists())
        self.refused("up", "torus:2", "--service", self.sparse(4096, GIB), "--set", "sparse.memory=1G",
                     says=ends + r"asked for 1 GiB of memory on top of 4 KiB, but its budget is 1 GiB; ")
        self.refused("up", "torus:2", "--service", self.sparse(GIB, 4096),
                     says=ends + r"asked for 1 GiB of memory, but its budget is 256 MiB; raise it with "
                                 r"--set sparse\.memory=1G\n")
        self.up("torus:2", "--service", self.sparse(4096, GIB), "--set", "sparse.memory=1025M")
        self.down()

    def test_more_memory_than_the_machine_has_is_refused(self):
        budget = ("--set", "sparse.memory=512T")
        says = r"ended \(exit code 1\); its log ends: weftd: service sparse: asked for 256 TiB of memory on top of " \
               r"\S+ [KMG]iB, but this machine has \S+ [MGT]iB"
        self.refused("up", "torus:2", "--service", self.sparse(4096, 1 << 48), *budget, says=says)
        self.assertFalse(self.folder.exists())
        self.refused("up", "torus:2", "--service", self.sparse(1 << 48, 4096), *budget, says=says)
        self.assertFalse(self.folder.exists())

    def test_the_limit_of_address_space_is_named(self):
        limit = 4 * GIB
        words = [os.environ["WEFT"], "up", "torus:2", "--dir", self.folder, "--wait", str(PATIENCE),
                 "--set", "sparse.memory=6G", "--service"]

        def shell(size):
            return subprocess.run(words + [self.sparse(size, 4096)], capture_output=True, text=True, timeout=PATIENCE,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

        small = shell(4096)
        if small.returncode:
            self.skipTest("weft does not run with 4 GiB of address space: " + small.stderr.partition("\n")[0])
        self.good("down")
        large = shell(5 * GIB)
        self.assertEqual((large.returncode, large.stdout), (1, ""))
        self.assertRegex(large.stderr, r"service sparse: asked for 5 GiB of memory on top of \S+ [KMG]iB, which the "
                                       r"system refused; see ulimit -v and the limits of the container\n\Z")
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    main()
