"""What is installed contains none of the bugs that tests plant; the program of the tests does."""

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
    def test_the_program_of_the_tests_has_them(self):
        program = os.environ["WEFT_PLANTED"]
        self.assertLessEqual(set(FUNCTIONS), symbols(program))
        for text in TEXTS:
            self.assertIn(text, contents(program))

    def test_what_is_installed_has_none(self):
        for program in (os.environ["WEFT"], os.environ["WEFTD"]):
            self.assertIn("node_step", symbols(program))  # else it has been stripped
            self.assertEqual(set(FUNCTIONS) & symbols(program), set())
            for text in TEXTS:
                self.assertNotIn(text, contents(program))


main()
