"""Errors when the file system of WEFT_FOLDER is full name the path. Runs itself in a user namespace,
where it may mount a small file system."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap

LIMIT = 60  # seconds until a hung program ends
MOUNTED = "WEFT_TEST_MOUNTED"


def run(words, folder):
    env = {**os.environ, "WEFT_FOLDER": f"{folder}/weft"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


class NoSpace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weft-no-space-")

    def tearDown(self):
        subprocess.run(["umount", self.folder], check=True)
        os.rmdir(self.folder)

    def mount(self, option):
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", option, "none", self.folder], check=True, timeout=LIMIT
        )

    def fill(self):
        self.mount("size=16k")
        with open(f"{self.folder}/full", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def assert_named(self, words):
        code, out, complaint = run(words, self.folder)
        self.assertNotEqual(code, 0, out)
        self.assertIn(f"{self.folder}/weft/default", complaint)
        self.assertIn("No space left on device", complaint)

    def test_a_program_learns_which_folder_is_full(self):
        self.fill()
        self.assert_named([os.environ["PROGRAM"]])

    def test_the_command_line_says_which_folder_is_full(self):
        self.fill()
        self.assert_named([os.environ["WEFT"], "ripc", "serve", "77", "--seconds", "1"])
        self.assert_named([os.environ["WEFT"], "ripc", "recv", "77", "--seconds", "1"])

    def test_every_number_of_free_files_has_an_error_with_a_path(self):
        for files in range(2, 7):
            self.mount(f"nr_inodes={files}")
            self.assert_named([os.environ["PROGRAM"]])
            subprocess.run(["umount", self.folder], check=True)
        self.mount("size=16k")  # for the end of the test

    def test_a_table_that_does_not_open_names_the_folder(self):
        self.fill()
        self.assert_named([os.environ["PROGRAM"], "table"])


if __name__ == "__main__":
    if MOUNTED not in os.environ:
        probe = ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]
        if subprocess.run(probe, capture_output=True).returncode != 0:
            print("1..0 # SKIP no user namespaces")
            sys.exit(0)
        env = {**os.environ, MOUNTED: "1"}
        os.execvpe("unshare", ["unshare", "-Urm", sys.executable, *sys.argv], env)
    tap.main()
