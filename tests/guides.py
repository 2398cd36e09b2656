"""Every command in README.md and in the guides works as pasted, in order, after `./run`.

A fenced block of the kind `sh` is pasted into a shell, line by line; each line must exit with 0, or with
the code that its comment names ("# exit code 1: ..."). A block of the kind `text` shows what the block
before it prints: its lines must be in the output, in their order. Any number matches any other number,
any path matches any other path, and a line of three dots matches any lines. Blocks of other kinds (c,
python, console) are not run.

The shell has the variables of a user who has just logged in, and begins in the project's folder. If
permitted, the test runs in a mount namespace of its own with an empty /dev/shm; then no variable of weft
has to be set. Otherwise WEFT_FOLDER names a folder that only this test uses. Words on the command line
choose guides."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, sys.path[0])
from tap import main

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD_FOLDER", ROOT / "build"))
DONE_BEFORE = {"./run"}  # not pasted: it has been run before this test
LIMIT_SECONDS = 300  # for one line
UNIT = r"(?: (?:ns|us|ms|s)\b)?"
NUMBER = re.compile(r"(?<!\S)/[\w./-]+|0x[0-9a-f]+|\b[0-9a-f]{16,}\b|\d[\d.,]*" + UNIT)


def blocks(text):
    """The fenced blocks as (kind, number of the first line, lines)."""
    found, kind, begun, lines = [], None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif kind is None:
            kind, begun, lines = line[3:].strip(), number + 1, []
        else:
            found.append((kind, begun, lines))
            kind, lines = None, []
    return found


def commands(first, lines):
    """The lines of a block as (number, text): a here-document or a continued line is one command."""
    at = 0
    while at < len(lines):
        begun, text = at, lines[at]
        document = re.search(r"<<'?(\w+)'?", text)
        while text.endswith("\\") or document and lines[at] != document.group(1):
            at += 1
            text += "\n" + lines[at]
        at += 1
        if text.strip() and not text.startswith("#"):
            yield first + begun, text


def expected_code(text):
    named = re.search(r"# exit code (\d+)", text)
    return int(named.group(1)) if named else 0


def pattern(line):
    """A line of sample output as a regular expression."""
    parts, at = [], 0
    for number in NUMBER.finditer(line):
        parts.append(re.escape(line[at:number.start()]))
        parts.append(r"/\S+" if number.group().startswith("/") else r"[0-9a-fx][0-9a-f.,]*" + UNIT)
        at = number.end()
    parts.append(re.escape(line[at:]))
    return re.compile(re.sub(r"(?:\\ )+", r"\\s+", "".join(parts)) + r"\s*$")


class Shell:
    """A shell that is given one command at a time; what it prints is collected."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            ["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=environment, start_new_session=True)
        self.lines = []
        self.changed = threading.Condition()
        threading.Thread(target=self.collect, daemon=True).start()

    def collect(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.lines.append("guides-ended 127")
            self.changed.notify_all()

    def wait(self, begun, wanted, seconds):
        """Returns the first line from `begun` on that matches, or None if there is none in time."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                for line in self.lines[begun:]:
                    if re.match(wanted, line):
                        return line
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(left)

    def run(self, text):
        """Runs a command. Returns its exit code, or None if it did not end in time."""
        begun = len(self.lines)
        self.process.stdin.write(f"{text}\necho guides-ended $?\n")
        self.process.stdin.flush()
        ended = self.wait(begun, "guides-ended ", LIMIT_SECONDS)
        if re.search(r"&\s*(#.*)?$", text):
            self.wait(begun, "(?!guides-ended)", 5)  # a person reads what it prints first
        return int(ended.split()[1]) if ended else None

    def output(self, begun):
        return [line for line in self.lines[begun:] if not line.startswith("guides-ended ")]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def login(home):
    """Returns the environment of a shell after a login, without any variables of this process."""
    environment = {"HOME": home, "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                   "TERM": "dumb", "TMPDIR": home, "XDG_RUNTIME_DIR": home + "/run"}
    os.mkdir(environment["XDG_RUNTIME_DIR"], 0o700)
    if os.environ.get("GUIDES_APART") != "1":
        environment["WEFT_FOLDER"] = home + "/shm"
        os.mkdir(environment["WEFT_FOLDER"], 0o700)  # weft refuses a folder that other users can read
    return environment


@unittest.skipUnless(BUILD.resolve() == ROOT / "build", "the guides name ./build, and this build is elsewhere")
class Guides(unittest.TestCase):
    def paste(self, path):
        home = tempfile.mkdtemp(prefix="weft-guide-")
        shell = Shell(login(home))
        begun, pasted = 0, 0
        try:
            for kind, first, lines in blocks(path.read_text()):
                if kind == "sh":
                    begun = len(shell.lines)
                    for number, text in commands(first, lines):
                        if text.split("#")[0].strip() in DONE_BEFORE:
                            continue
                        code = shell.run(text)
                        pasted += 1
                        self.assertEqual(code, expected_code(text), f"{path.name}:{number}: {text}\n" +
                                         "\n".join(shell.output(begun)[-20:]))
                elif kind == "text":
                    self.compare(path, first, lines, shell.output(begun))
        finally:
            shell.run("weft down >/dev/null 2>&1; kill $(jobs -p) 2>/dev/null; wait")
            shell.close()
            shutil.rmtree(home, ignore_errors=True)
        self.assertGreater(pasted, 2, "a guide without commands")

    def compare(self, path, first, lines, output):
        at = 0
        for number, line in enumerate(lines, first):
            if not line.strip() or line.strip() == "...":
                continue
            wanted = pattern(line.strip())
            found = [i for i in range(at, len(output)) if wanted.match(output[i].strip())]
            self.assertTrue(found, f"{path.name}:{number}: not printed: {line}\n" + "\n".join(output[:60]))
            at = found[0] + 1


def add(path):
    def test(self):
        self.paste(path)
    setattr(Guides, "test_" + path.stem.lower(), test)


class Names(unittest.TestCase):
    """What the documents name in `this type` exists."""

    @classmethod
    def setUpClass(cls):
        git = shutil.which("git") or "false"  # a machine that has only done ./run may have no git
        listed = subprocess.run([git, "-C", ROOT, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
        cls.files = listed.stdout.split() if listed.returncode == 0 else []
        texts = [ROOT / name for name in cls.files
                 if re.match(r"(src|include|examples|bindings|tests|bench|tools|man)/|Makefile|meson", name)
                 and not name.startswith("tests/fuzz/corpus/")]
        cls.words = set(re.findall(r"\w+", "\n".join(path.read_text(errors="replace") for path in texts)))
        cls.words |= {pathlib.PurePath(name).stem for name in cls.files}

    def documents(self):
        if not self.files:
            self.skipTest("no git here, so the files of the project are not known")
        return [ROOT / name for name in self.files
                if re.fullmatch(r"(README|docs/(guide/)?\w+)\.md", name)]

    def missing(self, wanted):
        """Yields each quoted name in the documents for which wanted(name) is true, with its place."""
        for path in self.documents():
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for name in re.findall(r"`([^`]+)`", line):
                    if wanted(name):
                        yield f"{path.relative_to(ROOT)}:{number}: {name}"

    def test_files_exist(self):
        def wanted(name):
            if not re.fullmatch(r"(src|include|examples|bindings|tests|bench|tools|docs|man)(/[\w.-]+)+/?", name):
                return False
            return not any(file == name or file.startswith(name.rstrip("/") + "/") for file in self.files)
        self.assertEqual(list(self.missing(wanted)), [])

    def test_identifiers_exist(self):
        def wanted(name):
            name = re.sub(r"^(struct|enum) ", "", name)
            return bool(re.fullmatch(r"[A-Za-z]\w*_\w+(\(\))?", name)) and name.rstrip("()") not in self.words
        self.assertEqual(list(self.missing(wanted)), [])

    def test_the_architecture_names_every_module(self):
        text = (ROOT / "docs" / "architecture.md").read_text()
        named = set(re.findall(r"`(\w+)(?:\.c)?`", text)) | set(re.findall(r"^### (\S+)", text, re.M))
        missing = []
        for path in sorted((ROOT / "src").rglob("*.h")):
            if re.search(r"_(impl|scene|cases|crowd|world|test|pair)$|^(test|test_plan|scratch|scene|example)$", path.stem):
                continue  # private to a folder, or for tests
            layer = path.relative_to(ROOT / "src").parts[0]
            for name in (layer, path.parent.name, path.stem):
                if name not in named:
                    missing.append(f"{path.relative_to(ROOT)}: {name}")
        self.assertEqual(missing, [])

    def test_the_guides_to_services_show_the_examples_as_they_are(self):
        for guide, *sources in (("service", "counter"), ("disk", "journal"), ("stream", "letters"), ("work", "primes"),
                                ("descriptor", "lines"), ("checker", "register", "register_checker")):
            example = {line.strip() for source in sources
                       for line in (ROOT / "examples" / f"{source}.c").read_text().splitlines()}
            shown = [line.strip() for kind, _, lines in blocks((ROOT / f"docs/guide/{guide}.md").read_text())
                     if kind == "c" and not any("world_" in line for line in lines) for line in lines]
            self.assertGreater(len(shown), 30)
            self.assertEqual([line for line in shown if line and line != "..." and line not in example], [])

    def test_the_readme_has_one_screen_of_words(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().split()), 700)

    def test_links_lead_somewhere(self):
        broken = []
        for path in self.documents():
            for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
                if "://" not in target and not (path.parent / target).exists():
                    broken.append(f"{path.name}: {target}")
        self.assertEqual(broken, [])


for path in [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]:
    add(path)


def apart():
    """Runs this program again in a mount namespace with an empty /dev/shm; returns if not permitted."""
    words = ["unshare", "--mount", "--propagation", "private"]
    if os.environ.get("GUIDES_APART") or not shutil.which("unshare"):
        return
    if subprocess.run([*words, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], capture_output=True).returncode:
        return
    os.environ["GUIDES_APART"] = "1"
    os.execvp("unshare", [*words, "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh",
                          sys.executable, *sys.argv])


apart()
main()
