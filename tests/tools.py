"""The project's own checkers must be able to fail: each gets a small tree that breaks its rule."""

import importlib.machinery
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0])
from tap import main

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"


def tool(name, *words, cwd=None):
    done = subprocess.run(["/usr/bin/python3", TOOLS / name, *words], capture_output=True, text=True, cwd=cwd)
    return done.returncode, done.stdout


class Lint(unittest.TestCase):
    def lint(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {"tools/layers.txt": "base:\ntopology: base\n", **files}.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return tool("lint.py", root)

    def test_a_clean_tree_passes(self):
        code, out = self.lint({"src/topology/a.c": '#include "base/b.h"\n', "src/base/b.h": "#pragma once\n"})
        self.assertEqual(code, 0, out)

    def test_an_upward_include_is_found(self):
        code, out = self.lint({"src/base/a.c": '#include "topology/b.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("src/base/a.c:1: base may not include topology", out)

    def test_the_rule_of_a_folder_replaces_that_of_its_layer(self):
        table = "base/deep:\nbase: \ntopology: base/deep\n"
        def lint(name, include):
            return self.lint({"tools/layers.txt": table, name: f'#include "{include}"\n'})[1]
        self.assertIn("0 findings", lint("src/topology/a.c", "base/deep/b.h"))
        self.assertIn("topology may not include base", lint("src/topology/a.c", "base/b.h"))
        self.assertIn("base/deep may not include base", lint("src/base/deep/a.c", "base/b.h"))
        self.assertIn("0 findings", lint("src/base/a.c", "base/deep/b.h"))

    def test_an_include_without_a_layer_is_found(self):
        self.assertIn("does not name its layer", self.lint({"src/base/a.c": '#include "b.h"\n'})[1])

    def test_a_source_must_include_its_own_header_first(self):
        code, out = self.lint({"src/base/a.c": '#include "base/b.h"\n#include "base/a.h"\n',
                               "src/base/a.h": "", "src/base/b.h": ""})
        self.assertIn("before its own header", out)

    def test_a_pronoun_for_a_machine_is_found(self):
        pronoun = "some" + "body"
        self.assertIn(f"src/base/a.c:1: '{pronoun}'", self.lint({"src/base/a.c": f"/* {pronoun} sleeps */\n"})[1])
        self.assertIn("docs/a.md:2:", self.lint({"src/base/a.c": "", "docs/a.md": f"\n{pronoun.title()} waits.\n"})[1])
        self.assertIn("0 findings", self.lint({"src/base/a.c": f"int any{pronoun};\n"})[1])

    def test_long_lines_functions_and_files_are_found(self):
        self.assertIn("columns", self.lint({"src/base/a.c": "x" * 101 + "\n"})[1])
        self.assertIn("function of 71", self.lint({"src/base/a.c": "int a(void)\n{\n" + "x;\n" * 71 + "}\n"})[1])
        self.assertIn("801 lines", self.lint({"src/base/a.c": "x;\n" * 801})[1])

    def test_a_tag_defined_in_two_headers_is_found(self):
        pair = "struct pair {\n    int a;\n};\n"
        code, out = self.lint({"src/base/a.h": pair, "tests/b.h": "\n" + pair})
        self.assertEqual(code, 1)
        self.assertIn("tests/b.h:2: pair is defined in src/base/a.h too", out)
        self.assertIn("0 findings", self.lint({"src/base/a.h": pair, "src/base/b.h": "struct pair;\n"})[1])
        self.assertIn("0 findings", self.lint({"src/base/a.h": pair, "src/base/b.c": pair})[1])

    def test_a_descriptor_that_is_not_recorded_is_found(self):
        def lint(name, code):
            return self.lint({"tools/layers.txt": "base:\ntransport: base\n", name: code + "\n"})[1]
        self.assertIn("a.c:1: close(): use", lint("src/transport/a.c", "    close(fd);"))
        self.assertIn("a.c:1: socket(): use", lint("src/transport/a.c", "    fd = socket(1, 2, 3);"))
        for name, code in (("transport/a.c", "fd = DESCRIPTOR_OPEN(socket(1, 2, 3));"),
                           ("transport/a.c", "fd = DESCRIPTOR_OPEN(\n    socket(1, 2, 3));"),
                           ("transport/a.c", "x->close(fd), x_close(fd); /* close(fd) */"),
                           ("transport/fork/a.c", "close(fd);"), ("transport/a_test.c", "close(fd);"),
                           ("base/a.c", "close(fd);")):
            self.assertIn("0 findings", lint("src/" + name, code), code)

    def test_an_empty_tree_does_not_pass(self):
        self.assertEqual(self.lint({})[0], 1)


class Symbols(unittest.TestCase):
    def library(self, folder, code, module="a"):
        source = pathlib.Path(folder, f"{module}.c")
        source.write_text(code)
        compiler = os.environ.get("CC", "cc").split()[0]
        subprocess.run([compiler, "-c", "-o", f"{folder}/{module}.o", source], check=True)
        subprocess.run(["ar", "rcs", f"{folder}/a.a", f"{folder}/{module}.o"], check=True)
        return tool("symbols.py", f"{folder}/a.a")

    def test_memory_and_strings_are_pure(self):
        with tempfile.TemporaryDirectory() as folder:
            code, out = self.library(folder, "#include <string.h>\nint f(char *s){return (int)strlen(s);}\n")
            self.assertEqual(code, 0, out)

    def test_clocks_files_and_threads_are_not_pure(self):
        for code in ("#include <time.h>\nlong f(void){return time(0);}",
                     "#include <stdio.h>\nvoid *f(void){return fopen(\"a\",\"r\");}",
                     "#include <stdlib.h>\nint f(void){return rand();}",
                     "#include <pthread.h>\nint f(pthread_mutex_t *m){return pthread_mutex_lock(m);}",
                     "#include <sys/socket.h>\nint f(void){return socket(1,1,0);}"):
            with tempfile.TemporaryDirectory() as folder:
                self.assertEqual(self.library(folder, code + "\n")[0], 1, code)

    def test_of_a_mixed_library_only_the_named_modules_are_checked(self):
        impure = "#include <time.h>\nlong f(void){return time(0);}\n"
        with tempfile.TemporaryDirectory() as folder:
            self.library(folder, impure)
            self.library(folder, "int g(void){return 1;}\n", "b")
            self.assertEqual(tool("symbols.py", "--only", "b", f"{folder}/a.a")[0], 0)
            self.assertEqual(tool("symbols.py", "--only", "a,b", f"{folder}/a.a")[0], 1)
            self.assertNotEqual(tool("symbols.py", "--only", "b,c", f"{folder}/a.a")[0], 0)


class Cycles(unittest.TestCase):
    FILES = {"src/base/a.c": "int b(void);\nint a(void){return b();}\n",
             "src/base/sub/b.c": "int a(void);\nint b(void){return a();}\n",
             "src/base/c.c": "int a(void);\nint c(void){return a();}\n"}

    def cycles(self, listed, files=FILES):
        with tempfile.TemporaryDirectory() as root:
            commands = []
            for name, text in {"tools/cycles.txt": listed, **files}.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                if name.endswith(".c"):
                    built = pathlib.PurePath(name).stem + ".o"
                    compiler = os.environ.get("CC", "cc").split()[0]
                    subprocess.run([compiler, "-c", "-o", built, name], check=True, cwd=root)
                    commands.append({"directory": root, "file": name, "output": built})
            pathlib.Path(root, "compile_commands.json").write_text(json.dumps(commands))
            return tool("cycles.py", root, root)

    def test_a_cycle_is_found_with_its_symbols(self):
        code, out = self.cycles("")
        self.assertEqual(code, 1)
        self.assertIn("cycles: base: a sub/b\n    a -> sub/b: b\n    sub/b -> a: a\n", out)

    def test_a_listed_cycle_needs_a_reason(self):
        self.assertEqual(self.cycles("base: a sub/b # they are one idea\n")[0], 0)
        self.assertEqual(self.cycles("base: a sub/b\n")[0], 1)

    def test_a_listed_cycle_that_no_longer_exists_is_found(self):
        code, out = self.cycles("base: a sub/b c # they are one idea\n")
        self.assertEqual(code, 1)
        self.assertIn("lists files that are no cycle: base: a c sub/b", out)

    def test_calls_downwards_pass(self):
        files = {**self.FILES, "src/base/sub/b.c": "int b(void){return 1;}\n"}
        self.assertEqual(self.cycles("", files)[0], 0)

    def test_a_function_that_two_files_define_is_found(self):
        files = {"src/base/a.c": "int same(void){return 1;}\nstatic int own(void){return 1;}\nint a(void){return own();}\n",
                 "src/node/b.c": "int same(void){return 2;}\nstatic int own(void){return 2;}\nint b(void){return own();}\n"}
        code, out = self.cycles("", files)
        self.assertEqual(code, 1)
        self.assertIn("cycles: base/a and node/b define same\n", out)
        self.assertIn("1 findings", out)

    def test_an_empty_build_does_not_pass(self):
        self.assertEqual(self.cycles("", {})[0], 1)


class Mutate(unittest.TestCase):
    def mutants(self, text):
        mutate = importlib.machinery.SourceFileLoader("mutate", str(TOOLS / "mutate")).load_module()
        return list(mutate.mutants_of_text(text))

    def test_each_kind_changes_one_line(self):
        text = ("    if (size > room)\n        return -EINVAL;\n    bell_ring(bell);\n"
                "    ready = a && b;\n    atomic_store_explicit(&x, 1, memory_order_release);\n")
        self.assertEqual(self.mutants(text), [
            (1, "refusal", "    if (0 && (size > room))"),
            (1, "compare", "    if (size <= room)"),
            (1, "bound", "    if (size >= room)"),
            (3, "call", "    ;"),
            (4, "logic", "    ready = a || b;"),
            (5, "call", "    ;"),
            (5, "order", "    atomic_store_explicit(&x, 1, memory_order_relaxed);")])

    def test_returns_after_a_failed_allocation_are_a_separate_kind(self):
        self.assertEqual(self.mutants("    if (!a || b == 0)\n        return -ENOMEM;\n"),
                         [(1, "memory", "    if (0 && (!a || b == 0))")])

    def test_comments_assertions_and_declarations_are_not_changed(self):
        self.assertEqual(self.mutants("/* if (a > b)\n * c(d); and a && b\n */\n    assert(a > b);\n"
                                      "int f(int a);\n    x = 1; /* a < b */\n    return f(a);\n"), [])

    def test_an_explanation_ignores_the_comments_of_its_line(self):
        mutate = importlib.machinery.SourceFileLoader("mutate", str(TOOLS / "mutate")).load_module()
        one = {"source": "src/a.c", "old": "bell_ring(bell); /* now */", "new": "; /* now */"}
        self.assertEqual(mutate.explanation(one), "src/a.c: bell_ring(bell); => ;")

    def test_a_path_is_required(self):
        self.assertNotEqual(tool("mutate")[0], 0)


class Summary(unittest.TestCase):
    def summary(self, cases):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as log:
            log.write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
            log.flush()
            return tool("summary.py", log.name)

    def test_cases_are_counted(self):
        code, out = self.summary('<testcase name="a"/><testcase name="b"/><testcase name="c"><skipped/></testcase>')
        self.assertEqual((code, out), (0, "2 passed, 0 failed, 1 skipped\n"))

    def test_a_failure_and_an_empty_log_fail(self):
        code, out = self.summary('<testcase classname="s" name="a"><failure/></testcase>'
                                 "<system-out>a console: \x1bc\x1b[2J\x00</system-out>")
        self.assertEqual(code, 1)
        self.assertTrue(out.endswith("0 passed, 1 failed\n"))
        self.assertEqual(self.summary("")[0], 1)

    def test_a_failure_is_explained(self):
        _, out = self.summary('<testcase name="1 - a"/>'
                              '<testcase classname="s" name="2 - b"><failure/></testcase>'
                              '<testcase classname="s" name="3 - c"><failure/></testcase>'
                              '<testcase classname="s" name="4 - d"><failure/></testcase>'
                              "<system-out>1..4\n# all good\nok 1 - a\n# seed 5\nnot ok 2 - b\n# 1 != 2\n"
                              "not ok 3 - c</system-out>")
        self.assertEqual(out, "failed: s 2 - b\n    # seed 5\n    # 1 != 2\n"
                              "failed: s 3 - c\n    # 1 != 2\nfailed: s 4 - d\n1 passed, 3 failed\n")


class Fuzz(unittest.TestCase):
    """The list of targets, their sources and their corpora must have the same names."""

    def listed(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name in {"tools/fuzz", *files}:
                path = pathlib.Path(root, "tests/fuzz" if name != "tools/fuzz" else "", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("")
            pathlib.Path(root, "tools/fuzz").write_text((TOOLS / "fuzz").read_text())
            pathlib.Path(root, "tests/fuzz/meson.build").write_text("foreach name : [\n  'a',\n  'b_c',\n]\n")
            done = subprocess.run(["sh", f"{root}/tools/fuzz", "--list"], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_complete_targets_are_listed(self):
        whole = ["fuzz_a.c", "corpus/a/x", "fuzz_b_c.c", "corpus/b_c/x"]
        self.assertEqual(self.listed(whole), (0, "a\nb_c\n"))
        done = subprocess.run([TOOLS / "fuzz", "--list"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_target_with_a_missing_part_is_found(self):
        whole = ["fuzz_a.c", "corpus/a/x", "fuzz_b_c.c", "corpus/b_c/x"]
        for missing in whole:
            code, out = self.listed([name for name in whole if name != missing])
            self.assertEqual(code, 1, missing)
            self.assertIn(missing.removesuffix("/x"), out)
        for surplus in ("fuzz_d.c", "corpus/d/x"):
            code, out = self.listed([*whole, surplus])
            self.assertEqual(code, 1, surplus)
            self.assertIn(surplus.removesuffix("/x"), out)


class Hiccups(unittest.TestCase):
    def test_child_processes_are_stopped_and_continued(self):
        work = "import time\nfor i in range(300): time.sleep(0.001)"
        code, out = tool("hiccups.py", "--rate", "100", "--longest", "0.1", "sh", "-c",
                         f"{sys.executable} -c '{work}' & {sys.executable} -c '{work}'; wait; exit 3")
        self.assertEqual(code, 3)
        self.assertRegex(out, r"^hiccups: seed \d+\nhiccups: [1-9]\d*\n$")

    def test_orphaned_processes_are_stopped_too(self):
        code, out = tool("hiccups.py", "--rate", "100", "--longest", "0.02", "sh", "-c",
                         "sh -c 'sleep 0.5 &'; exec sleep 0.3")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\nhiccups: [1-9]\d*\n$")

    def test_a_missing_command_is_refused(self):
        self.assertEqual(tool("hiccups.py")[0], 2)
        self.assertEqual(tool("hiccups.py", "--rate", "0", "true")[0], 2)


main()
