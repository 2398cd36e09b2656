"""Checks that installed programs contain none of the planted bugs, and that the test program does."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, sys.path[0])
from tap import main

FUNCTIONS = ("egress_fault_skips", "link_state_admit_blindly", "link_state_take_stale", "chaos_plants")
TEXTS = (b" --plant ", b"plant a bug for the checkers to find")


def symbols(program):
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


def contents(program):
    with open(program, "rb") as file:
        return file.read()


class Planted(unittest.TestCase):
    def test_the_test_program_contains_the_planted_bugs(self):
        program = os.environ["WEFT_PLANTED"]
        self.assertLessEqual(set(FUNCTIONS), symbols(program))
        for text in TEXTS:
            self.assertIn(text, contents(program))

    def test_installed_programs_contain_no_planted_bugs(self):
        for program in (os.environ["WEFT"], os.environ["WEFTD"]):
            self.assertIn("node_step", symbols(program))  # otherwise it was stripped
            self.assertEqual(set(FUNCTIONS) & symbols(program), set())
            for text in TEXTS:
                self.assertNotIn(text, contents(program))


main()
