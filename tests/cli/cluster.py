"""A cluster, as a user runs it."""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from processes import lives
from tap import main, weft


class Life(ClusterCase):
    def test_a_cluster_starts_reports_itself_and_leaves_nothing(self):
        found = self.up("torus:3x3")
        self.assertEqual((found["servers"], found["links"], found["processes"], found["wire"]), (9, 18, 9, "shm"))
        self.assertTrue(all(map(lives, self.pids)))
        status = self.status()  # at once, because up has waited for the last link
        self.assertEqual(status["health"], "OK", status)
        self.assertEqual((status["servers"]["live"], status["servers"]["dead"]), (9, []))
        self.assertEqual((status["links"]["up"], status["links"]["not_up"]), (18, []))
        text = self.good("status").out
        self.assertRegex(text, r"\AOK\ncluster   torus:3x3 over shm, 9 processes, in ")
        self.assertIn("servers   9 of 9 live\nlinks     18 of 18 up\n", text)

        nodes = self.good("nodes", "--json").json["nodes"]
        self.assertEqual([node["id"] for node in nodes], list(range(9)))
        self.assertEqual({node["pid"] for node in nodes}, self.pids)
        self.assertEqual({(node["state"], node["reaches"]) for node in nodes}, {("up", 9)})
        self.assertTrue(all(port["state"] == "up" for node in nodes for port in node["ports"]))
        self.assertLessEqual({"control", "ping"}, nodes[0]["services"].keys())
        self.assertEqual(len(self.good("nodes").out.splitlines()), 10)
        self.assertEqual(self.down()["servers"], 9)

    def test_servers_can_share_processes(self):
        found = self.up("torus:3x3", "--processes", 2)
        self.assertEqual((found["processes"], len(found["pids"])), (2, 2))
        self.well()
        done = self.ping(8, "--count", 50)
        self.assertEqual((done["answered"], done["lost"]), (50, 0))
        killed = self.good("kill", 8, "--json").json
        self.assertEqual(killed["servers"], [5, 6, 7, 8])  # all servers of that process
        status = self.status()
        self.assertEqual(status["servers"]["dead"], [5, 6, 7, 8])
        revived = self.good("revive", 6, "--json").json
        self.pids.add(revived["pid"])
        self.assertEqual(revived["servers"], [5, 6, 7, 8])
        self.well()
        self.down()

    def test_processes_can_be_bound_to_processors(self):
        usable = sorted(os.sched_getaffinity(0))
        self.up("torus:4", "--pin")
        self.good("kill", 3)
        self.pids.add(self.good("revive", 3, "--json").json["pid"])
        self.well()
        for node in self.good("nodes", "--json").json["nodes"]:
            expected = {usable[node["id"] % len(usable)]}
            self.assertEqual(os.sched_getaffinity(node["pid"]), expected, node["id"])
        self.down()

    def in_real_time(self, *words):
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        except PermissionError:
            self.skipTest("this user may not run anything in real time")
        return self.up(*words, "--realtime")

    def test_servers_can_have_priority_over_ordinary_programs(self):
        self.in_real_time("torus:4")
        self.good("kill", 3)
        self.pids.add(self.good("revive", 3, "--json").json["pid"])
        self.well()
        for node in self.good("nodes", "--json").json["nodes"]:
            self.assertEqual(os.sched_getscheduler(node["pid"]), os.SCHED_RR | os.SCHED_RESET_ON_FORK)
            self.assertEqual(len(os.sched_getaffinity(node["pid"])), 1)
        self.assertEqual(self.ping(2, "--count", 50)["answered"], 50)
        self.down()

    def test_busy_servers_do_not_starve_each_other(self):
        """A wait of more than one round of time slices would exceed the silence of 800 ms."""
        self.in_real_time("torus:3x3x3", "--silence", 800)
        self.good("bench", "--mode", "keys", "--rate", 1000000, "--size", 64, "--seconds", 4)
        self.well()
        said = [line for log in self.folder.glob("node-*.log") for line in log.read_text().splitlines()]
        self.assertEqual([line for line in said if line.endswith(": down")], [])
        self.down()

    def test_links_can_use_udp_with_a_rate(self):
        self.up("torus:3", "--wire", "udp", "--rate", "100Mbps")
        status = self.well()
        self.assertEqual((status["wire"], status["rate"]), ("udp", 100000000))
        self.assertEqual(self.ping(2, "--count", 20)["answered"], 20)
        self.assertIn("at 0.1 Gbit/s", self.good("status").out)
        self.down()

    def test_any_topology_can_be_started(self):
        for spec, servers in (("novacube:4x4", 16), ("jellyfish:n=8,degree=3,seed=1", 8), ("torus:2", 2)):
            with self.subTest(spec):
                self.assertEqual(self.up(spec)["servers"], servers)
                self.well()
                self.assertEqual(self.ping(servers - 1, "--count", 5)["answered"], 5)
                self.assertRegex(self.good("top").out, rf"\AOK  {servers} of {servers} servers ")
                self.down()

    def test_a_topology_from_a_file_keeps_its_names(self):
        plan = pathlib.Path(self.above.name) / "plan.edgelist"
        plan.write_text("red green\ngreen blue\nblue red\n")
        self.up(plan)
        self.assertIn("server green", self.good("ping", "green", "--count", 2).out)
        self.good("kill", "blue")
        self.assertIn("1 of 3 servers is dead: blue", self.run_weft("status").out)
        self.down()

    def test_an_existing_folder_keeps_other_files(self):
        self.folder.mkdir(mode=0o700)
        (self.folder / "mine.txt").write_text("precious")
        self.up("torus:2")
        done = self.good("down", "--json").json
        self.assertEqual(done["files_left"], 1)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.txt"])
        self.assertEqual([pid for pid in self.pids if lives(pid)], [])

    def test_a_loaded_service_runs_on_every_server(self):
        counter = pathlib.Path(os.environ["WEFT"]).parent / "examples" / "counter.so"
        if not counter.exists():
            raise unittest.SkipTest("the examples are not built")
        self.up("torus:3", "--service", counter)
        nodes = self.good("nodes", "--json").json["nodes"]
        self.assertTrue(all("counter" in node["services"] for node in nodes))
        self.good("kill", 1)
        self.pids.add(self.good("revive", 1, "--json").json["pid"])
        self.assertIn("counter", self.good("nodes", "--json").json["nodes"][1]["services"])
        self.down()

    def test_the_default_run_directory_is_in_xdg_runtime_dir(self):
        env = {"WEFT_DIR": "", "XDG_RUNTIME_DIR": self.above.name}
        self.assertEqual(weft("up", "torus:2", env=env).code, 0)
        self.assertTrue((pathlib.Path(self.above.name) / "weft" / "cluster.json").exists())
        self.assertEqual(weft("status", env=env).code, 0)
        self.assertEqual(weft("down", env={"WEFT_DIR": self.above.name + "/weft"}).code, 0)
        self.assertEqual(list(pathlib.Path(self.above.name).iterdir()), [])


class Troubles(ClusterCase):
    def test_a_killed_server_is_noticed_and_can_be_revived(self):
        self.up("torus:3x3")
        killed = self.good("kill", 4, "--json").json
        self.assertIn(killed["pid"], self.pids)
        self.assertFalse(lives(killed["pid"]))
        status = self.status()
        self.assertEqual(status["health"], "WARN")
        self.assertEqual(status["servers"]["dead"], [4])
        self.assertIn("SERVERS_DOWN", self.codes(status))
        self.assertEqual((status["links"]["lost"], status["links"]["up"]), (4, 14))
        self.assertIn("1 of 9 servers is dead: 4", self.run_weft("status").out)
        self.assertRegex(self.good("nodes").out, r"(?m)^4 \(1,1\) +dead *$")
        self.refused("kill", 4, says=r"server 4 \(1,1\) is dead; 'weft revive 4 --dir \S+' starts it again")
        self.refused("ping", 4, says="is dead")
        self.refused("ping", 5, "--from", 4, says="is dead")

        revived = self.good("revive", 4, "--json").json
        self.pids.add(revived["pid"])
        self.assertEqual(revived["servers"], [4])
        self.well()
        self.refused("revive", 4, code=1, says=rf"server 4 is running \(pid {revived['pid']}\)")
        self.down()

    def test_a_hung_server_is_silent_and_not_dead(self):
        self.up("torus:3x3", silence=2000)
        pid = self.good("nodes", "--json").json["nodes"][4]["pid"]
        os.kill(pid, signal.SIGSTOP)
        status = self.status()
        self.assertEqual((status["servers"]["silent"], status["servers"]["dead"]), ([4], []))
        self.assertIn("SERVERS_SILENT", self.codes(status))
        deadline = time.monotonic() + PATIENCE
        while self.good("nodes", "--json").json["nodes"][1]["reaches"] != 8:  # its neighbours notice
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        self.assertTrue(self.good("where", "0x0", "--json").json)
        done = self.run_weft("ping", 4, "--from", 0, "--count", 2, "--timeout", 100, "--json")
        self.assertEqual((done.code, done.err, done.json["answered"], done.json["lost"]), (1, "", 0, 2))
        os.kill(pid, signal.SIGCONT)
        self.well()
        os.kill(pid, signal.SIGSTOP)
        self.assertEqual(self.good("down", "--grace", 1, "--json").json["servers"], 9)
        self.assertEqual([pid for pid in self.pids if lives(pid)], [])

    def test_links_are_cut_and_repaired(self):
        self.up("torus:3x3")
        direct = self.good("ping", 1, "--from", 0, "--count", 1, "--json").json
        self.assertEqual(direct["path"], [0, 1])
        self.good("cut", 0, 1)
        status = self.status()
        self.assertEqual((status["health"], status["links"]["cut"]), ("WARN", 1))
        self.assertEqual([(link["a"], link["b"], link["state"]) for link in status["links"]["not_up"]],
                         [(0, 1, "cut")])
        self.assertIn("1 link is cut: 0 - 1", self.run_weft("status").out)
        around = self.good("ping", 1, "--from", 0, "--count", 1, "--json").json
        self.assertEqual((around["hops_there"], around["path"][1:]), (2, [2, 1, 2]))
        self.assertIn("repaired", self.good("heal", 0, 1).out)
        self.well()
        self.refused("cut", 0, 4, code=2, says="0 and 4: there is no link between them")
        self.refused("cut", 0, 9, code=2, says="no server 9")
        self.down()

    def test_a_link_to_a_hung_server_is_not_changed(self):
        self.up("torus:3x3")
        self.good("cut", 0, 1)
        pid = self.good("nodes", "--json").json["nodes"][1]["pid"]
        os.kill(pid, signal.SIGSTOP)
        says = (rf"^weft: server 1 \(1,0\) does not answer: [^;]+; 'weft kill 1 --dir {self.folder}' ends it and "
                rf"'weft revive 1 --dir {self.folder}' starts it again$")
        for words in (["cut", 1, 4], ["cut", 4, 1], ["heal", 0, 1], ["heal", 1, 0]):
            self.refused(*words, says=says)
        os.kill(pid, signal.SIGCONT)
        self.until(lambda: not self.status()["servers"]["silent"], "it answers again")
        self.assertEqual([(link["a"], link["b"]) for link in self.status()["links"]["not_up"]
                          if link["state"] == "cut"], [(0, 1)])
        self.good("heal", 0, 1)
        self.well()
        self.down()

    def test_a_revived_server_does_not_wait_for_unreachable_ones(self):
        self.up("torus:4")
        self.good("cut", 0, 1)
        self.good("cut", 0, 3)
        self.good("kill", 2)
        self.pids.add(self.good("revive", 2, "--json").json["pid"])
        self.good("heal", 0, 1)
        self.good("heal", 0, 3)
        self.well()
        hangs = self.good("nodes", "--json").json["nodes"][0]["pid"]
        os.kill(hangs, signal.SIGSTOP)
        self.good("kill", 2)
        self.pids.add(self.good("revive", 2, "--json").json["pid"])
        self.assertEqual(self.status()["servers"]["silent"], [0])
        os.kill(hangs, signal.SIGCONT)
        self.well()
        self.down()

    def test_a_server_without_links_splits_the_cluster(self):
        self.up("torus:4")
        self.good("cut", 0, 1)
        self.good("cut", 0, 3)
        deadline = time.monotonic() + PATIENCE
        while (status := self.status())["servers"]["parts"] != 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(status["health"], "ERR")
        self.assertIn("CLUSTER_SPLIT", self.codes(status))
        self.assertIn("3 + 1 servers; not in the largest part: 0", self.run_weft("status").out)
        self.good("heal", 0, 1)
        self.good("heal", 0, 3)
        self.well()
        self.down()

    def test_a_cluster_without_live_servers_is_reported_and_removed(self):
        self.up("torus:3")
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while any(map(lives, self.pids)) and time.monotonic() < deadline:
            time.sleep(0.01)
        status = self.status()
        self.assertEqual((status["health"], self.codes(status)), ("ERR", {"ALL_SERVERS_DOWN"}))
        self.refused("where", "x", says="none of its servers is alive; 'weft down")
        self.refused("up", "torus:3", says="has files of a cluster that no longer runs; 'weft down")
        self.assertEqual(self.down()["servers"], 0)


    def test_a_removed_run_directory_ends_its_servers(self):
        """Without it the servers could not be found any more. A new cluster need not wait for their end."""
        for wire in "shm", "udp":
            with self.subTest(wire):
                self.up("torus:3x3", "--wire", wire)
                orphans = set(self.pids)
                logs = [open(path) for path in sorted(self.folder.glob("node-*.log"))]
                subprocess.run(["rm", "-rf", self.folder], check=True)  # while servers change its files
                self.up("torus:3x3", "--wire", wire)
                self.until(lambda: not any(map(lives, orphans)), "the first ones have ended")
                for log in logs:
                    with log:
                        self.assertIn("the run directory was removed", log.read().splitlines()[-1])
                self.assertEqual(len(list(self.folder.glob("node-*.socket"))), 9)
                self.assertEqual(len(list((self.folder / "links").glob("socket.*"))), 9)
                self.well()
                self.good("kill", 4)
                self.pids.add(self.good("revive", 4, "--json").json["pid"])  # its neighbours can be called
                self.well()
                self.down()


class Keys(ClusterCase):
    def test_the_next_server_takes_over_a_key_when_its_home_dies(self):
        self.up("torus:3x3")
        found = self.good("where", "photo.jpg", "--json").json
        self.assertEqual(found["root"], found["home"])
        self.assertEqual([place["server"] for place in found["replicas"]][0], found["root"])
        self.assertEqual((found["path"][0], found["path"][-1], found["arrives"]), (0, found["root"], True))
        self.assertEqual(self.good("where", "0x" + found["key"], "--json").json["home"], found["home"])
        self.assertEqual(self.good("where", found["key"], "--json").json["home"], found["home"])
        note = 'of the name "4"; weft nodes shows server 4\n'
        self.assertIn(note, self.good("where", "4").out)
        for words in (["photo.jpg"], ["99"], ["0x4"], ["4", "--json"]):
            self.assertNotIn("of the name", self.good("where", *words).out)
        text = self.good("where", "photo.jpg").out
        self.assertRegex(text, rf"(?m)^home      {found['home']} ")
        for server in range(9):  # all servers give the same answer
            self.assertEqual(self.good("where", "photo.jpg", "--from", server, "--json").json["root"],
                             found["root"])

        heir = found["replicas"][1]["server"]
        asker = next(v for v in range(9) if v not in (found["root"], heir))
        self.good("kill", found["root"])
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            now = self.good("where", "photo.jpg", "--from", asker, "--json").json
            if now["root"] == heir:
                break
        self.assertEqual((now["home"], now["root"]), (found["home"], heir))
        pinged = self.ping("photo.jpg", "--from", asker, "--count", 10)
        self.assertEqual([one["server"] for one in pinged["answered_by"]], [heir])
        self.pids.add(self.good("revive", found["root"], "--json").json["pid"])
        self.well()
        self.assertEqual(self.good("where", "photo.jpg", "--json").json["root"], found["root"])
        self.down()

    def test_pings_report_their_path_and_their_times(self):
        self.up("torus:3x3")
        done = self.ping(4, "--from", 0, "--count", 100)
        self.assertEqual((done["sent"], done["answered"], done["lost"], done["server"]), (100, 100, 0, 4))
        self.assertEqual((done["hops_there"], done["hops_back"]), (2, 2))
        self.assertEqual((done["path"][0], done["path"][2]), (0, 4))
        self.assertTrue(0 < done["least_ns"] <= done["median_ns"] <= done["p99_ns"] <= done["most_ns"])
        lines = self.good("ping", 4, "--count", 3, "--interval", 10, "--timeout", 20000).out.splitlines()
        for number, line in enumerate(lines[:3]):
            self.assertRegex(line, rf"^{number}: [0-9.]+ \w+ from 4 \(1,1\), 2 \+ 2 hops$")
        self.assertRegex(lines[3], r"^server 4 \(1,1\) from 0 \(0,0\): 3 pings, 3 answered, 0 lost$")
        self.assertRegex(lines[5], r"^path 0 > \d > 4 < \d < 0$")
        self.assertEqual(self.ping(0, "--from", 0, "--count", 2)["answered"], 2)
        endless = self.begin("ping", 8, "--interval", 20, "--timeout", 20000)
        endless.stdout.readline()
        out, err = self.finish(endless)
        self.assertEqual((endless.returncode, err), (130, ""))
        self.assertIn(" 0 lost\n", out)
        self.down()

    def pings_sent(self):
        return self.good("nodes", "--json").json["nodes"][0]["services"]["ping"]["pings_sent"]

    def stop_amid(self, pings, earlier):
        """Stops weft ping; returns how many pings were sent by then, perhaps all."""
        deadline = time.monotonic() + PATIENCE
        while self.pings_sent() == earlier:
            self.assertLess(time.monotonic(), deadline)
        pings.send_signal(signal.SIGSTOP)
        before, sent = -1, self.pings_sent()
        while before != sent:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
            before, sent = sent, self.pings_sent()
        return sent - earlier

    def test_a_stopped_client_delays_pings_but_loses_none(self):
        count, sent, times = 100000, None, 0
        self.up("torus:2", "--processes", 1)
        while sent in (None, count) and times < 20:
            pings = self.begin("ping", 1, "--from", 0, "--count", count, "--timeout", 20000, "--json")
            sent = self.stop_amid(pings, times * count)
            pings.send_signal(signal.SIGCONT)
            out, err = pings.communicate(timeout=PATIENCE)
            self.assertEqual((pings.returncode, err), (0, ""))
            done = json.loads(out)
            self.assertEqual((done["answered"], done["lost"]), (count, 0))
            self.assertEqual(sum(by["count"] for by in done["answered_by"]), count)
            times += 1
        self.assertLess(sent, count)
        self.down()


class Load(ClusterCase):
    def test_bench_fills_the_links_and_top_shows_it(self):
        self.up("torus:3x3", "--rate", "20Mbps")
        bench = self.begin("bench", "--seconds", 4, "--json")
        busy = None

        def shows_load():  # a tenth of the rate, much more than an idle link carries
            nonlocal busy
            busy = self.good("top", "--json").json
            return max(link["bytes_per_second"] for link in busy["links"]) > 0.1 * 20e6 / 8

        self.until(shows_load, "a busy link in top")
        out, err = bench.communicate(timeout=PATIENCE)
        self.assertEqual((bench.returncode, err), (0, ""))
        found = json.loads(out)
        self.assertEqual((found["servers"], found["links"], found["line_rate"]), (9, 4, 20000000))
        self.assertEqual(found["link_bytes_per_second"]["directions"], 36)
        self.assertGreater(found["received_per_second"], 0)
        self.assertLess(found["link_bytes_per_second"]["median"], 1.1 * 20e6 / 8)  # no link exceeds its rate
        self.assertEqual(len(busy["links"]), 18)
        self.assertIn("% of line rate", self.good("bench", "--seconds", 0.5, "--links", 1).out)
        keys = self.good("bench", "--mode", "keys", "--rate", 100, "--seconds", 1, "--json").json
        self.assertGreater(keys["received_per_second"], 0)
        one = self.good("bench", "--from", 4, "--seconds", 1, "--json").json  # only server 4 sends; the others count
        self.assertEqual((one["servers"], one["hops"]), (1, 1))
        self.assertGreater(one["received_per_second"], one["sent_per_second"] / 2)
        self.refused("bench", "--mode", "keys", "--links", 2, code=2, says="--links")
        self.refused("bench", "--rate", 5, code=2, says="--rate")
        self.down()

    def test_bench_leaves_out_hung_servers(self):
        self.up("torus:3x3")
        pid = self.good("nodes", "--json").json["nodes"][4]["pid"]
        os.kill(pid, signal.SIGSTOP)
        found = self.good("bench", "--mode", "servers", "--rate", 100, "--seconds", 1, "--json").json
        self.assertEqual((found["servers"], found["silent"]), (8, 1))
        self.assertGreater(found["received_per_second"], 0)
        self.assertIn("left out  1 server that runs but does not answer",
                      self.good("bench", "--mode", "keys", "--rate", 100, "--seconds", 0.5).out)
        self.refused("bench", "--from", 4, "--seconds", 0.5, says=r"server 4 \(1,1\) does not answer")
        os.kill(pid, signal.SIGCONT)
        self.down()

    def test_top_runs_on_a_terminal_until_q(self):
        self.up("torus:3x3")
        try:
            terminal, end = pty.openpty()
        except OSError:  # a chroot without /dev/pts
            raise unittest.SkipTest("no pseudo-terminals here")
        shell = subprocess.Popen([os.environ["WEFT"], "top", "--interval", "100", "--dir", self.folder],
                                 stdin=end, stdout=end, stderr=end,
                                 env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"})
        os.close(end)
        self.addCleanup(shell.kill)
        shown = b""
        deadline = time.monotonic() + PATIENCE
        while shown.count(b"q quits") < 2 and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 4096)
        os.write(terminal, b"q")
        shell.wait(timeout=PATIENCE)
        os.close(terminal)
        self.assertEqual(shell.returncode, 0)
        self.assertIn(b"9 of 9 servers", shown)
        self.assertRegex(shown.decode(errors="replace"), r"\x1b\[\d+A")  # drawn over itself
        self.down()

    def test_top_prints_single_pictures_without_a_terminal(self):
        self.up("torus:3x3x3")
        once = self.good("top").out
        self.assertIn("z 0                z 1                z 2\n", once)
        self.assertNotIn("\033", once)
        lines = self.good("top", "--count", 2, "--interval", 50, "--json").out.splitlines()
        self.assertEqual([json.loads(line)["live"] for line in lines], [27, 27])
        self.down()


main()
