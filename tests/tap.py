"""tap: runs the unittest cases of a file and reports them in TAP, so that Meson counts each case.
Arguments on the command line select the cases whose names contain one of them. `weft(...)` runs the
program under test, whose path is in the environment variable WEFT."""

import json
import os
import subprocess
import sys
import unittest


class Outcome:
    """The result of one run of weft."""

    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def json(self):
        return json.loads(self.out)


def weft(*words, stdin=None, env=None, cwd=None, timeout=300, program="WEFT"):
    """Runs weft, or the program in the variable `program`, with these arguments. Does not raise if it fails."""
    return Outcome(
        subprocess.run(
            [os.environ[program], *map(str, words)],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=cwd,
            timeout=timeout,
            env={**os.environ, **(env or {})},
        )
    )


class TapResult(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.number = 0
        self.broken = set()  # tests with a failed subtest, for which unittest reports no other verdict

    def line(self, verdict, test, extra=""):
        self.number += 1
        print(f"{verdict} {self.number} - {test.id().split('.', 1)[1]}{extra}", flush=True)

    def explain(self, test, err):
        for row in self._exc_info_to_string(err, test).splitlines():
            print(f"# {row}")

    def addSuccess(self, test):
        self.line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.explain(test, err)
        self.line("not ok", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.explain(test, err)
        self.line("not ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("ok", test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.explain(subtest, err)
            self.broken.add(test.id())

    def stopTest(self, test):
        super().stopTest(test)
        if test.id() in self.broken:
            self.line("not ok", test)


def main():
    loader = unittest.defaultTestLoader
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]] or None
    suite = loader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}", flush=True)
    result = TapResult()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
