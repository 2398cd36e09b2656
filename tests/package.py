"""What is installed is what a stranger's program needs, and nothing of our insides is visible."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0])
from tap import main

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ("ripc", "sst", "sst_multicast")
PUBLIC = re.compile(r"(ripc|sst|weft)_[a-z0-9_]+")

PROGRAM = """
#include <errno.h>
#include <stdio.h>
#include <weft/ripc.h>

int main(void)
{
    struct ripc *ripc;
    int error = ripc_open(NULL, &ripc);
    if (error < 0) {
        printf("ripc_open: %s\\n", ripc_strerror(error));
        return 1;
    }
    struct ripc_service *service;
    struct ripc_message message;
    error = ripc_bind(ripc, 0, 0, &service);
    if (error == 0)
        error = ripc_send(service, ripc_service_id(service), "hello", 5, ripc_after(5000000000));
    if (error == 0 && ripc_receive(service, &message, 1, ripc_after(5000000000)) == 1) {
        printf("%.*s\\n", (int)message.size, (const char *)message.data);
        ripc_release(&message);
    }
    return ripc_close(ripc, RIPC_NOW) < 0;
}
"""

TABLE = """
#include <weft/sst.h>

struct row {
    uint64_t step;
    double load[4];
    bool ready;
    char text[10];
};
static const struct sst_column columns[] = {
    SST_COLUMN(struct row, step, SST_U64, SST_GUARD | SST_GROWS),
    SST_COLUMN(struct row, load, SST_F64, 0),
    SST_COLUMN(struct row, ready, SST_BOOL, 0),
    SST_COLUMN(struct row, text, SST_BYTES, 0),
};

int main(void)
{
    struct sst_config config = {};
    config.columns = columns;
    config.column_count = sizeof columns / sizeof columns[0];
    config.row_size = sizeof(struct row);
    return config.column_count == 4 && columns[1].count == 4 ? 0 : 1;
}
"""


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=60, **options)


def sanitized():
    return os.environ.get("SANITIZE", "none") != "none"


class Symbols(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_only_public_names_are_exported(self):
        listing = run("nm", "-D", "--defined-only", os.environ["WEFT_LIBRARY"])
        self.assertEqual(listing.returncode, 0, listing.stderr)
        names = [line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()]
        self.assertIn("ripc_strerror", names)
        strangers = [name for name in names if not PUBLIC.fullmatch(name)]
        self.assertEqual(strangers, [])

    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_everything_that_the_headers_declare_is_exported(self):
        listing = run("nm", "-D", "--defined-only", os.environ["WEFT_LIBRARY"])
        names = {line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()}
        for layer, least in (("ripc", 30), ("sst", 40), ("sst_multicast", 6)):
            text = (ROOT / "include" / "weft" / (layer + ".h")).read_text()
            declared = set(re.findall(rf"^RIPC_API [^(]*?\b({layer}_\w+)\(", text, re.M))
            self.assertGreater(len(declared), least)
            self.assertEqual(declared - names, set())


@unittest.skipUnless(shutil.which("meson"), "meson is not in PATH")
class Install(unittest.TestCase):
    """A program that knows only pkg-config finds, links and uses the library."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.stage = pathlib.Path(cls.folder.name, "stage")
        done = run("meson", "install", "-C", os.environ["BUILD_FOLDER"], "--no-rebuild",
                   "--tags", "devel,runtime", "--destdir", cls.stage)
        if done.returncode:
            raise AssertionError("meson install: " + done.stdout + done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def flags(self, *words):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        folder = next(self.stage.rglob("weft.pc")).parent
        done = run("pkg-config", *words, "weft",
                   env={**os.environ, "PKG_CONFIG_PATH": str(folder),
                        "PKG_CONFIG_SYSROOT_DIR": str(self.stage)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def compile(self, compiler, *flags, name="program.c", text=PROGRAM):
        source = pathlib.Path(self.folder.name, name)
        source.write_text(text)
        return run(*compiler.split(), "-Wall", "-Wextra", "-Werror", source, *flags)

    def test_the_library_has_a_version_and_links_to_it(self):
        library = next(self.stage.rglob("libweft.so"))
        self.assertRegex(library.resolve().name, r"^libweft\.so\.\d+\.\d+\.\d+$")
        dynamic = run("readelf", "-d", library).stdout
        self.assertRegex(dynamic, r"soname: \[libweft\.so\.\d+\]")

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
    def test_nothing_needs_libfabric_to_start(self):
        found = [next(self.stage.rglob(name)) for name in ("libweft.so", "bin/weft", "bin/weftd")]
        for path in found:
            dynamic = run("readelf", "-d", path).stdout
            self.assertIn("[libc.so", dynamic, path)
            self.assertNotIn("fabric", dynamic, path)

    def test_the_version_is_the_one_of_the_program(self):
        weft = next(path for path in self.stage.rglob("bin/weft"))
        self.assertEqual(run(weft, "version").stdout.split()[1], self.flags("--modversion")[0])

    @unittest.skipIf(sanitized(), "a plain program cannot load a sanitized library")
    def test_a_program_is_compiled_linked_and_run(self):
        program = pathlib.Path(self.folder.name, "program")
        done = self.compile(os.environ.get("CC", "cc"), "-o", program,
                            *self.flags("--cflags", "--libs"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        library = next(self.stage.rglob("libweft.so")).parent
        done = run(program, env={**os.environ, "LD_LIBRARY_PATH": str(library),
                                 "WEFT_FOLDER": self.folder.name, "WEFT_DOMAIN": "package"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "hello\n", ""))

    def test_the_programs_in_the_documents_compile(self):
        guide = (ROOT / "docs" / "guide" / "ripc.md").read_text()
        programs = re.findall(r"^```c\n(.*?)^```$", guide, re.S | re.M)
        self.assertEqual(len(programs), 1)
        done = self.compile(os.environ.get("CC", "cc"), "-fsyntax-only", *self.flags("--cflags"),
                            name="guide.c", text=programs[0])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(shutil.which("c++"), "no C++ compiler is installed")
    def test_cplusplus_reads_the_headers(self):
        for text in (PROGRAM, TABLE):
            for standard in ("c++11", "c++17", "c++20"):
                with self.subTest(standard):
                    done = self.compile("c++", "-fsyntax-only", "-std=" + standard, "-Wpedantic",
                                        *self.flags("--cflags"), name="program.cpp", text=text)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_c_reads_the_headers_alone_and_in_any_order(self):
        texts = [f"#include <weft/{one}.h>\n#include <weft/{other}.h>\n"
                 for one in HEADERS for other in HEADERS]
        for text in [TABLE.replace("= {}", "= {0}"), *texts]:
            for standard in ("gnu99", "c11", "c17"):
                with self.subTest(text.splitlines()[0] + standard):
                    done = self.compile(os.environ.get("CC", "cc"), "-fsyntax-only", "-Wpedantic",
                                        "-std=" + standard, *self.flags("--cflags"), name="table.c",
                                        text=text + "extern int nothing;\n")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


main()
