"""The exit code of every command: 0 yes, 1 no, 2 a wrong request or input that cannot be read, 130
after Ctrl-C. ROWS has a row for each command of `weft help --json`; a command without one fails."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

PATIENCE = 60  # seconds; nothing takes that long
PARTS = "a b\nc d\n"  # a network in two parts
MISWIRED = "0,0,3,1\n1,0,2,1\n2,0,1,1\n3,0,0,1\n"  # reports of torus:4 with two cables exchanged
NONE = "/no/such/file"


class Ask:
    """Arguments of a command, its standard input, and further environment variables."""

    def __init__(self, *words, stdin="", **env):
        self.words, self.stdin, self.env = words, stdin, env


WAITS = Ask("-")  # for standard input, which stays open
ECMP = ("--algorithm", "ecmp")


class Row:
    """Requests for each exit code. yes: the command succeeds, or its answer is yes. no: its answer is
    no. wrong: its input is unreadable or does not exist. long: it runs until Ctrl-C. None: the
    command has no such request."""

    def __init__(self, yes, no, wrong, long):
        self.yes, self.no, self.wrong, self.long = yes, no, wrong, long


# In a cluster torus:4 with a store whose servers 2 and 3 are dead, with service 42 and table 7.
ROWS = {
    "up": Row(None, Ask("torus:2"), [Ask(NONE), Ask("torus:2", "--service", NONE),
                                     Ask("torus:2", "--set", "ping.memory=x"), Ask("torus:2", "--config", NONE),
                                     Ask("torus:2", "--dir", "other", WEFTD=NONE)],
              Ask("torus:2", "--dir", "other", WEFTD="weftd-sleeps")),
    "down": Row(None, None, [Ask("--dir", NONE)], None),
    "status": Row(None, Ask(), [Ask("--dir", NONE)], Ask("--wait", "600")),
    "nodes": Row(Ask(), None, [Ask("--dir", NONE)], None),
    "top": Row(Ask("--count", "1"), None, [Ask("--dir", NONE)], Ask("--count", "100000")),
    "where": Row(Ask("key"), None, [Ask("key", "--dir", NONE), Ask("0xnonsense")], None),
    "ping": Row(Ask("1", "--count", "1"), Ask("2"), [Ask("1", "--dir", NONE), Ask("99")],
                Ask("1", "--interval", "50")),
    "bench": Row(Ask("--seconds", "0.2"), Ask("--from", "2"), [Ask("--dir", NONE), Ask("--from", "99")],
                 Ask("--seconds", "600")),
    "kill": Row(None, Ask("2"), [Ask("0", "--dir", NONE), Ask("99")], None),
    "revive": Row(None, Ask("0"), [Ask("2", "--dir", NONE), Ask("99"), Ask("2", WEFTD=NONE)],
                  Ask("2", WEFTD="weftd-sleeps")),
    "cut": Row(None, Ask("2", "3"), [Ask("0", "1", "--dir", NONE), Ask("0", "99")], None),
    "heal": Row(Ask("0", "1"), Ask("2", "3"), [Ask("0", "1", "--dir", NONE), Ask("0", "99")], None),
    "topo build": Row(Ask("torus:3"), None, [Ask(NONE), Ask("-", stdin="{"), Ask("tours:3"),
                                             Ask("torus:3", "--out", "x.xyz")], WAITS),
    "topo export": Row(Ask("torus:3", "--format", "dot"), None,
                       [Ask(NONE, "--format", "dot"), Ask("torus:3", "--out", "x.xyz")],
                       Ask("-", "--format", "dot")),
    "topo show": Row(Ask("torus:3", "2"), None, [Ask(NONE), Ask("torus:3", "3")], WAITS),
    "topo measure": Row(Ask("torus:3"),
                        Ask("jellyfish:n=6,degree=3", "--throughput", "permutation", "--gap", "1e-12"),
                        [Ask(NONE), Ask("torus:3", "--throughput", NONE), Ask("torus:3", "--fail-nodes", "1")],
                        Ask("torus:60x60x60", "--connectivity")),
    "topo draw": Row(Ask("torus:3"), None, [Ask(NONE), Ask("torus:3", "--out", "x.xyz")], WAITS),
    "topo grow": Row(Ask("torus:4x4", "--add", "1"), None,
                     [Ask(NONE, "--add", "1"), Ask("torus:4x4", "--add", "1", "--out", "x.xyz")],
                     Ask("-", "--add", "1")),
    "topo diff": Row(Ask("torus:3", "torus:4"), None, [Ask(NONE, "torus:3"), Ask("torus:3", NONE)],
                     Ask("torus:3", "-")),
    "topo cable": Row(Ask("torus:3"), None, [Ask(NONE), Ask("torus:3", "--cost", NONE),
                                             Ask("torus:3", "--out", "x.xyz")], WAITS),
    "topo check": Row(None, Ask("torus:4", "-", stdin=MISWIRED),
                      [Ask("torus:4", NONE), Ask(NONE, "-"), Ask("torus:4", "-", stdin="[{]")],
                      Ask("torus:4", "-")),
    "route list": Row(Ask(), None, [], None),
    "route path": Row(Ask("torus:4", "0", "2", *ECMP), Ask("-", "a", "c", *ECMP, stdin=PARTS),
                      [Ask(NONE, "0", "1", *ECMP), Ask("torus:4", "0", "9", *ECMP)],
                      Ask("-", "0", "1", *ECMP)),
    "route load": Row(Ask("torus:4", *ECMP), Ask("-", *ECMP, stdin=PARTS),
                      [Ask(NONE, *ECMP), Ask("torus:4", *ECMP, "--traffic", NONE)], Ask("-", *ECMP)),
    "route worst": Row(Ask("torus:4", *ECMP), Ask("-", *ECMP, stdin=PARTS), [Ask(NONE, *ECMP)],
                       Ask("-", *ECMP)),
    "route deadlock": Row(Ask("torus:4x4", "--algorithm", "dor"),
                          Ask("torus:4x4", "--algorithm", "dor", "--lanes", "none"),
                          [Ask(NONE, *ECMP), Ask("torus:4", "--algorithm", "door")], Ask("-", *ECMP)),
    "route rules": Row(Ask("torus:3x3", "--check", "tables", "--ways", "2"),
                       Ask("torus:3x3", "--check", "tables", "--ways", "4"),
                       [Ask(NONE), Ask("torus:3", "--check", NONE), Ask("torus:3x3", "--out", "x.xyz"),
                        Ask("torus:3x3", "--check", "-", stdin="nonsense\n")], WAITS),
    "service list": Row(Ask(), None, [Ask(NONE)], None),
    "service show": Row(Ask("ping"), None, [Ask(NONE), Ask("./none.so")], None),
    "put": Row(Ask("k", "v"), Ask("none", "v", "--if-present"),
               [Ask("k", "v", "--dir", NONE), Ask("k", "--file", NONE), Ask("k", "v", "--append", "--prepend"),
                Ask("k" * 251, "v")], WAITS),
    "get": Row(Ask("k"), Ask("none"), [Ask("k", "--dir", NONE), Ask("k", "--from", "99")], None),
    "del": Row(Ask("k"), Ask("none"), [Ask("k", "--dir", NONE), Ask("k", "l", "--if-version", "1")], None),
    "cas": Row(Ask("c", "0", "v"), Ask("none", "5", "v"), [Ask("c", "0", "v", "--dir", NONE), Ask("c", "x", "v")],
               Ask("c", "0")),
    "touch": Row(Ask("c", "--ttl", "1h"), Ask("none"), [Ask("c", "--dir", NONE), Ask("c", "--ttl", "soon")], None),
    "incr": Row(Ask("n", "--initial", "1"), Ask("none"), [Ask("n", "--dir", NONE), Ask("n", "x")], None),
    "ls": Row(Ask("c"), None, [Ask("--dir", NONE), Ask("--limit", "0"), Ask("k" * 251)], None),
    "stat": Row(Ask("c"), Ask("none"), [Ask("c", "--dir", NONE)], None),
    "store bench": Row(Ask("C", "--keys", "3", "--seconds", "0.1"), None,
                       [Ask("G"), Ask("A", "--dir", NONE), Ask("A", "--from", "99"), Ask("E", "--at-once", "2")],
                       Ask("A", "--keys", "3", "--seconds", "600")),
    "store scrub": Row(None, Ask(), [Ask("--dir", NONE), Ask("--from", "99")], None),
    "store drain": Row(None, Ask("0"), [Ask("0", "--dir", NONE), Ask("99")], None),
    "store replace": Row(Ask("2"), Ask("0"), [Ask("2", "--dir", NONE), Ask("99")], None),
    "store verify": Row(None, Ask(), [Ask("--dir", NONE)], None),
    "store status": Row(None, Ask(), [Ask("--dir", NONE), Ask("--from", "99")], Ask("--wait", "600")),
    "ripc serve": Row(Ask("1", "--seconds", "0"), Ask("42"), [Ask("1", "--secret-file", NONE)], Ask("1")),
    "ripc ping": Row(Ask("42", "--count", "1"), Ask("41"), [Ask("42", "--secret-file", NONE)],
                     Ask("42", "--interval", "50")),
    "ripc send": Row(Ask("42", "hello"), Ask("41", "hello"),
                     [Ask("42", "--file", NONE), Ask("42", "x", "--secret-file", NONE)],
                     Ask("41", "hello", "--wait", "--timeout", "600000")),
    "ripc recv": Row(Ask("1", "--seconds", "0"), Ask("42"), [Ask("1", "--secret-file", NONE)], Ask("1")),
    "ripc list": Row(Ask(), None, [Ask("--secret-file", NONE), Ask("--names", "file:" + NONE)],
                     Ask("--wait", "60000")),
    "ripc trace": Row(Ask("--seconds", "0"), Ask("41"), [Ask("nonsense")], Ask()),
    "ripc clean": Row(Ask(), None, [Ask("--domain", "a/b")], None),
    "sst demo": Row(Ask("--table", "8", "--members", "1", "--seconds", "0.1"), Ask("--seconds", "1"),
                    [Ask("--secret-file", NONE)], Ask("--table", "8", "--seconds", "600")),
    "sst watch": Row(Ask("7", "--once"), Ask("9"), [Ask("7", "--secret-file", NONE)], Ask("7")),
    "sim chaos": Row(Ask("torus:2", "--faults", "none"), None, [Ask(NONE), Ask("--faults", "los")],
                     Ask("--seeds", "1000000")),
    "sim churn": Row(Ask("torus:3", "--seconds", "0.01"), None, [Ask(NONE)], Ask("--seconds", "3000")),
    "sim run": Row(Ask("torus:3", "--service", "ping", "--seconds", "0.01"), None,
                   [Ask(NONE, "--service", "ping"), Ask("torus:3", "--service", "./none.so")],
                   Ask("torus:3x3x3", "--service", "bench", "--seconds", "500")),
    "paper list": Row(Ask(), None, [], None),
    "paper run": Row(Ask("cam-keyspace", "--quick"), Ask("cam-hops", "--quick"), [Ask("cam-hop")],
                     Ask("cam-fig5c")),
    "paper all": Row(None, None, [Ask("--seed", "x")], Ask()),
    "help": Row(Ask(), None, [Ask("nonsense")], None),
    "completion": Row(Ask("bash"), None, [Ask("csh")], None),
    "version": Row(Ask(), None, [], None),
}


def shell_code(code):
    """The exit code as a shell reports it: 128 plus the number of the signal that killed it."""
    return code if code >= 0 else 128 - code


class ExitCodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        above = tempfile.TemporaryDirectory(prefix="weft-")
        cls.addClassCleanup(above.cleanup)
        cls.folder = pathlib.Path(above.name)
        (cls.folder / "shared").mkdir(mode=0o700)
        sleeper = cls.folder / "weftd-sleeps"
        sleeper.write_text("#!/bin/sh\nexec sleep 20\n")
        sleeper.chmod(0o755)
        cls.env = {"WEFT_DIR": str(cls.folder / "run"), "WEFT_FOLDER": str(cls.folder / "shared"),
                   "WEFT_DOMAIN": "codes", "TMPDIR": above.name}
        cls.commands = weft("help", "--json").json["commands"]
        cls.weft("route", "rules", "torus:3x3", "--ways", "2", "--out", "tables")
        cls.addClassCleanup(cls.weft, "down", "--grace", "0")
        assert cls.weft("up", "torus:4", "--service", "store", "--silence", "30000", "--wait", PATIENCE).code == 0
        for server in ("2", "3"):
            assert cls.weft("kill", server).code == 0
        cls.begin("ripc", "serve", "42")
        cls.begin("sst", "demo", "--seconds", "600")

    @classmethod
    def weft(cls, *words, stdin="", env=None):
        return weft(*words, stdin=stdin, cwd=cls.folder, timeout=PATIENCE, env={**cls.env, **(env or {})})

    @classmethod
    def begin(cls, *words):
        """Starts a command in another shell and waits for its first line; it ends with the tests."""
        shell = subprocess.Popen([os.environ["WEFT"], *words], cwd=cls.folder, text=True,
                                 env={**os.environ, **cls.env}, stdout=subprocess.PIPE)
        cls.addClassCleanup(shell.communicate, timeout=PATIENCE)
        cls.addClassCleanup(shell.send_signal, signal.SIGINT)
        shell.stdout.readline()

    def environment(self, ask):
        """A program is named by its path."""
        return {key: value if value.startswith("/") else str(self.folder / value)
                for key, value in ask.env.items()}

    def ask(self, command, ask, code):
        done = self.weft(*command.split(), *ask.words, stdin=ask.stdin, env=self.environment(ask))
        self.assertEqual(done.code, code, (command, ask.words, done.err))
        return done

    def refused(self, command, ask):
        """Code 2, one line of reason, no result and no file."""
        files = sorted(os.listdir(self.folder))
        done = self.ask(command, ask, 2)
        self.assertEqual(done.out, "", (command, ask.words))
        self.assertRegex(done.err, r"^weft: [^\n]+\n\Z", (command, ask.words))
        self.assertEqual(sorted(os.listdir(self.folder)), files, (command, ask.words))
        return done.err

    def test_every_command_has_a_row(self):
        self.assertEqual(set(ROWS), {command["name"] for command in self.commands})

    def test_misspelt_options_are_wrong_and_get_a_hint(self):
        for command in self.commands:
            for option in command["options"]:
                word = option["name"]
                misspelt = word[:-2] + word[-1] + word[-2]
                if word[-1] == word[-2] or len(word) < 3:
                    continue
                with self.subTest(command=command["name"], option=misspelt):
                    said = self.refused(command["name"], Ask("--" + misspelt))
                    meant = "seeds?" if word == "seeds" else word  # both are equally near
                    self.assertRegex(said, rf"no option --{misspelt} \(did you mean '--{meant}'\?\)")

    def test_missing_and_surplus_arguments_are_wrong(self):
        for command in self.commands:
            words = command["arguments"].split()
            with self.subTest(command["name"]):
                if words and words[0][0] != "[":
                    self.refused(command["name"], Ask())
                if not any("..." in word for word in words):
                    self.refused(command["name"], Ask(*["torus:3"] * (len(words) + 1)))

    def test_unreadable_or_missing_input_is_wrong(self):
        for command, row in ROWS.items():
            for ask in row.wrong:
                with self.subTest(command=command, words=ask.words):
                    self.refused(command, ask)

    def test_yes_is_0(self):
        for command, row in ROWS.items():
            if row.yes:
                with self.subTest(command):
                    self.assertEqual(self.ask(command, row.yes, 0).err, "")

    def test_no_is_1(self):
        for command, row in ROWS.items():
            if row.no:
                with self.subTest(command):
                    done = self.ask(command, row.no, 1)
                    self.assertNotEqual(done.out + done.err, "")

    def test_control_c_is_130(self):
        """As a terminal sends it: to all processes of the command."""
        for command, row in ROWS.items():
            if not row.long:
                continue
            with self.subTest(command):
                run = subprocess.Popen([os.environ["WEFT"], *command.split(), *row.long.words],
                                       cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True,
                                       env={**os.environ, **self.env, **self.environment(row.long)})
                time.sleep(0.5)
                self.assertIsNone(run.poll(), "it ended before")
                os.killpg(run.pid, signal.SIGINT)
                self.assertEqual(shell_code(run.wait(timeout=PATIENCE)), 130)
                run.stdin.close()

    def test_sigterm_is_143(self):
        run = subprocess.Popen([os.environ["WEFT"], "ripc", "recv", "1"], stdout=subprocess.DEVNULL,
                               env={**os.environ, **self.env})
        time.sleep(0.3)
        run.terminate()
        self.assertEqual(shell_code(run.wait(timeout=PATIENCE)), 143)


main()
