"""A store whose data directory belongs to another server, or to a later version of weft: it is refused, and stays as
it is, byte for byte. The other servers go on, and with its own data it takes part again."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from tap import main

KEYS = 20


class Strangers(ClusterCase):
    def setUp(self):
        super().setUp()
        self.data = pathlib.Path(f"{self.folder}.data")
        self.up("torus:3", "--service", "store", "--set", "store.segment=256K")
        for key in range(KEYS):
            self.good("put", f"key {key}", f"value {key}", "--timeout", PATIENCE)

    def bytes_of(self, server):
        folder = self.data / f"server-{server}"
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def values(self):
        return [self.good("get", f"key {key}", "--from", 1, "--timeout", PATIENCE).out for key in range(KEYS)]

    def revive(self):
        self.pids.add(self.good("revive", 0, "--wait", PATIENCE, "--json").json["pid"])

    def check(self, break_data):
        """Server 0 gets a wrong folder. Nothing in it changes, and the others serve without it."""
        own = self.data / "server-0"
        self.good("kill", 0)
        self.assertEqual(self.values(), [f"value {key}" for key in range(KEYS)])
        kept = own.with_name("kept")
        shutil.copytree(own, kept)
        break_data(own / "store")
        before = self.bytes_of(0)
        self.revive()
        self.until(lambda: "STORE_FAILED" in self.codes(self.status()), "the server is refused")
        self.assertIn("belongs elsewhere: server 0", self.run_weft("status").out)
        self.assertEqual(self.values(), [f"value {key}" for key in range(KEYS)])
        self.good("kill", 0)
        self.assertEqual(self.bytes_of(0), before)
        shutil.rmtree(own)
        kept.rename(own)
        self.revive()
        self.until(lambda: not self.codes(self.status()), "all servers take part")
        self.assertEqual(self.values(), [f"value {key}" for key in range(KEYS)])
        self.down()

    def forge(self, *paths):
        for path in paths:
            self.assertEqual(subprocess.run([os.environ["STORE_FORGE"], path]).returncode, 0, path)

    def test_data_of_another_server_are_refused(self):
        def swap(store):
            shutil.rmtree(store)
            shutil.copytree(self.data / "server-1" / "store", store)

        self.check(swap)

    def test_views_of_a_later_version_are_refused(self):
        self.check(lambda store: self.forge(store / "view.a", store / "view.b"))

    def test_a_log_of_a_later_version_is_refused(self):
        self.check(lambda store: self.forge(min(store.glob("*.log"))))


main()
