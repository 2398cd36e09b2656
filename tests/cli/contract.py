"""The words of the command line are a contract: help, exit codes, one line per refusal."""

import sys
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft


class Contract(unittest.TestCase):
    def test_no_words_explain_themselves_and_are_bad_usage(self):
        run = weft()
        self.assertEqual(run.code, 2)
        self.assertIn("usage: weft COMMAND", run.err)

    def test_help_lists_every_command_and_explains_each(self):
        run = weft("help")
        self.assertEqual(run.code, 0)
        for line in run.out.splitlines():
            if line.startswith("  "):
                name = line[2:20].strip()
                one = weft("help", *name.split())
                self.assertEqual(one.code, 0, name)
                self.assertIn("usage: weft " + name, one.out)
                self.assertEqual(weft(*name.split(), "--help").out, one.out)

    def test_unknown_words_are_refused_in_one_line(self):
        for words in (["nonsense"], ["topo"], ["topo", "nonsense"], ["topo", "build"],
                      ["topo", "build", "--nonsense", "torus:3"],
                      ["topo", "build", "torus:3", "torus:3"], ["help", "nonsense"]):
            run = weft(*words)
            self.assertEqual(run.code, 2, words)
            self.assertEqual(run.out, "")
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")

    def test_version_is_printed_both_ways(self):
        self.assertEqual(weft("--version").out.split()[1], weft("version", "--json").json["version"])


main()
