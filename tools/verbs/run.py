"""run: boots a virtual machine with a software RDMA device, runs programs of a
build folder in it, and reports their results as one TAP stream.

    tools/verbs/run.py BUILD

The machine's console is its only output. Lines for this program begin with
"@ " (tools/verbs/init writes them). The results of a program are between "begin
NAME" and "end NAME STATUS", and "closed" means that init has finished.
If any of these is missing, that is a failure. If no machine can be started, the
stream is one skip, with the reason."""

import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MACHINE_SECONDS = 2000  # limit for a machine that hangs; a run takes a tenth of it
ADDRESS = "10.9.9.1"  # of the device, as in tools/verbs/init

MACHINES = {
    "aarch64": (
        # Emulation is faster without pointer authentication. No network card,
        # since that would need a boot ROM.
        ["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth=off"],
        "ttyAMA0",
    ),
    "x86_64": (["qemu-system-x86_64", "-M", "q35", "-cpu", "max", "-vga", "none"], "ttyS0"),
}

# The device has room for 32767 completions, which libfabric divides by the number of possible peers.
ENVIRONMENT = {
    "CMOCKA_MESSAGE_OUTPUT": "TAP",
    "FI_UNIVERSE_SIZE": "32",
    "WEFT_TEST_PROVIDER": "verbs",
    "WEFT_TEST_ADDRESS": ADDRESS,
    "WEFT_TEST_COUNT": "1000",  # messages, each of which takes milliseconds here
}

# Name, time limit in seconds (for a fraction of a processor), path in the build folder, arguments.
PROGRAMS = [
    ("libfabric", 120, "tests/verbs_libfabric", ""),
    ("fabric", 400, "tests/fabric_test", ""),
    ("ripc", 600, "tests/verbs_ripc", ""),
    ("sst-writes", 400, "tests/sst_fabric_test", "writes"),
    ("sst-reads", 400, "tests/sst_fabric_test", "reads"),
]


class Report:
    """The stream of all results, numbered from 1, with the plan at its end."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, good, text):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {text}", flush=True)

    def note(self, text):
        print(f"# {text}", flush=True)

    def close(self):
        print(f"1..{self.count}", flush=True)


class Console:
    """Follows the lines of the console and turns them into results."""

    def __init__(self, report):
        self.report = report
        self.name = None  # of the current program
        self.seen = []  # the programs that have ended
        self.closed = False
        self.planned = self.reported = self.failed = 0

    def line(self, text):
        words = text.split()
        if self.name is None:
            if words[:1] == ["begin"] and len(words) == 2:
                self.name = words[1]
                self.planned = self.reported = self.failed = 0
            elif words == ["closed"]:
                self.closed = True
        elif words[:2] == ["end", self.name] and len(words) == 3:
            self.end(words[2])
        elif match := re.fullmatch(r"1\.\.(\d+)", text):
            self.planned = int(match[1])
        elif match := re.fullmatch(r"(not )?ok \d+(?: -)? ?(# SKIP ?)?(.*)", text):
            self.reported += 1
            good = not match[1] or bool(match[2])  # cmocka's skips are "not ok"
            self.failed += not good
            mark = " # SKIP" if match[2] else ""
            self.report.result(good, f"{self.name}: {match[3]}{mark}")
        elif not re.fullmatch(r"(# )?(not )?ok - (tests|ripc)", text):  # cmocka's line about the group
            self.report.note(f"{self.name}: {text.removeprefix('# ')}")

    def end(self, status):
        if self.reported != self.planned or self.planned == 0:
            self.report.result(False, f"{self.name}: {self.reported} results of {self.planned}")
        if status != "0" and not self.failed:
            self.report.result(False, f"{self.name}: it ended with {status}")
        self.seen.append(self.name)
        self.name = None


def skip(reason):
    print(f"1..0 # SKIP {reason}", flush=True)
    sys.exit(0)


def libraries(program):
    """Returns the shared libraries that a program loads at its start. weft loads libfabric
    later; it is in the image because the first program links it."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\t(?:\S+ => )?(/\S+)", listing, re.M)


def root_write(folder, work, build):
    """Adds a second archive to the root: the programs, their libraries, and the
    list of programs for init. The kernel unpacks one archive after the other."""
    layer = work / "layer"
    files = {}
    lines = []
    settings = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
    for name, limit, path, words in PROGRAMS:
        program = build / path
        files[f"/weft/{program.name}"] = program
        for library in libraries(program):
            files[library] = Path(library)
        lines.append(f"{name} {limit} {settings} /weft/{program.name} {words}".rstrip() + "\n")
    for inside, outside in files.items():
        target = layer / inside.removeprefix("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(outside.read_bytes())
        target.chmod(0o755)
    (layer / "weft/programs").write_text("".join(lines))
    names = sorted(str(path.relative_to(layer)) for path in layer.rglob("*"))
    archive = subprocess.run(
        ["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"],
        cwd=layer,
        input="\n".join(names).encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    packed = subprocess.run(["gzip", "-1"], input=archive, stdout=subprocess.PIPE, check=True).stdout
    (work / "initrd").write_bytes((folder / "root.gz").read_bytes() + packed)


def machine_run(folder, work, console):
    """Boots the machine and reads its console until it is off. Returns the lines of the console."""
    command, terminal = MACHINES[platform.machine()]
    command = [
        *("timeout", "--signal=KILL", str(MACHINE_SECONDS)),
        *command,
        *("-smp", "2", "-m", "1024", "-nographic", "-nic", "none", "-no-reboot"),
        *("-kernel", folder / "kernel", "-initrd", work / "initrd"),
        *("-append", f"console={terminal} quiet panic=1 rdinit=/init"),
    ]
    kept = []
    with (
        open(folder / "console.txt", "w", encoding="utf-8") as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as machine,
    ):
        try:
            for raw in machine.stdout:
                text = raw.decode("utf-8", "replace").rstrip("\r\n")
                kept.append(text)
                print(text, file=log, flush=True)
                if text.startswith("@ "):
                    console.line(text[2:])
        finally:
            machine.terminate()  # timeout passes the signal on
    return kept


def main():
    build = Path(sys.argv[1]).resolve()
    folder = build / "verbs"
    if platform.machine() not in MACHINES:
        skip(f"no virtual machine is configured for {platform.machine()}")
    image = subprocess.run([HERE / "image", folder], stderr=subprocess.PIPE, text=True)
    if image.returncode == 77:
        skip(image.stderr.splitlines()[-1])
    report = Report()
    if image.returncode != 0:
        for line in image.stderr.splitlines():
            report.note(line)
        report.result(False, "the image of the machine can be made")
        report.close()
        return 1

    console = Console(report)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder) as work:
        root_write(folder, Path(work), build)
        kept = machine_run(folder, Path(work), console)
    if console.name is not None:
        report.result(False, f"{console.name}: the machine ended before the program")
    for name, *_ in PROGRAMS:
        if name not in console.seen and name != console.name:
            report.result(False, f"{name}: the program never ran")
    report.result(console.closed, "the machine shuts down after the last program")
    report.note(f"the machine ran for {time.monotonic() - begun:.1f} s")
    if report.failed:
        for line in kept[-60:]:
            report.note(f"console: {line}")
    report.close()
    return 1 if report.failed else 0


if __name__ == "__main__":
    # When this program is terminated, the machine must not keep running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
