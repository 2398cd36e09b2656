"""plugin_shell: compiles services as an outsider does, from the public header alone."""

import os
import pathlib
import shlex
import subprocess


def plugin(folder, name, source, *flags):
    """Compiles the source to FOLDER/NAME.so; returns its path."""
    text = pathlib.Path(folder) / f"{name}.c"
    made = pathlib.Path(folder) / f"{name}.so"
    text.write_text(source)
    done = subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-Wall", "-Wextra", "-Werror",
                           "-Wno-unused-parameter", "-Wno-missing-field-initializers", "-shared", "-fPIC",
                           "-I", os.environ["INCLUDE"], "-o", made, text, *flags], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return made
