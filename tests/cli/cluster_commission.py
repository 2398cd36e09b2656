"""Servers that know only the cables in their ports find their places."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main, weft


class Commission(ClusterCase):
    def room(self, spec):
        """A topology as `weft topo build` writes it, which tests then change."""
        path = pathlib.Path(self.above.name) / "room.json"
        self.assertEqual(weft("topo", "build", spec, "--out", path).code, 0)
        room = json.loads(path.read_text())
        del room["edges"]  # the same list as "links"
        return path, room

    def wiring(self):
        """Maps each end of a cable, by serial number and port, to the other end."""
        ends = {}
        for link in json.loads((self.folder / "wiring.json").read_text())["links"]:
            one = (int(link["source"]), link["source_port"])
            other = (int(link["target"]), link["target_port"])
            ends[one], ends[other] = other, one
        return ends

    def log(self, serial):
        return (self.folder / f"serial-{serial}.log").read_text()

    def test_machines_with_shuffled_serial_numbers_find_their_places(self):
        found = self.up("torus:3x3x3", "--commission", "--seed", 5)
        self.assertEqual((found["servers"], found["seed"], found["findings"]), (27, 5, []))
        machines = found["machines"]
        self.assertEqual([machine["server"] for machine in machines], list(range(27)))
        self.assertEqual(machines[0]["serial"], min(machine["serial"] for machine in machines))
        self.assertNotEqual([machine["serial"] for machine in machines],
                            sorted(machine["serial"] for machine in machines))
        server = {machine["serial"]: machine["server"] for machine in machines}
        for (serial, port), (other, other_port) in self.wiring().items():  # every cable is as planned
            at, step = server[serial], (1, 3, 9)[port // 2]
            way = 1 if port % 2 == 0 else -1
            digit = at // step % 3
            self.assertEqual((server[other], other_port), (at + ((digit + way) % 3 - digit) * step, port ^ 1))
        for machine in machines:
            at = machine["server"]
            self.assertEqual(machine["coordinate"], [at % 3, at // 3 % 3, at // 9])
        self.well()

        before = {machine["server"]: machine["serial"] for machine in machines}
        place = self.folder / f"serial-{before[13]}.place"
        kept = place.read_text()
        self.good("kill", 13)
        self.assertEqual(self.status()["servers"]["dead"], [13])
        self.pids.add(self.good("revive", 13, "--json").json["pid"])
        self.well()
        self.assertEqual(place.read_text(), kept)
        self.assertEqual(self.log(before[13]).count("looks for its place"), 1)  # in its first life
        self.assertEqual(self.good("ping", 13, "--from", 0, "--count", 10, "--json").json["lost"], 0)
        self.down()

    def test_the_same_seed_gives_the_same_serials(self):
        self.up("torus:3", "--commission", "--seed", 8)
        first = self.wiring()
        self.down()
        self.up("torus:3", "--commission", "--seed", 8, "--wire", "udp")
        self.assertEqual(self.wiring(), first)
        self.well()
        self.down()

    def test_exchanged_cables_are_reported_and_all_others_are_up(self):
        path, room = self.room("torus:3x3x3")
        one, other = room["links"][0], room["links"][40]
        for end in "target", "target_port":
            one[end], other[end] = other[end], one[end]
        path.write_text(json.dumps(room))
        found = self.up("torus:3x3x3", "--commission", "--wiring", path)
        machine = {machine["server"]: machine["serial"] for machine in found["machines"]}
        server = {serial: at for at, serial in machine.items()}
        self.assertEqual(len(server), 27)
        self.assertEqual(len(found["findings"]), 2, found["findings"])

        status = self.status()
        self.assertEqual((status["health"], self.codes(status)), ("WARN", {"LINKS_MISWIRED"}))
        self.assertEqual((status["links"]["up"], status["links"]["miswired"]), (79, 2))
        ends = self.wiring()
        text = status["reasons"][0]["text"]
        wrong = [(link["a"], link["a_port"]) for link in status["links"]["not_up"]]
        wrong += [(link["b"], link["b_port"]) for link in status["links"]["not_up"]]
        self.assertEqual(len(wrong), 4)
        for at, port in wrong:  # all four ends, as the cables really lie
            serial, far_port = ends[machine[at], port]
            self.assertIn(f" {at}:{port} leads to {server[serial]}:{far_port}, not to", text)
        names = ["+x(0)", "-x(1)", "+y(2)", "-y(3)", "+z(4)", "-z(5)"]
        said = set()
        for line in found["findings"]:
            for at, port in wrong:
                serial, far_port = ends[machine[at], port]
                if line.startswith(f"server {at} (serial {machine[at]}) port {names[port]} leads to server "
                                   f"{server[serial]} (serial {serial}) port {names[far_port]}; planned: server "):
                    said.add(frozenset(((at, port), (server[serial], far_port))))
        self.assertEqual(len(said), 2, found["findings"])
        for serial in server:
            for line in found["findings"]:
                self.assertIn(line + "\n", self.log(serial))
        self.assertEqual(self.good("ping", wrong[0][0], "--from", wrong[2][0], "--count", 5, "--json").json["lost"], 0)
        self.down()

    def test_a_machine_that_lost_its_place_finds_it_again(self):
        found = self.up("torus:3x3", "--commission")
        serial = found["machines"][4]["serial"]
        self.good("kill", 4)
        (self.folder / f"serial-{serial}.place").unlink()
        self.refused("revive", 4, says="server 4: no machine is at that place")
        weftd = os.environ.get("WEFTD") or pathlib.Path(os.environ["WEFT"]).with_name("weftd")
        with open(self.folder / f"serial-{serial}.log", "a") as log:
            process = subprocess.Popen([weftd, "--dir", self.folder, "--serial", str(serial)], stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.well()
        self.assertIn(f"serial {serial}: is server 4; ", self.log(serial))
        self.good("down")
        self.assertEqual(process.wait(timeout=PATIENCE), 0)

    def test_a_missing_cable_is_reported_after_a_wait(self):
        path, room = self.room("torus:3x3")
        del room["links"][3]
        path.write_text(json.dumps(room))
        found = self.up("torus:3x3", "--commission", "--wiring", path)
        self.assertEqual(len(found["findings"]), 1)
        self.assertRegex(found["findings"][0], r"^server \d \(serial \d+\) port \S+ has no cable; planned: ")
        status = self.status()
        self.assertEqual((status["health"], status["links"]["up"]), ("WARN", 17))
        self.down()

    def test_half_of_the_machines_take_no_places(self):
        """All cables between two halves are missing: neither half may assign places."""
        path, room = self.room("torus:4")
        room["links"] = [link for link in room["links"] if (link["source"] < 2) == (link["target"] < 2)]
        path.write_text(json.dumps(room))
        self.refused("up", "torus:4", "--commission", "--wiring", path, "--wait", 14,
                     says="after 14 s 4 of 4 servers are not ready: server 0 does not answer; see the logs of the machines")
        self.assertFalse(self.folder.exists())

    def test_a_machine_without_a_place_ends_with_its_run_directory(self):
        self.up("torus:3", "--commission")
        serial = min(self.wiring())[0]
        alone = pathlib.Path(self.above.name) / "alone"
        alone.mkdir(mode=0o700)
        for name in "cluster.json", "topology.json", "wiring.json":
            shutil.copy(self.folder / name, alone)
        weftd = os.environ.get("WEFTD") or pathlib.Path(os.environ["WEFT"]).with_name("weftd")
        process = subprocess.Popen([weftd, "--dir", alone, "--serial", str(serial)], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn(f"serial {serial}: looks for its place", process.stderr.readline())
        shutil.rmtree(alone)
        self.assertIn("the run directory was removed", process.communicate(timeout=PATIENCE)[1].splitlines()[-1])
        self.assertEqual(process.returncode, 1)
        self.well()  # the others have theirs
        self.down()

    def test_impossible_requests_are_refused(self):
        path, _ = self.room("torus:4")
        self.refused("up", "torus:3", "--seed", 1, code=2, says="--seed: needs --commission")
        self.refused("up", "torus:3", "--wiring", path, code=2, says="--wiring: needs --commission")
        self.refused("up", "torus:3", "--commission", "--processes", 1, code=2, says="cannot be combined with --processes")
        self.refused("up", "torus:3", "--commission", "--wiring", path, code=2,
                     says="expected the cables of 3 servers, not of 4")
        self.up("torus:3", "--commission")
        weftd = os.environ.get("WEFTD") or pathlib.Path(os.environ["WEFT"]).with_name("weftd")
        for serial, code, says in (("999", 2, "has no such machine"), ("x", 2, "not a number from 1 to"),
                                   (str(min(end[0] for end in self.wiring())), 1, "runs already, in process")):
            done = subprocess.run([weftd, "--dir", self.folder, "--serial", serial], text=True, timeout=PATIENCE,
                                  capture_output=True)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(says, done.stderr.splitlines()[-1])
        self.well()
        self.down()


main()
