"""What all commands have in common: help, exit codes, one line for each error."""

import os
import pty
import subprocess
import sys
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft


class Contract(unittest.TestCase):
    def test_without_a_command_the_usage_is_printed(self):
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

    def test_unknown_commands_and_options_are_refused_in_one_line(self):
        for words in (["nonsense"], ["topo", "nonsense"], ["topo", "build"],
                      ["topo", "build", "--nonsense", "torus:3"],
                      ["topo", "build", "torus:3", "torus:3"], ["help", "nonsense"],
                      ["help", "nonsense", "--json"]):
            run = weft(*words)
            self.assertEqual(run.code, 2, words)
            self.assertEqual(run.out, "")
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")

    def test_each_group_is_explained_in_each_way_of_asking(self):
        groups = {command["name"].split()[0] for command in weft("help", "--json").json["commands"]
                  if " " in command["name"]}
        self.assertIn("topo", groups)
        for group in sorted(groups | {"cluster"}):
            text = weft("help", group).out
            self.assertIn("usage: weft ", text)
            for words in ([group, "--help"], [group, "-h"], [group, "help"], ["help", group]):
                run = weft(*words)
                self.assertEqual((run.code, run.out, run.err), (0, text, ""), words)
            run = weft(group)
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertEqual(run.err, f"weft: {group}: a command is missing\n\n{text}")

    def test_help_within_a_group_explains_one_of_its_commands(self):
        self.assertEqual(weft("topo", "help", "build").out, weft("help", "topo", "build").out)
        run = weft("topo", "help", "nonsense")
        self.assertEqual((run.code, run.out), (2, ""))

    def test_the_commands_of_a_group_are_printed_as_json(self):
        names = [one["name"] for one in weft("help", "topo", "--json").json["commands"]]
        self.assertIn("topo measure", names)
        self.assertTrue(all(name.startswith("topo ") for name in names))

    def test_a_generator_without_parameters_is_not_just_a_missing_file(self):
        run = weft("topo", "measure", "torus")
        self.assertEqual((run.code, run.out), (2, ""))
        self.assertRegex(run.err, r"^weft: torus: [^\n]+needs parameters[^\n]+\n\Z")

    def test_an_unknown_command_of_a_group_is_named(self):
        self.assertIn("topo nonsense: no such command", weft("topo", "nonsense").err)

    def test_misspelt_words_get_the_word_that_was_meant(self):
        for meant, *words in (
            ("topo", "tpoo", "measure"), ("status", "statsu"), ("topo measure", "mesure"),
            ("measure", "topo", "mesure"), ("ping", "ripc", "pnig"), ("status", "cluster", "stats"),
            ("topo measure", "help", "topo", "mesure"), ("--bisection", "topo", "measure", "torus:3", "--bisecton"),
            ("torus", "topo", "measure", "tours:3x3"), ("torus", "topo", "measure", "Torus:3x3"),
            ("torus", "topo", "measure", "tours"), ("bash", "completion", "bsh"), ("jellyfish", "up", "jelyfish:n=3"),
            ("degree", "topo", "measure", "jellyfish:n=64,degre=6"),
            ("grid", "topo", "draw", "torus:3", "--layout", "gird"),
            ("valiant", "route", "load", "torus:4x4", "--algorithm", "valliant"),
            ("tornado", "route", "load", "torus:4x4", "--algorithm", "dor", "--traffic", "tornadoo"),
            ("layers", "route", "deadlock", "torus:4x4", "--algorithm", "dor", "--lanes", "layer"),
            ("permutation", "topo", "measure", "torus:3", "--throughput", "permuttion"),
            ("crash", "sim", "chaos", "--faults", "loss,crsh"),
            ("bench", "sim", "run", "torus:3", "--service", "bnech"),
            ("nova-eq3", "paper", "run", "nova-eq33"), (".json", "topo", "build", "torus:3", "--out", "x.jsn"),
        ):
            run = weft(*words)
            with self.subTest(words):
                self.assertEqual((run.code, run.out), (2, ""))
                self.assertRegex(run.err, r"^weft: [^\n]+\n\Z")
                self.assertIn(f"(did you mean '{meant}'?)", run.err)

    def test_words_that_are_like_no_other_get_no_hint(self):
        for words in (["nonsense"], ["topo", "nonsense"], ["topo", "measure", "hypercube:3"],
                      ["topo", "measure", "torus:3", "--nonsense"]):
            self.assertNotIn("did you mean", weft(*words).err)

    def test_objects_end_in_one_newline(self):
        for words in (["help"], ["help", "topo", "build"], ["completion", "bash"], ["version"],
                      ["paper", "list"], ["topo", "measure", "torus:3"]):
            self.assertRegex(weft(*words, "--json").out, r"}\n\Z", words)
            self.assertNotRegex(weft(*words, "--json").out, r"\n\n\Z", words)

    def test_both_forms_print_the_version(self):
        self.assertEqual(weft("--version").out.split()[1], weft("version", "--json").json["version"])


def on_terminal(*words, stdin, wait_s, typed=False):
    """Standard error of a run on a terminal whose standard input arrives after a while, through a
    pipe or typed."""
    try:
        terminal, end = pty.openpty()
    except OSError:  # a chroot without /dev/pts
        raise unittest.SkipTest("no pseudo-terminals here")
    run = subprocess.Popen([os.environ["WEFT"], *words], stdin=end if typed else subprocess.PIPE,
                           stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    time.sleep(wait_s)
    if typed:
        os.write(terminal, stdin + b"\x04")
    else:
        run.stdin.write(stdin)
        run.stdin.close()
    shown = b""
    try:
        while more := os.read(terminal, 4096):
            shown += more
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(terminal)
    run.wait()
    return shown.decode()


class Progress(unittest.TestCase):
    LINK = b"0 1\n"

    def test_a_terminal_shows_progress_which_is_removed_at_the_end(self):
        shown = on_terminal("topo", "measure", "-", stdin=self.LINK, wait_s=1.5)
        self.assertIn("\r\033[Ktopo measure: 1 s", shown)
        self.assertTrue(shown.endswith("\r\033[K"), repr(shown))

    def test_progress_does_not_overwrite_typed_text(self):
        shown = on_terminal("topo", "measure", "-", stdin=self.LINK, wait_s=1.3, typed=True)
        self.assertIn("0 1", shown)  # the terminal's own echo
        self.assertNotIn("topo measure", shown)

    def test_short_commands_show_no_progress(self):
        self.assertEqual(on_terminal("topo", "measure", "-", stdin=self.LINK, wait_s=0), "")

    def test_an_error_has_its_own_line_after_progress(self):
        shown = on_terminal("topo", "measure", "-", stdin=b"{", wait_s=1.3)
        self.assertRegex(shown, r"\r\033\[Kweft: standard input: line 1: [^\n]+\r\n$")

    def test_progress_is_shown_on_terminals_only(self):
        run = subprocess.Popen([os.environ["WEFT"], "topo", "measure", "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(1.3)
        self.assertEqual(run.communicate(self.LINK)[1], b"")


main()
