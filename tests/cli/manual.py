"""The manual pages and the completion of shells agree with the table of commands."""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft


@functools.cache
def names():
    return [line[2:20].strip() for line in weft("help").out.splitlines() if line.startswith("  ")]


@functools.cache
def groups():
    return sorted({name.split()[0] for name in names() if " " in name})


@functools.cache
def unspoken():
    """Commands of one word that form a group, and the name of the group."""
    return {line[2:20].strip(): group for group in ("cluster", "store")
            for line in weft("help", group).out.splitlines() if line.startswith("  ")}


@functools.cache
def options(name):
    return re.findall(r"^  --([a-z0-9-]+)", weft("help", *name.split()).out, re.M)


@functools.cache
def bash_script():
    return weft("completion", "bash").out


def run(*words, stdin=None):
    return subprocess.run(words, input=stdin, capture_output=True, text=True,
                          env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})


def formatted(page):
    return run("groff", "-man", "-ww", "-rHY=0", "-Tascii", "-P-cbou", stdin=page)


class Manual(unittest.TestCase):
    @staticmethod
    @functools.cache
    def pages():
        pages = {"weft-" + group: weft("help", "--man", group).out for group in groups() + sorted(set(unspoken().values()))}
        return list({"weft": weft("help", "--man").out, **pages}.items())

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_every_page_is_formatted_without_a_warning(self):
        for name, page in self.pages():
            done = formatted(page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn(name.upper() + "(1)", done.stdout)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_prints_no_warning_for_any_page(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, page in self.pages():
                with open(f"{folder}/{name}.1", "w") as file:
                    file.write(page)
            written = os.environ.get("MAN_FOLDER", "")
            for path in glob.glob(folder + "/*.1") + glob.glob(written + "/*.[0-9]"):
                done = run("man", "--warnings", "-E", "UTF-8", "-l", path)
                self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    def test_every_page_that_is_named_exists(self):
        written = {os.path.basename(path): path
                   for path in glob.glob(os.environ.get("MAN_FOLDER", "") + "/weft*.[0-9]")}
        texts = dict((name + ".1", page) for name, page in self.pages())
        for name, path in written.items():
            with open(path) as file:
                texts[name] = file.read()
        for name, text in texts.items():
            for page, section in re.findall(r"\b(weft[a-z-]*) ?\((\d)\)", text.replace("\\-", "-")):
                self.assertIn(f"{page}.{section}", texts, name)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_pages_name_every_command_and_option(self):
        text = {name: formatted(page).stdout for name, page in self.pages()}
        for name in names():
            group = unspoken().get(name, name.split()[0] if " " in name else "")
            page = text["weft-" + group if group else "weft"]
            self.assertIn("weft " + name, page)
            self.assertIn("weft " + name, text["weft"])
            for option in options(name):
                self.assertIn("--" + option, page, name)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_page_of_weftd_has_all_its_options(self):
        """Compares its help, its page and the options that it accepts."""
        weftd = os.path.join(os.path.dirname(os.environ["WEFT"]), "weftd")
        with open(os.environ["MAN_FOLDER"] + "/weftd.8") as file:
            page = formatted(file.read())
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        synopsis, options = re.search(r"SYNOPSIS\n(.*?)DESCRIPTION\n.*?OPTIONS\n(.*?)FILES\n",
                                      page.stdout, re.S).groups()
        usage = run(weftd, "--help").stdout.split("\n\n")[0]
        words = set(re.findall(r"--[a-z]+", usage))
        self.assertEqual(set(re.findall(r"--[a-z]+", synopsis)), words)
        self.assertEqual(set(re.findall(r"^ {7}(--[a-z]+)", options, re.M)), words | {"--help"})
        for word in words:
            self.assertNotIn("no such option", run(weftd, word, "nonsense").stderr)
        self.assertIn("no such option", run(weftd, "--nonsense", "nonsense").stderr)

    def test_the_table_is_printed_as_json(self):
        table = weft("help", "--json").json["commands"]
        self.assertEqual([command["name"] for command in table], names())
        for command in table:
            self.assertEqual([option["name"] for option in command["options"]],
                             options(command["name"]))
        self.assertEqual(weft("help", "version", "--json").json["commands"],
                         [command for command in table if command["name"] == "version"])

    def test_a_missing_page_is_refused(self):
        for words in (["nonsense"], ["topo", "build"]):
            done = weft("help", "--man", *words)
            self.assertEqual((done.code, done.out), (2, ""))
            self.assertRegex(done.err, r"^weft: help: no manual page [^\n]+\n$")


class Completion(unittest.TestCase):
    def complete(self, *words, cwd=None):
        """The completions of bash for the last of these words."""
        script = (bash_script() +
                  '\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft\n'
                  'printf "%s\\n" "${COMPREPLY[@]}"\n')
        path = os.path.dirname(os.environ["WEFT"]) + ":" + os.environ["PATH"]
        done = subprocess.run(["bash", "-c", script, "bash", "weft", *words], cwd=cwd,
                              capture_output=True, text=True, env={**os.environ, "PATH": path})
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return sorted(done.stdout.split("\n")[:-1]) if done.stdout != "\n" else []

    def test_commands_are_completed(self):
        firsts = sorted({name.split()[0] for name in names()})
        self.assertEqual(self.complete(""), firsts)
        self.assertEqual(self.complete("help", ""), firsts)
        self.assertEqual(self.complete("ver"), ["version"])
        for group in groups():
            seconds = sorted(name.split()[1] for name in names() if name.startswith(group + " "))
            self.assertEqual(self.complete(group, ""), seconds)
            self.assertEqual(self.complete("help", group, ""), seconds)

    def test_names_of_groups_without_a_word_are_not_completed(self):
        self.assertIn("up", unspoken())
        self.assertNotIn("cluster", self.complete(""))
        self.assertNotIn(" -a cluster ", weft("completion", "fish").out)

    def test_options_of_every_command_are_completed(self):
        for name in names():
            self.assertEqual(self.complete(*name.split(), "--"),
                             sorted("--" + option for option in options(name)), name)

    def test_choices_and_files_are_completed(self):
        self.assertEqual(self.complete("completion", ""), ["bash", "fish", "zsh"])
        self.assertEqual(self.complete("paper", "run", "--quick", "cam-h"), ["cam-hops"])
        with tempfile.TemporaryDirectory() as folder:
            for name in ("plan one.json", "plan two.json", "other"):
                open(f"{folder}/{name}", "w").close()
            self.assertEqual(self.complete("topo", "build", "pl", cwd=folder),
                             ["plan one.json", "plan two.json"])
            self.assertEqual(self.complete("topo", "build", "nov", cwd=folder), ["novacube:"])
            self.assertIn("other", self.complete("topo", "build", "", cwd=folder))
            self.assertEqual(self.complete("topo", "measure", "torus:3", "--throughput", "p",
                                           cwd=folder),
                             ["permutation", "plan one.json", "plan two.json"])
            os.mkdir(folder + "/plan folder")
            self.assertEqual(self.complete("paper", "all", "--out", "pl", cwd=folder),
                             ["plan folder"])

    def test_completed_choices_equal_those_that_the_command_accepts(self):
        for command, option in (("build", "--format"), ("export", "--format"),
                                ("grow", "--format"), ("draw", "--layout"),
                                ("cable", "--layout")):
            offered = self.complete("topo", command, "torus:3", option, "")
            said = weft("topo", command, "torus:3", option, "nonsense").err
            taken = said.strip().split("one of ")[1].split(", ")
            self.assertEqual(offered, sorted(taken), command)

    def test_parameters_of_services_are_completed(self):
        self.assertEqual(self.complete("up", "torus:3", "--set", "directory.l"), ["directory.lease="])
        self.assertEqual(self.complete("sim", "run", "torus:3", "--set", ""),
                         sorted(name + "=" for name in weft("service", "list", "--names").out.split()))

    def test_designs_of_tables_are_completed(self):
        self.assertEqual(self.complete("sst", "demo", "--design", ""), ["reads", "writes"])
        self.assertEqual(self.complete("sst", "watch", ""), [])

    def test_arguments_of_route_commands_are_completed(self):
        algorithms = sorted(row["name"] for row in weft("route", "list", "--json").json["algorithms"])
        for command in ("path", "load", "worst", "deadlock"):
            self.assertEqual(self.complete("route", command, "torus:3", "--algorithm", ""),
                             algorithms)
        self.assertEqual(self.complete("route", "rules", "torus:3", "--switch", ""), [])
        self.assertEqual(self.complete("route", "deadlock", "torus:3", "--lanes", ""),
                         ["hops", "layers", "none", "own"])
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.complete("route", "load", "torus:3", "--traffic", "", cwd=folder),
                             ["complement", "neighbour", "tornado", "transpose", "uniform"])

    def test_shells_accept_their_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            script = weft("completion", shell).out
            self.assertIn("weft", script)
            if shutil.which(shell):
                done = run(shell, "-n", stdin=script)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)
        done = weft("completion", "csh")
        self.assertEqual((done.code, done.out), (2, ""))


main()
