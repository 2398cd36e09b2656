"""lint: checks the rules that clang-format and the compilers do not check.

- the layers of tools/layers.txt: a file includes its own layer and those below it, no others;
- a source includes its own header first;
- no two headers define the same struct, union or enum tag;
- no file over 800 lines, no function over 70, no line over 100 columns;
- no tabs, no blanks at the end of a line;
- descriptors of the library are opened and closed by src/transport/fork/descriptor.h;
- no pronoun in place of the server, process or thread that is meant, in any text of the project.

    tools/lint.py [ROOT]

Prints `path:line: reason` for each finding and fails if there is one.
"""

import pathlib
import re
import sys

FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

INCLUDE = re.compile(r'#include "([^"]+)"')
TAG = re.compile(r"^\s*(?:typedef )?(?:struct|union|enum) (?:alignas\(\w+\) )?(\w+) {")

# Both cases, and in names of tests, too. The macro is part of the interface for services, and the
# user of that name exists on every Unix.
PRONOUN = re.compile(r"(?<![A-Za-z])(?:(?:no|some|every)body|who(?:ever))(?![A-Za-z])", re.I)
PRONOUN_ALLOWED = re.compile(r"WEFT_NO(?:BODY)|-[uR] no(?:body)")

# A forked child closes what is recorded there; see src/transport/fork/descriptor.h.
DESCRIPTOR_FOLDERS = ("transport", "ripc", "sst")
DESCRIPTOR_OPENS = re.compile(r"(?<![\w.>])(socket|open|openat|accept4?|memfd_create|eventfd|"
                              r"epoll_create1?|timerfd_create|inotify_init1?)\(")
DESCRIPTOR_CALLS = re.compile(r"(?<![\w.>])(close|recvmsg|socketpair|pipe2?|dup[23]?)\(")

TEXT_FOLDERS = ("src", "include", "tests", "bench", "examples", "bindings", "tools", "docs", "man")


def layers_read(path):
    table = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            layer, below = line.split(":")
            table[layer.strip()] = set(below.split())
    return table


def rule_of(folder, table):
    """Returns the line of the table that applies to a folder: its own, or that of a folder above."""
    while str(folder) not in table and folder.parts:
        folder = folder.parent
    return str(folder) if folder.parts else None


def is_within(folder, rule):
    return folder == pathlib.PurePath(rule) or pathlib.PurePath(rule) in folder.parents


def layer_findings(path, folder, lines, table):
    rule = rule_of(folder, table)
    first = None
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(1)
        first = first or (number, name)
        target = pathlib.PurePath(name).parent
        if "/" not in name or ".." in name:
            yield number, f'include "{name}" does not name its layer'
        elif not rule_of(target, table):
            yield number, f'include "{name}" belongs to no layer of tools/layers.txt'
        elif not any(is_within(target, allowed) for allowed in {rule, *table[rule]}):
            yield number, f"{rule} may not include {target}"
        elif name.endswith("_impl.h") and pathlib.PurePath(name).parent != folder:
            yield number, f'"{name}" is included outside of its folder'
    own = str(folder / f"{path.stem}.h")
    if path.suffix == ".c" and path.with_suffix(".h").exists() and first and first[1] != own:
        yield first[0], f'includes "{first[1]}" before its own header "{own}"'


def descriptor_findings(path, folder, lines):
    """A descriptor that is not recorded stays open in a forked child of the program."""
    if (folder.parts[0] not in DESCRIPTOR_FOLDERS or folder.parts[1:2] == ("fork",)
            or path.suffix != ".c" or path.stem.endswith("_test")):
        return
    before = ""
    for number, line in enumerate(lines, 1):
        code = "" if line.lstrip().startswith(("/*", "*")) else line.split("/*")[0]
        match = DESCRIPTOR_CALLS.search(code)
        if not match and "DESCRIPTOR_OPEN(" not in before + code:
            match = DESCRIPTOR_OPENS.search(code)
        if match:
            yield number, f"{match.group(1)}(): use transport/fork/descriptor.h"
        before = code


def size_findings(lines):
    if len(lines) > FILE_LINES_MAX:
        yield FILE_LINES_MAX + 1, f"{len(lines)} lines; a file has at most {FILE_LINES_MAX}"
    opened = None
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; a line has at most {COLUMNS_MAX}"
        if "\t" in line or line != line.rstrip():
            yield number, "a tab, or a blank at the end of the line"
        if line == "{":
            opened = number
        elif line == "}" and opened:
            if number - opened - 1 > FUNCTION_LINES_MAX:
                length = number - opened - 1
                yield opened, f"a function of {length} lines; it has at most {FUNCTION_LINES_MAX}"
            opened = None


def text_files(root):
    """Every file that a person reads."""
    yield from sorted(path for path in root.iterdir() if path.suffix in (".md", "") and path.is_file())
    for folder in TEXT_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "corpus" not in path.parts and path.suffix not in (".pyc", ".svg"):
                yield path


def pronoun_findings(root):
    """A pronoun leaves the reader to guess which server, process or thread is meant."""
    for path in text_files(root):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = PRONOUN.search(PRONOUN_ALLOWED.sub("", line))
            if match:
                yield path.relative_to(root), number, f"'{match.group()}': name the server, process or thread"


def tag_findings(root, headers):
    """Two headers that define the same tag cannot be included together, and confuse readers. A *_impl.h is included
    only in its folder."""
    first = {}
    for path in headers:
        if str(path).endswith("_impl.h"):
            continue
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            match = TAG.match(line)
            if match and first.setdefault(match.group(1), path) != path:
                yield path, number, f"{match.group(1)} is defined in {first[match.group(1)]} too"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    table = layers_read(root / "tools" / "layers.txt")
    count = 0
    sources = sorted((root / "src").rglob("*.[ch]"))
    for path in sources:
        lines = path.read_text().splitlines()
        folder = path.relative_to(root / "src").parent
        if not rule_of(folder, table):
            findings = [(1, f"layer {folder.parts[0]} is not in tools/layers.txt")]
        else:
            findings = [*layer_findings(path, folder, lines, table), *size_findings(lines),
                        *descriptor_findings(path, folder, lines)]
        for number, reason in findings:
            print(f"{path.relative_to(root)}:{number}: {reason}")
            count += 1
    others = [*(root / "tests").rglob("*.[ch]"), *(root / "bench").rglob("*.[ch]"),
              *(root / "include").rglob("*.h"), *(root / "examples").rglob("*.c")]
    for path in sorted(others):
        for number, reason in size_findings(path.read_text().splitlines()):
            print(f"{path.relative_to(root)}:{number}: {reason}")
            count += 1
    headers = [path.relative_to(root) for path in [*sources, *sorted(others)] if path.suffix == ".h"]
    for path, number, reason in [*tag_findings(root, headers), *pronoun_findings(root)]:
        print(f"{path}:{number}: {reason}")
        count += 1
    print(f"lint: {len(sources)} sources, {count} findings")
    return 1 if count or not sources else 0


sys.exit(main())
