"""How commands read and write files: completely or not at all, and at the given path."""

import os
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

WRITERS = (  # every command that writes a file
    ("build", "torus:3x3"),
    ("export", "torus:3x3", "--format", "dot"),
    ("draw", "torus:3x3"),
    ("cable", "torus:3x3"),
    ("grow", "jellyfish:n=10,degree=4", "--add", "1"),
)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def content(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, words, name):
        run = weft("topo", *words, "--out", self.path(name))
        self.assertEqual((run.code, run.err), (0, ""), words)

    def refused(self, code, *words, cwd=None):
        before = sorted(os.listdir(self.folder.name))
        run = weft(*words, cwd=cwd)
        self.assertEqual((run.code, run.out), (code, ""), words)
        self.assertRegex(run.err, r"^weft: [^\n]+: [^\n]+\n\Z")
        self.assertEqual(sorted(os.listdir(self.folder.name)), before, words)
        return run.err

    def test_a_link_stays_a_link_and_its_file_is_written(self):
        for words in WRITERS:
            os.makedirs(self.path("far"), exist_ok=True)
            self.write(words, "plain")
            with open(self.path("far/file"), "w", encoding="utf-8") as file:
                file.write("old")
            os.symlink("far/file", self.path("link"))
            self.write(words, "link")
            self.assertTrue(os.path.islink(self.path("link")), words)
            self.assertEqual(self.content("far/file"), self.content("plain"), words)
            os.unlink(self.path("link"))
            self.assertEqual(os.listdir(self.path("far")), ["file"])

    def test_a_link_to_a_missing_file_is_followed_too(self):
        os.symlink("new", self.path("link"))
        self.write(WRITERS[0], "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertIn("torus:3x3", self.content("new"))

    def test_an_existing_file_keeps_its_mode(self):
        for mode in (0o600, 0o640, 0o755):
            self.write(WRITERS[0], "file")
            os.chmod(self.path("file"), mode)
            self.write(WRITERS[0], "file")
            self.assertEqual(stat.S_IMODE(os.stat(self.path("file")).st_mode), mode)

    def test_a_dash_is_never_the_name_of_a_file(self):
        whole = weft("topo", "draw", "torus:3x3").out
        self.assertEqual(weft("topo", "draw", "torus:3x3", "--out", "-").out, whole)
        self.refused(2, "topo", "draw", "torus:3x3", "--out", "-", "--json")
        for words in WRITERS[3:]:  # their report is on standard output
            self.refused(2, "topo", *words, "--out", "-", cwd=self.folder.name)

    def test_unwritable_names_give_one_line_and_no_file(self):
        for words in WRITERS:
            self.refused(1, "topo", *words, "--out", "/dev/full")
            self.refused(1, "topo", *words, "--out", self.folder.name)
            self.refused(1, "topo", *words, "--out", self.path("no/such/folder"))
            self.refused(1, "topo", *words, "--out", "")
            self.refused(1, "topo", *words, "--out", self.path("x" * 300))

    def test_unknown_endings_are_refused_before_anything_is_read(self):
        for known, *words in ((".json, .edgelist, .edges, .txt, .dot, .gv, .graphml, .anynet", "topo", "build"),
                              (".json, .edgelist, .edges, .txt, .dot, .gv, .graphml, .anynet", "topo", "export"),
                              (".json, .edgelist, .edges, .txt, .dot, .gv, .graphml, .anynet", "topo", "grow",
                               "--add", 1),
                              (".svg", "topo", "draw"), (".csv", "topo", "cable"),
                              (".flows, .txt", "route", "rules"),
                              (".mpls, .txt", "route", "rules", "--format", "mpls"),
                              (".json", "route", "rules", "--format", "json")):
            err = self.refused(2, *words, self.path("absent"), "--out", self.path("x.xyz"))
            self.assertIn(f"x.xyz: cannot write .xyz; this command writes {known}", err)
        self.write(("build", "torus:3", "--format", "json"), "x.xyz")  # --format names the format
        self.write(("build", "torus:3"), "without")
        self.write(("build", "torus:3"), ".hidden")

    def test_standard_input_is_read_once(self):
        for words in (("topo", "diff", "-", "-"),
                      ("topo", "measure", "-", "--throughput", "-"),
                      ("route", "load", "-", "--algorithm", "ecmp", "--traffic", "-")):
            run = weft(*words, stdin="a b\n")
            self.assertEqual((run.code, run.out), (2, ""), words)
            self.assertRegex(run.err, r"^weft: -: standard input can be read only once; name a file for the other\n\Z")

    def test_unreadable_names_give_one_line(self):
        self.assertIn("''", self.refused(2, "topo", "measure", ""))
        for name in (self.folder.name, self.path("none"), self.path("x" * 5000),
                     self.path("two\nlines\033[31m")):
            self.assertNotIn("\033", self.refused(2, "topo", "measure", name))


main()
