"""The stories of fork_idle_test that need a cluster: a process is attached to the node of one server and is
killed, its child lives on, and a process at another server notices."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from tap import main, weft

PATIENCE = 120  # seconds; nothing takes that long, even on a busy machine


class Node(unittest.TestCase):
    def test_a_node_does_not_keep_the_ids_of_a_killed_program_with_a_child(self):
        above = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(above.cleanup)
        folder = pathlib.Path(above.name) / "run"
        self.addCleanup(weft, "down", "--dir", folder, "--grace", 0, timeout=PATIENCE)
        done = weft("up", "torus:3", "--dir", folder, "--silence", 20000, "--wait", PATIENCE, timeout=PATIENCE)
        self.assertEqual((done.code, done.err), (0, ""))
        env = {**os.environ, "FORK_PARENT_NODE": str(folder / "node-0.socket"),
               "FORK_PEER_NODE": str(folder / "node-1.socket")}
        done = subprocess.run([os.environ["FORK_IDLE"], "directory"], env=env, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        told = [line for line in done.stdout.splitlines() if "directory" in line]
        self.assertTrue(told and not any("SKIP" in line for line in told), done.stdout)


main()
