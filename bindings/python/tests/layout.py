"""layout: compares the ctypes structures of a header with those of a C compiler."""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bindings" / "python")]

SANITIZED = os.environ.get("SANITIZE", "none") != "none"


class Header:
    """A public header, with the structures and functions that it declares."""

    def __init__(self, name, others=()):
        self.path = ROOT / "include" / "weft" / name
        self.text = re.sub(r"/\*.*?\*/", "", self.path.read_text(), flags=re.S)
        self.structures = dict(others)
        for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", self.text, re.S | re.M):
            names = self.structures[name] = []
            for declaration in filter(None, (part.strip() for part in body.split(";"))):
                names += [re.search(r"(\w+)\s*(\[[^]]*\])?$", one.strip()).group(1)
                          for one in declaration.split(",")]
        self.functions = {  # name: number of arguments
            name: 0 if words.strip() == "void" else words.count(",") + 1
            for name, words in re.findall(r"^(?:RIPC|WEFT_PROGRAM)_API [^(]*?\b(\w+)\(([^)]*)\)", self.text,
                                          re.M | re.S)}

    def program(self, constants):
        """Returns a C program that prints all structures and the constants as JSON."""
        lines = ["#include <stddef.h>", "#include <stdio.h>", f"#include <weft/{self.path.name}>",
                 "int main(void)", "{", 'printf("{\\"structures\\": {");']
        comma = ""
        for name, fields in self.structures.items():
            lines.append(f'printf("{comma}\\"{name}\\": {{\\"\\": [0, %zu]", '
                         f"sizeof(struct {name}));")
            lines += [f'printf(", \\"{field}\\": [%zu, %zu]", offsetof(struct {name}, {field}), '
                      f"sizeof((struct {name} *)0)->{field});" for field in fields]
            lines.append('printf("}");')
            comma = ", "
        lines.append('printf("}, \\"constants\\": {\\"\\": 0");')
        lines += [f'printf(", \\"{name}\\": %lld", (long long){name});' for name in constants]
        lines += ['printf("}}\\n");', "return 0;", "}"]
        return "\n".join(lines)

    def compiled(self, constants):
        """Compiles and runs that program; returns what it prints."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "layout.c")
            source.write_text(self.program(constants))
            subprocess.run([*os.environ.get("CC", "cc").split(), "-I", self.path.parent.parent,
                            "-o", folder + "/layout", source], check=True)
            done = subprocess.run([folder + "/layout"], capture_output=True, check=True)
        return json.loads(done.stdout)


class Case(unittest.TestCase):
    """Tests for one header; `module` is the Python module with its ctypes."""

    header = module = None
    constants = {}  # name in C: value in Python
    left_out = set()  # functions that Python does not need

    @classmethod
    def setUpClass(cls):
        cls.c = cls.header.compiled(cls.constants)

    def test_structures_have_the_same_layout_as_in_c(self):
        self.assertEqual(set(self.c["structures"]), set(self.module.STRUCTURES))
        for name, kind in self.module.STRUCTURES.items():
            ours = {"": [0, ctypes.sizeof(kind)]}
            for field, *_ in kind._fields_:
                ours[field] = [getattr(kind, field).offset, getattr(kind, field).size]
            self.assertEqual(ours, self.c["structures"][name], name)

    def test_constants_have_the_same_values_as_in_c(self):
        self.assertEqual({"": 0, **self.constants}, self.c["constants"])

    def test_every_function_that_python_needs_is_bound(self):
        missing = set(self.header.functions) - set(self.module._PROTOTYPES)
        self.assertEqual(missing, self.left_out)

    def test_functions_take_as_many_arguments_as_in_c(self):
        for name, (_, arguments) in self.module._PROTOTYPES.items():
            self.assertEqual(len(arguments), self.header.functions[name], name)


def skip_if_sanitized():
    """Skips the test in sanitized builds, whose library the interpreter cannot load."""
    if SANITIZED:
        print("1..0 # SKIP the interpreter cannot load a sanitized library")
        sys.exit()
