"""weft paper: the list, the verdicts, the files, and figures against values known otherwise."""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

VERDICTS = ("agrees", "differs", "cannot be reproduced")


def listed():
    return [figure["name"] for figure in weft("paper", "list", "--json").json["figures"]]


def run(name, *words):
    """The figure's object."""
    done = weft("paper", "run", name, "--quick", "--json", *words)
    assert done.code == 0, done.err
    (figure,) = done.json["figures"]
    return figure


def rows(figure, table=0):
    table = figure["tables"][table]
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def verdicts(figure):
    return [claim["verdict"] for claim in figure["claims"]]


def holds(claim):
    """The verdict, computed again."""
    paper, found, slack = claim["paper"], claim["weft"], claim["tolerance"]
    if found is None:
        return "cannot be reproduced"
    good = {"equal": abs(found - paper) <= slack,
            "above": found > paper - slack,
            "below": found < paper + slack,
            "between": paper - slack <= found <= claim.get("paper_high", paper) + slack}
    return "agrees" if good[claim["relation"]] else "differs"


class List(unittest.TestCase):
    def test_names_are_unique_and_listed_every_way(self):
        names = listed()
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(weft("paper", "list", "--names").out.split(), names)
        self.assertEqual([line.split()[0] for line in weft("paper", "list").out.splitlines()[1:]],
                         names)

    def test_an_unknown_figure_is_bad_usage(self):
        for words in (["nonsense"], ["cam-hops", "nonsense"], []):
            done = weft("paper", "run", *words)
            self.assertEqual((done.code, done.out), (2, ""))
            self.assertRegex(done.err, r"^weft: [^\n]+\n$")


class Files(unittest.TestCase):
    def test_a_figure_leaves_its_table_object_script_and_plot(self):
        with tempfile.TemporaryDirectory() as folder:
            target = folder + "/new/place"
            figure = run("cam-hops", "--out", target)
            left = {"cam-hops.csv", "cam-hops.json", "cam-hops.gp"}
            if shutil.which("gnuplot"):
                left.add("cam-hops.svg")
                xml.dom.minidom.parse(target + "/cam-hops.svg")
            self.assertEqual(set(os.listdir(target)), left)
            with open(target + "/cam-hops.json") as file:
                self.assertEqual(json.load(file), figure)
            with open(target + "/cam-hops.csv") as file:
                table = list(csv.reader(file))
            self.assertEqual(len(table), 1 + len(rows(figure)))
            self.assertEqual(table[0][2], "diameter (hops)")

    def test_without_gnuplot_everything_else_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            done = weft("paper", "run", "cam-hops", "--quick", "--out", folder,
                        env={"PATH": folder})
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertIn("gnuplot is not installed", done.out)
            self.assertEqual(set(os.listdir(folder)),
                             {"cam-hops.csv", "cam-hops.json", "cam-hops.gp"})

    def test_a_gnuplot_that_fails_is_a_failure_of_its_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/gnuplot", "w") as file:
                file.write("#!/bin/sh\necho cannot draw >&2\nexit 3\n")
            os.chmod(folder + "/gnuplot", 0o755)
            done = weft("paper", "run", "cam-hops", "--quick", "--out", folder + "/figures",
                        env={"PATH": folder})
            self.assertEqual(done.code, 1)
            self.assertIn("cannot draw", done.out)
            self.assertFalse(os.path.exists(folder + "/figures/cam-hops.svg"))

    def test_an_impossible_folder_is_refused(self):
        with tempfile.NamedTemporaryFile() as file:
            done = weft("paper", "run", "cam-hops", "--quick", "--out", file.name + "/x")
            self.assertEqual((done.code, done.out), (1, ""))
            self.assertRegex(done.err, r"^weft: [^\n]+\n$")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_the_script_draws_by_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            run("cam-hops", "--out", folder)
            done = subprocess.run(["gnuplot", folder + "/cam-hops.gp"], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            with open(folder + "/cam-hops.svg", "rb") as file:
                self.assertEqual(done.stdout, file.read())


class All(unittest.TestCase):
    def test_every_figure_runs_and_every_verdict_follows(self):
        with tempfile.TemporaryDirectory() as folder:
            done = weft("paper", "all", "--quick", "--json", "--out", folder)
            self.assertEqual((done.code, done.err), (0, ""))
            self.assertEqual([figure["name"] for figure in done.json["figures"]], listed())
            counts = dict.fromkeys(VERDICTS, 0)
            for figure in done.json["figures"]:
                self.assertTrue(figure["claims"] and figure["tables"], figure["name"])
                for claim in figure["claims"]:
                    self.assertEqual(claim["verdict"], holds(claim), claim)
                    self.assertEqual("reason" in claim, claim["verdict"] != "agrees")
                    counts[claim["verdict"]] += 1
                for ending in ("csv", "json", "gp"):
                    self.assertTrue(os.path.getsize(f"{folder}/{figure['name']}.{ending}"))
            self.assertEqual([done.json["agree"], done.json["differ"],
                              done.json["cannot_be_reproduced"]], list(counts.values()))

    def test_a_seed_gives_the_same_result_twice(self):
        for name in listed():
            words = ("paper", "run", name, "--quick", "--json", "--seed", 5)
            self.assertEqual(weft(*words).out, weft(*words).out, name)


class CamCube(unittest.TestCase):
    def test_hops_are_those_of_the_closed_form(self):
        figure = run("cam-hops")
        for row in rows(figure):
            k = int(row["torus"].split("x")[-1])
            ring = sum(min(i, k - i) for i in range(k)) / k
            self.assertAlmostEqual(row["mean_with_self"], 3 * ring)
            self.assertEqual(row["diameter"], 3 * (k // 2))
        self.assertEqual(verdicts(figure), ["agrees", "agrees", "differs", "differs"])


main()
