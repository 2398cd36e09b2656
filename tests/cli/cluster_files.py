"""Services keep files: records that were acknowledged survive kill -9 and weft down; a data directory
that cannot be used, or belongs to another cluster or server, is refused by name. Runs itself in a
namespace in which it may mount small file systems; the tests that mount are skipped without one."""

import errno
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main, weft

MOUNTS = "WEFT_TEST_MOUNTS"
JOURNAL, PROBE = 257, 301
SYSTEM = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}


class Program:
    """A program that is connected to a service of a server."""

    def __init__(self, folder, server, service):
        self.service = service
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(folder / f"node-{server}.socket"))
        self.socket.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))  # the hello
        self.socket.recv(100)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, text):
        self.socket.send(struct.pack(">HHQ", self.service, 0, 1) + text.encode())

    def answer(self):
        """Empty if the server has ended."""
        return self.socket.recv(9000)[12:].decode()

    def has_answer(self):
        return bool(select.select([self.socket], [], [], 0)[0])

    def ask(self, text):
        self.send(text)
        return self.answer()


class Files(ClusterCase):
    def setUp(self):
        super().setUp()
        self.data = pathlib.Path(str(self.folder) + ".data")  # the default

    def up_journal(self, *words, topology="torus:3x3"):
        return self.up(topology, "--service", os.environ["JOURNAL"], *words)

    def journal(self, server):
        return Program(self.folder, server, JOURNAL)

    def probe(self, server, *texts):
        with Program(self.folder, server, PROBE) as program:
            return [program.ask(text) for text in texts]

    def write_until_killed(self, server, name, kept, enough):
        """Adds records until the server ends; kept[number] = text for each acknowledged one."""
        try:
            with self.journal(server) as program:
                for count in range(100000):
                    text = f"{name} {count}"
                    answer = program.ask("+" + text)
                    if answer == "busy":
                        continue
                    if not answer.isdigit():
                        return
                    kept[int(answer)] = text
                    if len(kept) >= 200:
                        enough.set()
        except OSError:
            return
        finally:
            enough.set()

    def kill_under_load(self, *words):
        found = self.up_journal(*words)
        self.assertEqual(found["data"], str(self.data))
        kept = {}
        for life in range(3):
            enough = threading.Event()
            writers = [threading.Thread(target=self.write_until_killed,
                                        args=(4, f"life {life} writer {writer}", kept, enough))
                       for writer in range(4)]
            for writer in writers:
                writer.start()
            self.assertTrue(enough.wait(PATIENCE))
            self.good("kill", 4)
            for writer in writers:
                writer.join(PATIENCE)
                self.assertFalse(writer.is_alive())
            self.pids.add(self.good("revive", 4, "--json").json["pid"])
            self.read_back(4, kept)
        self.assertGreaterEqual(len(kept), 200)
        return kept

    def read_back(self, server, kept):
        with self.journal(server) as program:
            self.until(lambda: program.ask("?0") != "busy", "the journal is ready")
            self.assertEqual({number: program.ask(f"?{number}") for number in kept}, kept)

    def test_acknowledged_records_survive_kill_and_down(self):
        kept = self.kill_under_load()
        done = self.down()
        self.assertEqual((done["data"], done["stored"], done["erased"]), (str(self.data), 9, False))
        self.up_journal()
        self.read_back(4, kept)
        self.assertEqual(self.status()["data"], str(self.data))
        self.assertIn(f"data      of 9 servers in {self.data}\n", self.good("status").out)
        done = self.good("down", "--erase-data", "--json").json
        self.assertEqual((done["stored"], done["erased"]), (9, True))
        self.assertFalse(self.data.exists())

    def test_threads_keep_records_as_well(self):
        os.environ["WEFT_DISK"] = "threads"
        self.addCleanup(os.environ.pop, "WEFT_DISK")
        self.kill_under_load()
        self.assertIn("by threads, as requested", (self.folder / "node-4.log").read_text())
        self.down()

    def test_servers_in_one_process_have_separate_files(self):
        self.up_journal("--processes", "1")
        for server in range(9):
            with self.journal(server) as program:
                self.until(lambda: program.ask("?0") != "busy", "the journal is ready")
                self.assertEqual(program.ask(f"+server {server}"), "0")
        self.down()
        self.up_journal("--processes", "2")
        for server in range(9):
            self.read_back(server, {0: f"server {server}"})
        self.down()

    def test_without_a_service_that_uses_the_disk_nothing_is_created(self):
        self.up("torus:3x3", "--service", os.environ["COUNTER"])
        self.down()
        self.assertFalse(self.data.exists())

    def test_the_data_of_another_cluster_is_refused_by_name(self):
        self.up_journal()
        self.down()
        says = (rf"{self.data}/server-0: has the data of another cluster \(torus:3x3, 9 servers\); "
                "choose another --data, or move this folder away")
        self.refused("up", "torus:3", "--service", os.environ["JOURNAL"], code=2, says=says)
        self.assertFalse(self.folder.exists())
        self.up("torus:3", "--service", os.environ["COUNTER"])  # it does not use the disk
        self.down()
        other = self.data.with_name("other")
        self.up_journal("--data", other, topology="torus:3")
        self.down()
        # A folder that was copied from another cluster of the same topology, or from another server.
        self.up_journal("--data", other.with_name("third"))
        self.down()
        (other.with_name("third") / "server-8").rename(self.data / "server-9")
        (self.data / "server-8").rename(self.data / "server-10")
        (self.data / "server-9").rename(self.data / "server-8")
        self.refused("up", "torus:3x3", "--service", os.environ["JOURNAL"], code=2,
                     says=rf"{self.data}/server-8: has the data of another cluster of the same topology")
        (self.data / "server-8").rename(self.data / "server-9")
        (self.data / "server-7").rename(self.data / "server-8")
        self.refused("up", "torus:3x3", "--service", os.environ["JOURNAL"], code=2,
                     says=rf"{self.data}/server-8: has the data of server 7, not of server 8")
        self.assertFalse((self.data / "server-7").exists())

    def tree(self):
        return sorted(str(path.relative_to(self.data)) for path in self.data.rglob("*"))

    def test_a_refused_start_does_not_claim_folders_that_are_missing(self):
        self.up_journal(topology="torus:3")
        with self.journal(1) as program:
            self.until(lambda: program.ask("?0") != "busy", "the journal is ready")
            self.assertEqual(program.ask("+kept"), "0")
        self.down()
        shutil.rmtree(self.data / "server-0")  # the disk was replaced
        before = self.tree()
        self.refused("up", "torus:5", "--service", os.environ["JOURNAL"], code=2,
                     says=rf"{self.data}/server-1: has the data of another cluster \(torus:3, 3 servers\)")
        self.assertEqual(self.tree(), before)
        self.up_journal(topology="torus:3")
        self.read_back(1, {0: "kept"})
        self.down()

    def test_a_start_that_fails_leaves_nothing_in_the_data_directory(self):
        above, unable = (pathlib.Path(os.environ["PLUGINS"]) / f"disk_{name}.so" for name in ("above", "unable"))
        for plugin, code, says in ((above, 2, "service probe: has `files` above the limit"),
                                   (unable, 1, "service probe cannot start: Invalid cross-device link")):
            for words in ([], ["--processes", 2], ["--commission"]):
                self.refused("up", "torus:3", "--service", plugin, *words, code=code, says=says)
                self.assertFalse(self.data.exists(), words)
            self.data.mkdir()  # what is older stays
            self.refused("up", "torus:3", "--service", plugin, code=code, says=says)
            self.assertEqual(self.tree(), [])
            self.data.rmdir()
        self.up_journal(topology="torus:3")
        with self.journal(1) as program:
            self.until(lambda: program.ask("?0") != "busy", "the journal is ready")
            self.assertEqual(program.ask("+kept"), "0")
        self.down()
        before = self.tree()
        self.refused("up", "torus:3", "--service", os.environ["JOURNAL"], "--service", above, code=2,
                     says="above the limit")
        self.assertEqual(self.tree(), before)
        self.refused("up", "torus:3", "--service", os.environ["JOURNAL"], "--service", unable, says="cannot start")
        self.up_journal(topology="torus:3")
        self.read_back(1, {0: "kept"})
        self.down()

    def test_a_torn_file_of_any_server_is_repaired_with_the_id_of_the_others(self):
        for server in range(3):
            self.up_journal(topology="torus:3")
            self.down()
            owner = self.data / f"server-{server}" / "server.json"
            whole = owner.read_text()
            for torn in ("", whole[:40], None):
                shutil.rmtree(owner.parent / "journal")  # the start ended before it made this
                owner.unlink() if torn is None else owner.write_text(torn)
                self.up_journal(topology="torus:3")
                self.down()
                self.assertEqual(owner.read_text(), whole)

    def test_a_lost_owner_of_data_is_named_and_nothing_is_made(self):
        self.up_journal(topology="torus:3")
        self.down()
        owner = self.data / "server-1" / "server.json"
        whole = owner.read_bytes()
        shutil.rmtree(self.data / "server-2")
        for damage, says in ((owner.unlink, "is missing, but the folder has data of services"),
                             (owner.touch, "line 1: the file ends where a value should be")):
            damage()
            before = self.tree()
            self.refused("up", "torus:3", "--service", os.environ["JOURNAL"], code=2, says=rf"{owner}: {says}")
            self.assertEqual(self.tree(), before)
        owner.write_bytes(whole)
        self.up_journal(topology="torus:3")
        self.down()

    def test_a_second_cluster_on_the_same_data_is_refused(self):
        self.up_journal()
        second = self.folder.with_name("second")
        done = weft("up", "torus:3x3", "--service", os.environ["JOURNAL"], "--data", self.data,
                    "--dir", second, timeout=PATIENCE)
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertRegex(done.err, rf"{self.data}/server-\d: another server uses this data directory")
        self.assertFalse(second.exists())
        self.well()  # the first is not affected
        with self.journal(0) as program:
            self.assertEqual(program.ask("+x"), "0")
        self.down()

    def up_beside(self, number, topology, *words, env=None):
        """Starts weft up on the same data directory, with another run directory."""
        folder = self.folder.with_name(f"run-{number}")
        process = subprocess.Popen([os.environ["WEFT"], "up", topology, "--service", os.environ["JOURNAL"], "--data",
                                    self.data, "--dir", folder, "--silence", "30000", *words], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.addCleanup(weft, "down", "--dir", folder, "--grace", "0", timeout=PATIENCE)
        self.addCleanup(process.kill)
        return folder, process

    def test_a_start_on_data_that_another_start_begins_to_use_is_refused(self):
        slow = self.folder.parent / "weftd"
        slow.write_text("#!/bin/sh\nexec sleep 1000\n")
        slow.chmod(0o755)
        for exists in (False, True):
            first, process = self.up_beside(1, "torus:2", env={"WEFTD": str(slow)})
            self.until(lambda: (first / "node-1.log").exists(), "the first cluster starts its servers")
            self.refused("up", "torus:3", "--service", os.environ["JOURNAL"], "--data", self.data,
                         says=rf"^weft: {self.data}: another weft up starts servers on this data directory; wait until "
                              "it ends, or choose another --data")
            self.assertFalse(self.folder.exists())
            self.up("torus:3", "--service", os.environ["COUNTER"], "--data", self.data)  # it does not use the disk
            self.down()
            process.send_signal(signal.SIGINT)
            self.assertEqual((*process.communicate(timeout=PATIENCE), process.returncode), ("", "weft: interrupted\n", 130))
            self.assertEqual(self.data.exists(), exists)
            self.data.mkdir(exist_ok=True)

    def owners(self):
        return {json.loads(path.read_text())["cluster"] for path in self.data.glob("server-*/server.json")}

    def test_of_several_first_starts_at_once_one_gets_the_data(self):
        for _ in range(5):
            starts = [self.up_beside(size, f"torus:{size}") for size in (2, 3, 4, 5)]
            ends = [(*process.communicate(timeout=PATIENCE), process.returncode) for _, process in starts]
            good = [folder for (folder, _), (_, _, code) in zip(starts, ends) if code == 0]
            self.assertEqual((len(good), len(self.owners())), (1, 1), ends)
            for (folder, process), (out, err, code) in zip(starts, ends):
                if code:
                    self.assertEqual(out, "")
                    self.assertRegex(err, rf"^weft: {self.data}[^\n]+(choose another --data)[^\n]*\n\Z")
                    self.assertFalse(folder.exists())
            self.assertEqual(weft("down", "--erase-data", "--dir", good[0], timeout=PATIENCE).code, 0)
            self.assertFalse(self.data.exists())

    def test_a_data_directory_that_cannot_be_made_is_refused_by_name(self):
        (self.folder.parent / "file").touch()
        for words, says in ((["--data", self.folder.parent / "file/below"], "file/below: .*: Not a directory"),
                            (["--data", "/proc/weft"], "/proc/weft: the data directory cannot be used")):
            self.refused("up", "torus:3x3", "--service", os.environ["JOURNAL"], *words, says=says)
            self.assertFalse(self.folder.exists())
        self.refused("up", "torus:3x3", "--data", "", code=2, says="--data: expected the name of a folder")

    def test_the_default_is_in_the_home_folder_if_the_run_directory_was_not_named(self):
        above = self.folder.parent
        env = {**os.environ, "XDG_RUNTIME_DIR": str(above), "XDG_STATE_HOME": str(above / "state"), "HOME": str(above)}
        env.pop("WEFT_DIR", None)
        for name, expected in (("XDG_STATE_HOME", above / "state/weft"), ("HOME", above / ".local/state/weft")):
            done = weft("up", "torus:3", "--json", env=env, timeout=PATIENCE)
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertEqual(done.json["data"], str(expected))
            self.assertEqual(weft("down", env=env, timeout=PATIENCE).code, 0)
            del env[name]

    def test_calls_return_what_the_header_says(self):
        self.up("torus:3", "--service", os.environ["PROBE"])
        refused = [f"refused {-number}" for number in (errno.EINVAL, errno.EBUSY)]
        self.assertEqual(self.probe(1, "o../x", "o.x", "o", "d/x", "l"), [refused[0]] * 4 + ["0"])
        self.assertRegex((self.folder / "node-1.log").read_text(), "service probe: weft_disk_open: a name has 1 to 64 ")
        self.assertEqual(self.probe(1, "ox", "ox", "dx", "n"), ["0"] + [refused[1]] * 3)
        self.assertEqual(self.probe(1, "ahello", "a world", "s", "r", "z"), ["0", "5", "0", "11 hello world", "11"])
        self.assertEqual(self.probe(1, "t4", "a!", "r", "c", "s"), ["0", "4", "5 hell!", "0", refused[0]])
        self.assertEqual(self.probe(1, "l", "n", "l", "n"), ["1 x:5", "0", "1 y:5", f"-{errno.ENOENT}"])
        self.assertEqual(self.probe(2, "l"), ["0"])
        self.assertEqual(self.probe(1, "dy", "dy", "l"), ["0", f"-{errno.ENOENT}", "0"])
        self.assertEqual(sorted(path.name for path in (self.data / "server-1").iterdir()), ["probe", "server.json"])
        self.down()

    # ---- small file systems ----

    def mount(self, *options):
        if MOUNTS not in os.environ:
            self.skipTest("this user may not mount file systems")
        self.data.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", *options, "none", self.data], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.data])

    def test_a_full_disk_fails_calls_and_nothing_else(self):
        self.mount("-o", "size=400k")
        self.up("torus:3", "--service", os.environ["PROBE"])
        with Program(self.folder, 1, PROBE) as program:
            self.assertEqual(program.ask("ox"), "0")
            answers = []
            while not answers or not answers[-1].startswith("-"):
                answers.append(program.ask("a" + 290 * "x"))
            self.assertEqual(answers[-1], f"-{errno.ENOSPC}")
            self.assertEqual(answers[:-1], [str(290 * i) for i in range(len(answers) - 1)])
            self.assertEqual(program.ask("z"), str(290 * (len(answers) - 1)))
            self.assertEqual(program.ask("t0"), "0")  # there is room again
            self.assertEqual(program.ask("a" + 290 * "x"), "0")
        self.assertEqual(self.ping(2, "--from", 1, "--count", 5)["lost"], 0)
        self.down()

    def test_a_full_or_read_only_data_directory_is_refused_by_name_at_start(self):
        self.mount("-o", "nr_inodes=3")
        self.refused("up", "torus:3", "--service", os.environ["PROBE"],
                     says=rf"{self.data}/server-\d: the data directory cannot be used: No space left on device")
        subprocess.run(["mount", "-o", "remount,nr_inodes=100,ro", self.data], check=True)
        self.refused("up", "torus:3", "--service", os.environ["PROBE"],
                     says=rf"{self.data}/server-\d: the data directory cannot be used: Read-only file system")
        subprocess.run(["mount", "-o", "remount,rw", self.data], check=True)
        self.up("torus:3", "--service", os.environ["PROBE"])
        self.down()
        subprocess.run(["mount", "-o", "remount,ro", self.data], check=True)
        self.refused("up", "torus:3", "--service", os.environ["PROBE"],
                     says=rf"{self.data}/server-\d: the data directory cannot be used: Read-only file system")

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.data], check=True)

    def test_a_start_that_ran_out_of_space_succeeds_when_there_is_some(self):
        roomy = "size=1m,nr_inodes=100"
        self.mount("-o", roomy)
        for small in [f"size={kib}k" for kib in (4, 8)] + [f"nr_inodes={count}" for count in range(2, 10)]:
            with self.subTest(small=small):
                self.remount(small)
                self.refused("up", "torus:3", "--service", os.environ["PROBE"],
                             says=rf"{self.data}/server-\d: the data directory cannot be used: No space left on device")
                for path in self.data.rglob("server.json*"):
                    self.assertIn('"servers": 3', path.read_text())
                self.remount(roomy)
                self.up("torus:3", "--service", os.environ["PROBE"])
                self.down()
            for path in self.data.glob("server-*"):
                shutil.rmtree(path)
            self.remount(roomy)

    def freeze(self, option):
        return subprocess.run(["fsfreeze", option, self.data], capture_output=True, env=SYSTEM).returncode

    def hanging_disk(self):
        """A file system that can be made to hang; needs root and a loop device."""
        image = self.folder.parent / "image"
        with open(image, "wb") as file:
            file.truncate(32 << 20)
        self.data.mkdir()
        for words in (["mkfs.ext4", "-q", "-F", image], ["mount", "-o", "loop", image, self.data],
                      ["fsfreeze", "-f", self.data]):
            try:
                done = subprocess.run(words, capture_output=True, env=SYSTEM)
            except FileNotFoundError:
                self.skipTest(f"there is no {words[0]}")
            if done.returncode:
                self.skipTest(f"{words[0]} is not permitted")
            if words[0] == "mount":
                self.addCleanup(subprocess.run, ["umount", self.data], capture_output=True, env=SYSTEM)
                self.addCleanup(self.end)  # before the file system is unmounted
                self.addCleanup(self.freeze, "-u")  # before all else
        self.assertEqual(self.freeze("-u"), 0)

    def hang(self):
        self.up("torus:3", "--service", os.environ["PROBE"])
        with Program(self.folder, 1, PROBE) as program:
            self.assertEqual(program.ask("ox"), "0")
            for text, result, waits in (("abytes", "0", True), ("s", "0", False), ("t2", "0", True), ("c", "0", False)):
                self.assertEqual(self.freeze("-f"), 0)
                program.send(text)
                self.assertEqual(self.ping(1, "--from", 0, "--count", 50, "--interval", 2)["lost"], 0)
                self.assertEqual(self.probe(2, "l"), ["0"])
                self.assertEqual(self.status()["health"], "OK")
                if waits:
                    self.assertFalse(program.has_answer())
                self.assertEqual(self.freeze("-u"), 0)
                self.assertEqual(program.answer(), result)
        self.down()

    def test_a_disk_that_hangs_delays_its_own_calls_and_nothing_else(self):
        self.hanging_disk()
        self.hang()
        os.environ["WEFT_DISK"] = "threads"
        self.addCleanup(os.environ.pop, "WEFT_DISK")
        self.assertEqual(subprocess.run(["rm", "-r", *self.data.glob("server-*")]).returncode, 0)
        self.hang()


if __name__ == "__main__":
    if MOUNTS not in os.environ and "WEFT_TEST_ASKED" not in os.environ:
        apart = ["unshare", "-m" if os.geteuid() == 0 else "-Urm"]
        env = {**os.environ, "WEFT_TEST_ASKED": "1"}
        if subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
            os.execvpe("unshare", [*apart, sys.executable, *sys.argv], {**env, MOUNTS: "1"})
    main()
