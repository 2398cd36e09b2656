"""`make install` puts weft where a bare Debian finds it, `make uninstall` removes all of it, and the
library exports public names only.

The tests install as root with the default prefix, in a mount namespace of their own: /usr/local is
empty there but for Debian's folders, and /etc, with the loader's list of libraries, is a copy. Every
command then runs without our environment, so that no variable can hide a file in the wrong place.
tools/clean_room tries the same in a new Debian."""

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
HEADERS = ("ripc", "sst", "sst_multicast", "weft", "service", "simulation")
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

SERVICE = """
#include <weft/service.h>

struct store {
    bool exact;
    int64_t copies, wait;
    uint64_t table;
    const char *label;
    uint32_t mode;
};
static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct store, exact, BOOL), "no", 0, 0, 0, "count exactly", 0},
    {WEFT_PARAMETER(struct store, copies, INTEGER), "3", "1", "9", 0, "copies of each item", 0},
    {WEFT_PARAMETER(struct store, wait, DURATION), "250ms", 0, 0, 0, "how long to wait", 0},
    {WEFT_PARAMETER(struct store, table, SIZE), "64K", 0, 0, 0, "size of the table", 0},
    {WEFT_PARAMETER(struct store, label, TEXT), "", 0, 0, 0, "a name for people", 0},
    {WEFT_PARAMETER(struct store, mode, CHOICE), "safe", 0, 0, "fast|safe", "what to risk", 0},
};

int main(void)
{
    return parameters[1].offset == offsetof(struct store, copies) ? 0 : 1;
}
"""

PYTHON_ASKS = """
from weft import program
with program.Attachment("cluster", 8) as attachment:
    answer = attachment.ask("echo", bytes((0, 0, 0, 3)) + b"hello", timeout=20)
    print(attachment.state.server, answer[4:].decode())
"""

ECHO = """
from weft import ripc
with ripc.Context() as context, context.bind() as service:
    service.send(service.id, b"hello", timeout=5)
    print(service.receive(timeout=5).data.decode())
"""

# The folders of /usr/local on a new Debian, and the environment of a login shell.
FOLDERS = ("bin", "etc", "games", "include", "sbin", "share/man", "src",
           f"lib/python3.{sys.version_info.minor}/dist-packages")
LOGIN = {"HOME": "/root", "LANG": "C.UTF-8",
         "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=60, **options)


def sanitized():
    return os.environ.get("SANITIZE", "none") != "none"


def room_make(folder):
    """Hides /usr/local, /etc and /dev/shm of the machine in this mount namespace."""
    def mount(*words):
        subprocess.run(["mount", *words], check=True)
    mount("-t", "tmpfs", "tmpfs", folder)
    copy = pathlib.Path(folder, "etc")
    subprocess.run(["cp", "-a", "/etc", copy], stderr=subprocess.DEVNULL)  # some files only root can read
    mount("--bind", str(copy), "/etc")
    for path in ("/usr/local", "/dev/shm", "/var/cache/ldconfig"):
        if os.path.isdir(path):
            mount("-t", "tmpfs", "tmpfs", path)
    for name in FOLDERS:
        pathlib.Path("/usr/local", name).mkdir(parents=True)
    pathlib.Path("/usr/local/man").symlink_to("share/man")
    subprocess.run(["ldconfig"], env=LOGIN, check=True)


def room_enter():
    """Runs this file again in a mount namespace, where WEFT_ROOM is a folder for its files. Returns the
    reason if the system permits no namespace."""
    if "WEFT_ROOM" in os.environ:
        room_make(os.environ["WEFT_ROOM"])
        return None
    unshare = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    tried = run(*unshare, "mount", "-t", "tmpfs", "tmpfs", "/usr/local")
    if tried.returncode:
        return "no mount namespace: " + tried.stderr.strip()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WEFT_ROOM": folder}
        sys.exit(subprocess.run([*unshare, sys.executable, *sys.argv], env=environment).returncode)


def refusal():
    """Returns why nothing can be installed here, or None."""
    if not shutil.which("meson"):
        return "meson is not in PATH"
    if os.environ["PREFIX"] != "/usr/local":
        return "the build folder is for the prefix " + os.environ["PREFIX"]
    return room_enter()


def tool(word, **environment):
    """Does the same as `make install` or `make uninstall`, but builds nothing."""
    words = ["/usr/bin/python3", ROOT / "tools" / "install.py", word, os.environ["BUILD_FOLDER"]]
    return run(*words, env={**LOGIN, "PATH": os.environ["PATH"], **environment})


def success(word, **environment):
    """Runs the tool, which must succeed and print no error. Returns what it printed."""
    done = tool(word, **environment)
    if done.returncode or done.stderr:
        raise AssertionError(f"{word}: {done.stdout}{done.stderr}")
    return done.stdout


def contents():
    """Returns all paths where an installation may change files, and the loader's list of libraries."""
    listed = run("find", "/usr/local", "/etc", "/var/cache/ldconfig", "-not", "-type", "s").stdout
    return set(listed.splitlines()) | set(run("ldconfig", "-p", env=LOGIN).stdout.splitlines())


class Symbols(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_only_public_names_are_exported(self):
        listing = run("nm", "-D", "--defined-only", os.environ["WEFT_LIBRARY"])
        self.assertEqual(listing.returncode, 0, listing.stderr)
        names = [line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()]
        names = [name for name in names if not name.startswith("__odr_asan.")]  # of AddressSanitizer
        self.assertIn("ripc_strerror", names)
        strangers = [name for name in names if not PUBLIC.fullmatch(name)]
        self.assertEqual(strangers, [])

    @unittest.skipUnless(shutil.which("nm"), "nm is not installed")
    def test_all_functions_of_the_headers_are_exported(self):
        listing = run("nm", "-D", "--defined-only", os.environ["WEFT_LIBRARY"])
        names = {line.split()[-1].split("@")[0] for line in listing.stdout.splitlines()}
        for layer, least in (("ripc", 30), ("sst", 40), ("sst_multicast", 6), ("weft", 10)):
            text = (ROOT / "include" / "weft" / (layer + ".h")).read_text()
            declared = set(re.findall(rf"^(?:RIPC|WEFT_PROGRAM)_API [^(]*?\b({layer}_\w+)\(", text, re.M))
            self.assertGreater(len(declared), least)
            self.assertEqual(declared - names, set())


class Install(unittest.TestCase):
    """After `make install` a new user can use everything, with nothing set by hand."""

    @classmethod
    def setUpClass(cls):
        if not REFUSAL:
            cls.folder = pathlib.Path(os.environ["WEFT_ROOM"], "user")
            cls.folder.mkdir()
            cls.said = success("install")

    @classmethod
    def tearDownClass(cls):
        if not REFUSAL:
            success("uninstall")

    def setUp(self):
        if REFUSAL:
            self.skipTest(REFUSAL)

    def user(self, *words):
        """Runs a command as a new user does: in another folder, with the environment of a login."""
        return run(*words, env=LOGIN, cwd=self.folder)

    def flags(self, *words):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        done = self.user("pkg-config", *words, "weft")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def compile(self, compiler, *flags, name="program.c", text=PROGRAM):
        source = pathlib.Path(self.folder, name)
        source.write_text(text)
        return self.user(*compiler.split(), "-Wall", "-Wextra", "-Werror", source, *flags)

    def compile_and_run(self, text):
        done = self.compile("cc", "-o", "program", *self.flags("--cflags", "--libs"), text=text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.user("./program")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_no_variable_has_to_be_set(self):
        self.assertEqual(self.said, "weft: installed into /usr/local; 'make uninstall' removes it\n")

    def test_the_library_has_a_version_and_symbolic_links(self):
        library = next(pathlib.Path("/usr/local").rglob("libweft.so"))
        self.assertRegex(library.resolve().name, r"^libweft\.so\.\d+\.\d+\.\d+$")
        dynamic = run("readelf", "-d", library).stdout
        self.assertRegex(dynamic, r"soname: \[libweft\.so\.\d+\]")

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
    def test_nothing_needs_libfabric_to_start(self):
        found = [next(pathlib.Path("/usr/local").rglob(name))
                 for name in ("libweft.so", "bin/weft", "bin/weftd")]
        for path in found:
            dynamic = run("readelf", "-d", path).stdout
            self.assertIn("[libc.so", dynamic, path)
            self.assertNotIn("fabric", dynamic, path)

    def test_pkg_config_and_the_program_have_the_same_version(self):
        self.assertEqual(self.user("weft", "version").stdout.split()[1],
                         self.flags("--modversion")[0])

    @unittest.skipIf(sanitized(), "a plain program cannot load a sanitized library")
    def test_a_program_is_compiled_linked_and_run(self):
        self.assertEqual(self.compile_and_run(PROGRAM), "hello\n")

    @unittest.skipIf(sanitized(), "a plain program cannot load a sanitized library")
    def test_an_example_is_compiled_linked_and_run(self):
        text = (ROOT / "examples" / "request_reply.c").read_text()
        self.assertIn("request 2: status 0, sum 44\n", self.compile_and_run(text))

    @unittest.skipIf(sanitized(), "a plain program cannot load a sanitized library")
    def test_a_program_uses_a_service_of_a_cluster(self):
        """A service and two programs, in C and in Python, are made from the installed files alone."""
        for name in ("echo.c", "ask.c"):
            shutil.copy(ROOT / "examples" / name, self.folder)
        done = self.user("cc", "-shared", "-fPIC", "-o", "echo.so", "echo.c", *self.flags("--cflags"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.user("cc", "-o", "ask", "ask.c", *self.flags("--cflags", "--libs"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        try:
            done = self.user("weft", "up", "torus:3x3", "--service", "./echo.so", "--dir", "cluster")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            asked = run("./ask", env={**LOGIN, "WEFT_DIR": "cluster"}, cwd=self.folder)
            self.assertEqual((asked.returncode, asked.stderr), (0, ""))
            self.assertEqual(asked.stdout.splitlines(), [
                "attached to server 0", "asked: hello", "answered: servers whose numbers sum to 36",
                "in a loop: 9 answers"])
            done = self.user("python3", "-c", PYTHON_ASKS)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "8 hello\n", ""))
        finally:
            self.user("weft", "down", "--dir", "cluster")

    @unittest.skipIf(sanitized(), "Python cannot load a sanitized library")
    def test_python_finds_the_package_and_the_library(self):
        done = self.user("python3", "-c", ECHO)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "hello\n", ""))

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_finds_the_pages(self):
        for page in ("weft", "weft-topo", "weft-names", "weft-attach", "weft-ripc", "weft-topology",
                     "weft-service", "weft-config", "weftd"):
            done = self.user("man", "-w", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(done.stdout.startswith("/usr/local/"), done.stdout)

    @unittest.skipUnless(os.path.exists("/usr/share/bash-completion/bash_completion"),
                         "bash-completion is not installed")
    def test_bash_finds_the_completion(self):
        done = self.user("bash", "-c", "source /usr/share/bash-completion/bash_completion; "
                         "_completion_loader weft; complete -p weft")
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("c++"), "no C++ compiler is installed")
    def test_cplusplus_reads_the_headers(self):
        for text in (PROGRAM, TABLE, SERVICE):
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


class Uninstall(unittest.TestCase):
    """`make uninstall` removes what `make install` has made, and nothing else."""

    def setUp(self):
        if REFUSAL:
            self.skipTest(REFUSAL)
        self.before = contents()

    def tearDown(self):
        tool("uninstall")

    def test_nothing_is_left(self):
        success("install")
        self.assertIn("/usr/local/bin/weft", contents())
        self.assertTrue(any("libweft.so" in line and "=>" in line for line in contents()))
        success("install")  # this one makes no folders, and must not forget those of the first
        if not sanitized():
            run("python3", "-c", "import weft.sst", env=LOGIN)  # as root: it stores bytecode
            self.assertTrue(any("__pycache__" in path for path in contents()))
        success("uninstall")
        self.assertEqual(contents(), self.before)

    def test_foreign_files_in_our_folders_stay(self):
        success("install")
        foreign = pathlib.Path("/usr/local/include/weft/foreign.h")
        foreign.write_text("")
        success("uninstall")
        self.assertEqual(contents() - self.before, {str(foreign), str(foreign.parent)})
        foreign.unlink()
        foreign.parent.rmdir()

    def test_a_second_uninstall_finds_nothing_to_remove(self):
        success("install")
        success("uninstall")
        self.assertRegex(success("uninstall"), r"^weft: nothing to remove: .*installed\.txt\n$")

    def test_an_installation_with_destdir_is_separate(self):
        stage = pathlib.Path(os.environ["WEFT_ROOM"], "stage")
        success("install", DESTDIR=str(stage))
        self.assertTrue((stage / "usr/local/bin/weft").exists())
        self.assertEqual(contents(), self.before)
        success("install")
        success("uninstall", DESTDIR=str(stage))
        self.assertFalse(stage.exists())
        self.assertIn("/usr/local/bin/weft", contents())
        success("uninstall")
        self.assertEqual(contents(), self.before)

    def test_without_permission_one_line_says_what_to_do(self):
        success("install")
        subprocess.run(["mount", "-o", "remount,ro", "/usr/local"], check=True)
        try:
            installed, uninstalled = tool("install"), tool("uninstall")
        finally:
            subprocess.run(["mount", "-o", "remount,rw", "/usr/local"], check=True)
        self.assertEqual((installed.returncode, installed.stdout), (1, ""))
        self.assertRegex(installed.stderr, r"^weft: no permission to write /usr/local.*: "
                         r"run 'make install' as root, or .*-Dprefix=.*\n$")
        self.assertEqual((uninstalled.returncode, uninstalled.stdout), (1, ""))
        self.assertRegex(uninstalled.stderr, r"^weft: no permission .*'make uninstall' as root\n$")
        self.assertIn("/usr/local/bin/weft", contents())


class Folders(unittest.TestCase):
    def folder(self, prefix):
        done = run("/usr/bin/python3", ROOT / "tools" / "install.py", "python-folder", prefix,
                   env={**LOGIN, "HOME": "/home/user"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.strip()

    @unittest.skipUnless(os.path.exists("/etc/debian_version"), "these are Debian's folders")
    def test_python_packages_go_where_python_looks(self):
        version = f"python3.{sys.version_info.minor}"
        self.assertEqual(self.folder("/usr"), "/usr/lib/python3/dist-packages")
        self.assertEqual(self.folder("/usr/local"), f"/usr/local/lib/{version}/dist-packages")
        self.assertEqual(self.folder("/home/user/.local"),
                         f"/home/user/.local/lib/{version}/site-packages")
        self.assertEqual(self.folder("/opt/weft"), "")


REFUSAL = refusal()
main()
