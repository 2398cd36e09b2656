"""ctypes lays every structure out as the C compiler does, and knows every function."""

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
from tap import main

HEADER = ROOT / "include" / "weft" / "ripc.h"
CONSTANTS = {"RIPC_SHORT_MAX": "SHORT_MAX", "RIPC_ITEM_MAX": "ITEM_MAX",
             "RIPC_REASON_MAX": "REASON_MAX", "RIPC_MANUAL": "MANUAL", "RIPC_READ": "READ",
             "RIPC_WRITE": "WRITE", "RIPC_NOW": "NOW", "RIPC_FOREVER": "FOREVER"}
EVENTS = ["RIPC_DONE", "RIPC_CREDIT", "RIPC_UP", "RIPC_MOVED", "RIPC_DOWN"]


def header():
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)


def structures():
    """Every structure that the header defines, with the names of its fields."""
    found = {"iovec": ["iov_base", "iov_len"]}
    for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", header(), re.S | re.M):
        names = found[name] = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            names += [re.search(r"(\w+)\s*(\[\w+\])?$", one.strip()).group(1)
                      for one in declaration.split(",")]
    return found


def program():
    """A C program that prints the layout of all of them, and the constants, as JSON."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <weft/ripc.h>",
             "int main(void)", "{", 'printf("{\\"structures\\": {");']
    comma = ""
    for name, fields in structures().items():
        lines.append(f'printf("{comma}\\"{name}\\": {{\\"\\": [0, %zu]", sizeof(struct {name}));')
        lines += [f'printf(", \\"{field}\\": [%zu, %zu]", offsetof(struct {name}, {field}), '
                  f"sizeof((struct {name} *)0)->{field});" for field in fields]
        lines.append('printf("}");')
        comma = ", "
    lines.append('printf("}, \\"constants\\": {\\"\\": 0");')
    lines += [f'printf(", \\"{name}\\": %lld", (long long){name});' for name in [*CONSTANTS, *EVENTS]]
    lines += ['printf("}}\\n");', "return 0;", "}"]
    return "\n".join(lines)


@unittest.skipIf(os.environ.get("SANITIZE", "none") != "none",
                 "the interpreter cannot load a sanitized library")
class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "layout.c")
            source.write_text(program())
            subprocess.run([*os.environ.get("CC", "cc").split(), "-I", HEADER.parent.parent,
                            "-o", folder + "/layout", source], check=True)
            done = subprocess.run([folder + "/layout"], capture_output=True, check=True)
        cls.c = json.loads(done.stdout)
        from weft import _library, ripc
        cls.library, cls.ripc = _library, ripc

    def test_structures(self):
        self.assertEqual(set(self.c["structures"]), set(self.library.STRUCTURES))
        for name, kind in self.library.STRUCTURES.items():
            ours = {"": [0, ctypes.sizeof(kind)]}
            for field, *_ in kind._fields_:
                ours[field] = [getattr(kind, field).offset, getattr(kind, field).size]
            self.assertEqual(ours, self.c["structures"][name], name)

    def test_constants(self):
        for name, ours in CONSTANTS.items():
            self.assertEqual(getattr(self.library, ours), self.c["constants"][name], name)
        for name in EVENTS:
            self.assertEqual(getattr(self.ripc, name[5:]), self.c["constants"][name], name)

    def test_every_function_of_the_header_is_bound_but_those_not_needed(self):
        declared = set(re.findall(r"^RIPC_API [^(]*?\b(ripc_\w+)\(", header(), re.M))
        missing = declared - set(self.library._PROTOTYPES)
        # send_message does what send does; buffers are not resized
        self.assertEqual(missing, {"ripc_send", "ripc_resize"})

    def test_functions_take_as_many_arguments_as_in_c(self):
        for name, words in re.findall(r"^RIPC_API [^(]*?\b(ripc_\w+)\(([^)]*)\)", header(), re.M | re.S):
            if name in self.library._PROTOTYPES:
                count = 0 if words.strip() == "void" else words.count(",") + 1
                self.assertEqual(len(self.library._PROTOTYPES[name][1]), count, name)


main()
