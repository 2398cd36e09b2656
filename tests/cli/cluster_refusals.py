"""Faults at the start of a cluster. Each is reported in one line that says what to do, and leaves
no files and no processes behind."""

import ctypes
import errno
import os
import pathlib
import platform
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from processes import lives
from tap import main, weft


class Refusals(ClusterCase):
    def weftd(self, script):
        """Writes a shell script that `up` runs instead of weftd; returns the environment for that."""
        path = pathlib.Path(self.above.name) / "weftd"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return {"WEFTD": str(path)}

    def untouched(self):
        self.assertFalse(self.folder.exists())

    def test_invalid_arguments_are_refused(self):
        for words, says in ((["up", "torus:0"], "torus:0"), (["up", "nonsense:3"], "no such topology"),
                            (["up", "fattree:k=4"], "^weft: fattree:k=4 has switches"), (["up", "torus:99x99"], "at most 4096"),
                            (["up", "--wire", "string"], "shm, udp"), (["up", "--rate", "fast"], "1Gbps"),
                            (["up", "--rate", "1"], "1Gbps"), (["up", "--processes", "0"], "--processes"),
                            (["up", "--processes", "28"], "1 to 27"), (["up", "--silence", "1"], "--silence"),
                            (["status", "more"], "unexpected argument 'more'"), (["kill"], "expected ID")):
            with self.subTest(words):
                self.refused(*words, code=2, says=says)
                self.untouched()

    def test_without_a_cluster_the_error_says_how_to_start_one(self):
        for words in (["status"], ["nodes"], ["top"], ["kill", "1"], ["revive", "1"], ["cut", "0", "1"],
                      ["heal", "0", "1"], ["where", "x"], ["ping", "1"], ["bench"]):
            self.refused(*words, code=2, says=rf"no cluster here; 'weft up --dir {self.folder}' starts one")
        self.refused("down", code=2, says="no cluster runs here")
        self.untouched()

    def test_a_path_too_long_for_sockets_is_refused(self):
        self.folder = pathlib.Path(self.above.name) / ("f" * 100)
        self.refused("up", "torus:2", code=2, says="too long for the sockets in it; at most 84")
        self.untouched()

    def test_a_run_directory_that_is_a_file_or_writable_by_others_is_refused(self):
        self.folder.write_text("a file")
        self.refused("up", "torus:2", code=2, says="is not a folder")
        self.refused("status", code=2, says="is not a folder")
        self.folder.unlink()
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.refused("up", "torus:2", code=2, says="other users can write there; run 'chmod go-w' on it")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.folder.rmdir()
        self.folder = pathlib.Path(self.above.name) / "no" / "such"
        self.refused("up", "torus:2", says="No such file or directory")

    def test_a_second_cluster_in_the_same_folder_is_refused(self):
        self.up("torus:2")
        self.refused("up", says=r"a cluster runs there, 2 of 2 servers are alive; 'weft down --dir \S+' ends it")
        self.well()  # the first cluster is not affected
        self.down()

    def test_a_missing_weftd_is_reported(self):
        alone = pathlib.Path(self.above.name) / "weft"
        shutil.copy(os.environ["WEFT"], alone)
        env = {**os.environ, "PATH": "/nowhere"}
        done = subprocess.run([alone, "up", "--dir", self.folder], env=env, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.out if hasattr(done, "out") else done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^weft: weftd: not found beside weft or in PATH; [^\n]+\n\Z")
        self.refused("up", "torus:2", code=2, says="WEFTD=/nowhere: No such file", env={"WEFTD": "/nowhere"})
        self.untouched()

    def test_a_server_that_ends_at_once_is_reported_with_its_last_line(self):
        env = self.weftd("echo first; echo weftd: port 7: no such thing >&2; exit 3\n")
        self.refused("up", "torus:2", env=env,
                     says=r"server \d ended \(exit code 3\); its log ends: weftd: port 7: no such thing")
        self.untouched()
        env = self.weftd("kill -9 $$\n")
        self.refused("up", "torus:2", env=env, says=r"server \d ended \(Killed\); its log is empty")
        self.untouched()

    def test_a_server_that_never_answers_is_reported(self):
        mark = str(pathlib.Path(self.above.name) / "pids")
        env = self.weftd(f"echo $$ >> {mark}; echo waiting for godot; exec sleep 1000\n")
        self.refused("up", "torus:2", "--wait", 3, env=env,
                     says="after 3 s 2 of 2 servers are not ready: server 0 does not answer; "
                          "its log ends: waiting for godot")
        self.untouched()
        pids = pathlib.Path(mark).read_text().split()
        self.assertEqual((len(pids), [pid for pid in pids if lives(pid)]), (2, []))

    def test_an_interrupted_start_leaves_nothing(self):
        mark = pathlib.Path(self.above.name) / "pids"
        env = self.weftd(f"echo $$ >> {mark}; exec sleep 1000\n")
        shell = subprocess.Popen([os.environ["WEFT"], "up", "torus:2", "--dir", self.folder], text=True,
                                 stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env})
        self.addCleanup(shell.kill)
        deadline = time.monotonic() + PATIENCE
        while (not mark.exists() or len(mark.read_text().split()) < 2) and time.monotonic() < deadline:
            time.sleep(0.01)
        shell.send_signal(signal.SIGINT)
        out, err = shell.communicate(timeout=PATIENCE)
        self.assertEqual((shell.returncode, out, err), (130, "", "weft: interrupted\n"))
        self.untouched()
        self.assertEqual([pid for pid in mark.read_text().split() if lives(pid)], [])

    def test_two_starts_at_once_exclude_each_other(self):
        env = self.weftd("exec sleep 1000\n")
        shell = subprocess.Popen([os.environ["WEFT"], "up", "torus:2", "--dir", self.folder], text=True,
                                 stderr=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env})
        self.addCleanup(shell.kill)
        deadline = time.monotonic() + PATIENCE
        while not (self.folder / "node-1.log").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.refused("down", says="another weft up, down or revive is running there")
        shell.send_signal(signal.SIGINT)
        shell.communicate(timeout=PATIENCE)
        self.untouched()

    def test_a_missing_service_file_is_refused(self):
        self.refused("up", "torus:2", "--service", "/no/such.so", code=2, says="--service /no/such.so: No such file")
        self.untouched()

    def test_damaged_files_are_reported_and_removed(self):
        self.up("torus:2")
        path = self.folder / "cluster.json"
        whole = path.read_text()
        path.write_text(whole[:40])
        self.refused("status", code=2, says=r"cluster\.json: line \d+: ")
        self.refused("up", "torus:2", says="has files of a cluster")
        done = self.good("down", "--json").json  # finds the servers by their locks
        self.assertEqual([pid for pid in self.pids if lives(pid)], [])
        self.assertEqual(done["files_left"], 0)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_unknown_servers_and_keys_are_refused(self):
        self.up("torus:2")
        for words in (["kill", "2"], ["revive", "x"], ["cut", "0", "7"], ["ping", "7"], ["where", "k", "--from", "9"]):
            self.refused(*words, code=2, says=r"no server \S+; the servers of \S+ are 0 to 1")
        self.refused("where", "0xnonsense", code=2, says="a key is 0x and 1 to 40 hexadecimal digits")
        self.refused("where", "", code=2, says="expected a key or a name")
        self.refused("ping", "1", "--size", 1, code=2, says="--size")
        self.down()


# The numbers of the system calls memfd_create, fallocate and sched_setscheduler.
CALLS = {"x86_64": (319, 285, 144), "aarch64": (279, 47, 119)}.get(platform.machine())


def without(call, error):
    """Returns a function for preexec_fn: in the new process, the system call fails with that errno."""
    load, same, give = 0x20, 0x15, 0x06  # instructions of the classic packet filter
    steps = b"".join(struct.pack("HBBI", *step) for step in (
        (load, 0, 0, 0), (same, 0, 1, call), (give, 0, 0, 0x00050000 | error), (give, 0, 0, 0x7FFF0000)))
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply():
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        if libc.prctl(22, 2, program, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
            raise OSError(ctypes.get_errno(), "no filter of system calls")
        assert kept

    return apply


def filters_work():
    try:
        return CALLS and subprocess.run(["true"], preexec_fn=without(CALLS[0], errno.ENOSYS)).returncode == 0
    except subprocess.SubprocessError:
        return False


class WithoutCase(ClusterCase):
    def run_without(self, program, *words, call, error):
        return subprocess.run([program, *words, "--dir", self.folder], capture_output=True, text=True,
                              preexec_fn=without(call, error), timeout=PATIENCE)

    def said(self, *words, call, error):
        done = self.run_without(*words, call=call, error=error)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        return done.stderr


@unittest.skipUnless(filters_work(), "no filters of system calls here")
class SharedMemory(WithoutCase):
    def test_a_system_without_shared_memory_is_reported(self):
        for wire in ("shm", "udp"):
            for error in (errno.ENOSYS, errno.EPERM):
                said = self.said(os.environ["WEFT"], "up", "torus:2", "--wire", wire, call=CALLS[0], error=error)
                self.assertRegex(said, r"^weft: no shared memory here: memfd_create: [^;]+; every server needs it, "
                                       r"so run where it is allowed \([^\n]+\)\n\Z")
                self.assertFalse(self.folder.exists())

    def test_too_little_shared_memory_is_reported(self):
        said = self.said(os.environ["WEFT"], "up", "torus:2", call=CALLS[0], error=errno.ENOMEM)
        self.assertRegex(said, r"^weft: not enough shared memory: [^;]+; end other programs, or raise the limits "
                               r"\(ulimit -v, or the container's memory\)\n\Z")
        said = self.said(os.environ["WEFT"], "up", "torus:2", call=CALLS[0], error=errno.EMFILE)
        self.assertRegex(said, r"^weft: no shared memory: [^;]+; raise the limit \(ulimit -n\)\n\Z")
        self.assertFalse(self.folder.exists())

    def test_too_little_shared_memory_for_links_is_reported(self):
        """The advice in the error is right: with UDP the servers start."""
        said = self.said(os.environ["WEFT"], "up", "torus:2", call=CALLS[1], error=errno.ENOSPC)
        self.assertRegex(said, r"^weft: not enough shared memory for links: [^\n]+, or take --wire udp\n\Z")
        self.assertFalse(self.folder.exists())
        done = self.run_without(os.environ["WEFT"], "up", "torus:2", "--wire", "udp", call=CALLS[1], error=errno.ENOSPC)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.down()

    def test_a_server_without_shared_memory_reports_it_like_up(self):
        self.up("torus:2")
        self.good("kill", 1)
        weftd = os.path.join(os.path.dirname(os.environ["WEFT"]), "weftd")
        said = self.said(weftd, "--node", "1", call=CALLS[0], error=errno.ENOSYS)
        self.assertRegex(said, r"^weftd: no shared memory here: memfd_create: [^;]+; every server needs it, [^\n]+\n\Z")
        self.down()


@unittest.skipUnless(filters_work(), "no filters of system calls here")
class Realtime(WithoutCase):
    SAYS = r"--realtime: Operation not permitted; it takes CAP_SYS_NICE, or 'ulimit -r' of at least 1\n\Z"

    def test_up_without_the_right_to_realtime_is_refused(self):
        said = self.said(os.environ["WEFT"], "up", "torus:2", "--realtime", call=CALLS[2], error=errno.EPERM)
        self.assertRegex(said, "^weft: " + self.SAYS)
        self.assertFalse(self.folder.exists())

    def test_a_server_without_the_right_to_realtime_is_refused(self):
        """The cluster was started with --realtime; the user who starts its server again may not use it."""
        self.up("torus:2")
        self.good("kill", 1)
        path = self.folder / "cluster.json"
        path.write_text(path.read_text().replace('"realtime": false', '"realtime": true'))
        weftd = os.path.join(os.path.dirname(os.environ["WEFT"]), "weftd")
        said = self.said(weftd, "--node", "1", call=CALLS[2], error=errno.EPERM)
        self.assertRegex(said, "^weftd: " + self.SAYS)
        self.down()


def apart(*commands):
    """Runs commands in their own mount namespace, if this machine allows that."""
    script = " && ".join(commands)
    return subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script], text=True,
                          capture_output=True, timeout=PATIENCE)


@unittest.skipUnless(apart("mount -t tmpfs none /mnt").returncode == 0, "no mount namespaces here")
class Machine(ClusterCase):
    def weft_words(self, *words):
        return shlex.join([os.environ["WEFT"], *map(str, words), "--dir", str(self.folder)])

    def up_on(self, disk, *before, env=""):
        """Runs `up` for nine servers on a tmpfs with the mount options `disk`. Checks that no file
        remains. Returns the error of `up` and, on the last line, its exit code."""
        above = shlex.quote(self.above.name)
        done = apart(f"mount -t tmpfs -o {disk} none {above}", f"mkdir -m 700 {above}/run", *before,
                     f"({env} {self.weft_words('up', 'torus:3x3')}; echo $? >&2)", f"ls -A {above}/run")
        self.assertEqual(done.stdout, "")
        return done.stderr

    FULL = r"^weft: \S+/run: its disk is full%s; free some space, or use another folder with weft up --dir\n1\n\Z"

    def test_a_full_disk_is_reported(self):
        filler = shlex.quote(self.above.name + "/filler")
        said = self.up_on("size=16k", f"(head -c 20000 /dev/zero > {filler} 2> /dev/null || true)")
        self.assertRegex(said, self.FULL % ": 0 KiB are left, but 9 servers need about \\d+")

    def test_a_nearly_full_disk_is_reported(self):
        for size in (8, 16, 32, 48, 64, 80):
            with self.subTest(size):
                self.assertRegex(self.up_on(f"size={size}k"),
                                 self.FULL % f": {size} KiB are left, but 9 servers need about \\d+")
        self.assertRegex(self.up_on("size=1m,nr_inodes=30"),
                         self.FULL % ": it has room for \\d+ more files, but 9 servers need about \\d+")

    def test_a_disk_that_becomes_full_while_servers_start_is_reported(self):
        """The servers end because the disk is full: first without a line in a log, then with one line."""
        with tempfile.TemporaryDirectory(prefix="weft-") as elsewhere:
            path = pathlib.Path(elsewhere) / "weftd"
            for script in (f"cat /dev/zero >> {shlex.quote(self.above.name)}/filler 2> /dev/null\nexit 1\n",
                           "echo weftd: $2/node-0.lock: No space left on device >&2; exit 1\n"):
                path.write_text("#!/bin/sh\n" + script)
                path.chmod(0o755)
                self.assertRegex(self.up_on("size=256k", env=f"WEFTD={shlex.quote(str(path))}"), self.FULL % "")

    def test_a_disk_that_is_just_large_enough_suffices(self):
        above = shlex.quote(self.above.name)
        done = apart(f"mount -t tmpfs -o size=112k,nr_inodes=100 none {above}",
                     self.weft_words("up", "torus:3x3"), self.weft_words("down"))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_too_many_servers_for_the_memory_are_refused(self):
        little = shlex.quote(self.above.name + "/meminfo")
        pathlib.Path(self.above.name + "/meminfo").write_text("MemAvailable:     102400 kB\n")
        done = apart(f"mount --bind {little} /proc/meminfo",
                     f"({self.weft_words('up', 'torus:6x6x6')}; echo $? >&2)")
        self.assertRegex(done.stderr, r"^weft: 216 servers need about \d+ MiB, but this machine has only 100 MiB left; "
                                      r"use fewer servers, or --processes 2\n1\n\Z")
        self.assertEqual(done.stdout, "")
        self.assertFalse(self.folder.exists())

    def test_dev_shm_is_not_used(self):
        done = apart("mount -t tmpfs -o size=4k none /dev/shm", "(head -c 9999 /dev/zero > /dev/shm/full || true)",
                     self.weft_words("up", "torus:3"), self.weft_words("ping", 2, "--count", 10),
                     "ls -A /dev/shm", self.weft_words("kill", 1), self.weft_words("down"), "ls -A /dev/shm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines().count("full"), 2, done.stdout)
        self.assertIn("10 answered", done.stdout)


main()
