"""The stories of withdraw.c between programs of two servers of a cluster: the request, the answer and the withdrawal
travel through the servers."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from tap import main, weft

PATIENCE = 240  # seconds; nothing takes that long, even on a busy machine


class Routed(unittest.TestCase):
    def test_return_buffers_are_withdrawn_through_the_servers(self):
        above = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(above.cleanup)
        folder = pathlib.Path(above.name) / "run"
        self.addCleanup(weft, "down", "--dir", folder, "--grace", 0, timeout=PATIENCE)
        done = weft("up", "torus:3", "--dir", folder, "--silence", 20000, "--wait", PATIENCE, timeout=PATIENCE)
        self.assertEqual((done.code, done.err), (0, ""))
        env = {**os.environ, "FORK_PARENT_NODE": str(folder / "node-0.socket"),
               "FORK_PEER_NODE": str(folder / "node-1.socket")}
        done = subprocess.run([os.environ["WITHDRAW"], "cluster"], env=env, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        told = [line for line in done.stdout.splitlines() if "cluster" in line]
        self.assertTrue(told and not any("SKIP" in line for line in told), done.stdout)


main()
