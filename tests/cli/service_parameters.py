"""Parameters of services as an outsider uses them: a plug-in declares one of each type, and operators set
them on the command line and in a file. Wrong ones are refused by name before any process starts."""

import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.path[0] + "/..")
from cluster_shell import PATIENCE, ClusterCase
from plugin_shell import plugin
from tap import main, weft

# Answers every request with its parameters as start() found them.
TYPED = r"""
#include <stdio.h>
#include <string.h>
#include <weft/service.h>

struct typed {
    bool exact;
    int64_t copies;
    uint64_t table;
    int64_t wait;
    const char *label;
    uint32_t mode;
    char seen[600];
};

static int start(struct weft_self *self)
{
    struct typed *typed = weft_memory(self);
    snprintf(typed->seen, sizeof typed->seen, "%d %lld %llu %lld [%s] %u", typed->exact, (long long)typed->copies,
             (unsigned long long)typed->table, (long long)typed->wait, typed->label, typed->mode);
    return 0;
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes, uint32_t size)
{
    struct typed *typed = weft_memory(self);
    weft_answer(self, client, ticket, typed->seen, (uint32_t)strlen(typed->seen));
}

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct typed, exact, BOOL), .value = "no", .help = "count exactly"},
    {WEFT_PARAMETER(struct typed, copies, INTEGER), .value = "3", .minimum = "-1", .maximum = "9", .help = "copies"},
    {WEFT_PARAMETER(struct typed, table, SIZE), .value = "64K", .minimum = "4K", .help = "size of the table"},
    {WEFT_PARAMETER(struct typed, wait, DURATION), .value = "250us", .maximum = "1h", .help = "how long to wait"},
    {WEFT_PARAMETER(struct typed, label, TEXT), .value = "plain", .maximum = "40", .help = "a name for people"},
    {WEFT_PARAMETER(struct typed, mode, CHOICE), .value = "safe", .choices = "fast|safe|none", .help = "what to risk"},
    {0},
};

static const struct weft_service_ops ops = {.start = start, .request = request};
WEFT_API const struct weft_service weft_service = {.version = WEFT_SERVICE_VERSION, .name = "typed", .id = 300,
                                                   .size = sizeof(struct typed), .ops = &ops, .parameters = parameters};
"""

# A table that a test makes wrong.
WRONG = """
#include <weft/service.h>

struct wrong { int64_t one; };
static const struct weft_parameter parameters[] = {ENTRY, {0}};
static const struct weft_service_ops ops = {.start = 0};
WEFT_API const struct weft_service weft_service = {.version = WEFT_SERVICE_VERSION, .name = "wrong", .id = 301,
                                                   .size = sizeof(struct wrong), .ops = &ops, .parameters = parameters};
"""

DEFAULTS = {"exact": False, "copies": 3, "table": 65536, "wait": 0.00025, "label": "plain", "mode": "safe",
            "memory": 256 << 20}


class Parameters(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="weft-")
        cls.addClassCleanup(cls.place.cleanup)
        cls.typed = plugin(cls.place.name, "typed", TYPED)

    def ask(self, server):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as talk:
            talk.settimeout(PATIENCE)
            talk.connect(str(self.folder / f"node-{server}.socket"))
            talk.send(struct.pack(">HHII", 0xFFFF, 2, 0, 0))  # the hello
            talk.recv(100)
            talk.send(struct.pack(">HHQ", 300, 0, 1))
            return talk.recv(1000)[12:].decode()

    def in_effect(self):
        """The values that the live servers report, by server."""
        return {node["id"]: node["parameters"]["typed"] for node in self.good("nodes", "--json").json["nodes"]
                if node["state"] != "dead"}

    def config(self, text):
        path = pathlib.Path(self.above.name) / "my.conf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def test_the_defaults_are_in_effect(self):
        self.up("torus:2", "--service", self.typed)
        self.assertEqual(self.ask(0), "0 3 65536 250000 [plain] 1")
        self.assertEqual(self.in_effect(), {0: DEFAULTS, 1: DEFAULTS})
        self.assertEqual(self.status()["settings"], [])
        self.down()

    def test_values_of_each_type_survive_a_restart_and_the_command_line_wins(self):
        config = self.config("# a comment\n\ntyped.copies = 5\n  typed.label =  two words # and a sign \r\n"
                             "typed.wait=3s\ntyped.mode = none\ndirectory.lease=5s\n")
        self.up("torus:2", "--service", self.typed, "--set", "typed.exact=yes", "--set", "typed.wait=2s",
                "--config", config, "--set", "typed.table=2M", "--set", "typed.copies=-1", "--set", "typed.wait=1500ms")
        seen = "1 -1 2097152 1500000000 [two words # and a sign] 2"
        values = {"exact": True, "copies": -1, "table": 2 << 20, "wait": 1.5, "label": "two words # and a sign",
                  "mode": "none", "memory": 256 << 20}
        self.assertEqual([self.ask(server) for server in (0, 1)], [seen, seen])
        self.assertEqual(self.in_effect(), {0: values, 1: values})
        self.assertEqual(self.good("nodes", "--json").json["nodes"][0]["parameters"]["directory"]["lease"], 5)
        self.assertEqual(set(self.status()["settings"]), {
            "typed.label=two words # and a sign", "typed.mode=none", "directory.lease=5s", "typed.exact=yes",
            "typed.table=2M", "typed.copies=-1", "typed.wait=1500ms"})
        self.assertIn("typed.copies=-1", self.good("status").out)
        self.good("kill", "1")
        config.unlink()  # its values are those of the cluster by now
        self.pids.add(self.good("revive", "1", "--wait", PATIENCE, "--json").json["pid"])
        self.assertEqual(self.ask(1), seen)
        self.assertEqual(self.in_effect(), {0: values, 1: values})
        self.down()

    def test_servers_of_one_process_have_the_same_values(self):
        self.up("torus:3", "--processes", 1, "--service", self.typed, "--set", "typed.label=a.b=c")
        self.assertEqual({self.ask(server) for server in range(3)}, {"0 3 65536 250000 [a.b=c] 1"})
        self.down()

    def nothing_starts(self, *words, says):
        """`up` with these words is refused, and weftd is never run."""
        mark = pathlib.Path(self.above.name) / "ran"
        fake = pathlib.Path(self.above.name) / "weftd"
        fake.write_text(f"#!/bin/sh\ntouch {mark}\n")
        fake.chmod(0o755)
        said = self.refused("up", "torus:2", "--service", self.typed, *words, code=2, says=says,
                            env={"WEFTD": str(fake)})
        self.assertFalse(mark.exists() or self.folder.exists(), said)

    def test_wrong_settings_are_refused_before_anything_starts(self):
        for word, says in (
                ("tpyed.copies=3", r"no service 'tpyed' \(did you mean 'typed'\?\); there are control, ping, .*typed"),
                ("typed.copis=3", r"service typed has no parameter 'copis' \(did you mean 'copies'\?\)"),
                ("ping.copies=3", r"service ping has no parameter 'copies'"),
                ("typed.copies=three", r"typed\.copies: 'three' is not a whole number"),
                ("typed.copies=10", r"typed\.copies: '10' is above the maximum, 9"),
                ("typed.copies=-2", r"typed\.copies: '-2' is below the minimum, -1"),
                ("typed.copies=", r"typed\.copies: '' is not a whole number"),
                ("typed.exact=maybe", r"'maybe' is neither true nor false"),
                ("typed.table=1K", r"'1K' is below the minimum, 4K"),
                ("typed.table=64KB", r"'64KB' is not a size such as 4096, 64K, 20M or 2G"),
                ("typed.table=99999999999G", r"99999999999G is too large"),
                ("typed.wait=3", r"'3' is not a duration such as 250us, 10ms, 3s or 5min"),
                ("typed.wait=2h", r"'2h' is above the maximum, 1h"),
                ("typed.label=" + "x" * 41, r"is above the maximum of its length in bytes, 40"),
                ("typed.label=a\tb\nc", r"characters that cannot be printed"),
                ("typed.label=" + "x" * 300, r"longer than 255 bytes"),
                ("typed.mode=fats", r"'fats' is none of fast\|safe\|none \(did you mean 'fast'\?\)"),
                ("typed.memory=lots", r"typed\.memory: 'lots' is not a size"),
                ("directory.lease=1s", r"directory\.lease: '1s' is below the minimum, 2500ms"),
                ("nonsense", r"expected SERVICE\.NAME=VALUE"), ("", r"expected SERVICE\.NAME=VALUE"),
                ("typed=3", r"expected SERVICE\.NAME=VALUE"), (".copies=3", r"expected SERVICE\.NAME=VALUE")):
            with self.subTest(word):
                self.nothing_starts("--set", word, says=r"^weft: --set " + re.escape(word.split("\t")[0])[:80] + ".*" +
                                    says)

    def test_wrong_files_are_refused_with_the_number_of_the_line(self):
        for text, says in (
                ("\n# x\ntyped.copis=3\n", r"my\.conf: line 3: service typed has no parameter 'copis' \(did you mean"),
                ("typed.copies=1\nnonsense\n", r"my\.conf: line 2: expected SERVICE\.NAME=VALUE"),
                ("typed.copies=1\ntyped.copies=2\n", r"line 2: typed\.copies is set already: .*my\.conf: line 1"),
                ("typed.wait = 3 s\n", r"my\.conf: line 1: typed\.wait: '3 s' is not a duration"),
                (b"typed.label=a\0b\n", r"line 1: the line has a zero byte"),
                (b"typed.label=\xff\n", r"line 1: typed\.label: the value has characters that cannot be printed"),
                ("typed.label=" + "x" * 2000, r"line 1: the line is too long"),
                ("#" * (1 << 20), r"too large for a configuration file")):
            with self.subTest(text[:40]):
                self.nothing_starts("--config", self.config(text), says=says)
        self.nothing_starts("--config", self.above.name + "/none", says="No such file or directory")
        self.nothing_starts("--config", self.above.name, says="Is a directory")

    def test_weftd_takes_the_same_options(self):
        self.up("torus:2", "--service", self.typed, "--set", "typed.copies=4", "--set", "typed.wait=4s")
        self.good("kill", "1")
        words = [pathlib.Path(os.environ["WEFT"]).with_name("weftd"), "--dir", self.folder, "--node", "1"]
        config = self.config("typed.copies=6\ntyped.table=8K\n")
        for wrong, says in ((["--set", "typed.copies=x"], "weftd: --set typed.copies=x: typed.copies: 'x' is not"),
                            (["--set", "tpyed.copies=1"], "no service 'tpyed' (did you mean 'typed'?)"),
                            (["--config", self.above.name + "/none"], "No such file"),
                            (["--set", "x"], "expected SERVICE.NAME=VALUE")):
            done = subprocess.run(words + wrong, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(says, done.stderr)
        with open(pathlib.Path(self.above.name) / "log", "w") as log:
            server = subprocess.Popen(words + ["--set", "typed.copies=7", "--config", config], stderr=log)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.well()
        self.assertEqual(self.ask(1), "0 7 8192 4000000000 [plain] 1")
        self.assertEqual(self.ask(0), "0 4 65536 4000000000 [plain] 1")
        self.good("down", "--json")
        server.wait(PATIENCE)

    def test_a_damaged_setting_in_the_run_directory_is_refused(self):
        self.up("torus:2", "--service", self.typed, "--set", "typed.copies=4")
        self.good("kill", "1")
        path = self.folder / "cluster.json"
        whole = path.read_text()
        path.write_text(whole.replace("typed.copies=4", "typed.copies=44"))
        self.refused("revive", "1", says=r"cluster\.json: typed\.copies: '44' is above the maximum, 9")
        path.write_text(whole.replace("typed.copies=4", "typed"))
        self.refused("revive", "1", code=2, says=r"cluster\.json: line \d+: settings: .*expected SERVICE")
        path.write_text(whole)
        self.down()

    def test_show_and_list_describe_the_parameters(self):
        found = weft("service", "show", self.typed, "--json")
        self.assertEqual((found.code, found.err), (0, ""))
        rows = {row["name"]: row for row in found.json["parameters"]}
        self.assertEqual({name: row["default"] for name, row in rows.items()}, DEFAULTS)
        self.assertEqual([rows[name]["type"] for name in rows],
                         ["bool", "integer", "size", "duration", "text", "choice", "size"])
        self.assertEqual((rows["copies"]["minimum"], rows["copies"]["maximum"]), (-1, 9))
        self.assertEqual((rows["table"]["minimum"], rows["table"]["maximum"]), (4096, None))
        self.assertEqual((rows["wait"]["maximum"], rows["label"]["maximum"]), (3600, 40))
        self.assertEqual(rows["mode"]["choices"], ["fast", "safe", "none"])
        self.assertEqual(rows["exact"]["help"], "count exactly")
        text = weft("service", "show", self.typed).out
        self.assertRegex(text, r"\ncopies +integer +3 +-1 to 9 +copies\n")
        self.assertRegex(text, r"\nmode +choice +safe +fast, safe, none +what to risk\n")
        listed = weft("service", "list", self.typed, "--json").json["services"]
        self.assertEqual([row["name"] for row in listed], ["control", "ping", "bench", "directory", "ripc", "store", "typed"])
        self.assertEqual([row["name"] for row in listed if row["optional"]], ["store"])
        self.assertTrue(all("memory" in [one["name"] for one in row["parameters"]] for row in listed))
        self.assertRegex(weft("service", "list").out, r"\ndirectory +4  lease, names, claims_held, memory\n")
        wrong = weft("service", "show", "pnig")
        self.assertEqual((wrong.code, wrong.out), (2, ""))
        self.assertIn("pnig: no such service (did you mean 'ping'?)", wrong.err)

    def test_the_simulator_takes_them(self):
        words = ["sim", "run", "torus:3", "--service", self.typed, "--request", "x", "--seconds", "0.01"]
        config = self.config("typed.copies=5\n")
        done = weft(*words, "--config", config, "--set", "typed.exact=on")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertIn("1 5 65536 250000 [plain] 1", done.out)
        wrong = weft(*words, "--set", "typed.copies=x")
        self.assertEqual((wrong.code, wrong.out), (2, ""))
        self.assertIn("typed.copies: 'x' is not a whole number", wrong.err)

    def test_wrong_tables_are_refused_by_name(self):
        entry = '{WEFT_PARAMETER(struct wrong, one, INTEGER), .value = "%s", .help = "h"%s}'
        for number, (text, says) in enumerate((
                (entry % ("x", ""), r"parameter one: 'x' is not a whole number"),
                (entry % ("5", ', .maximum = "4"'), r"parameter one: '5' is above the maximum, 4"),
                ('{"One", WEFT_PARAMETER_BOOL, 0, .value = "no", .help = "h"}', r"parameter One: the name is not"),
                ('{"memory", WEFT_PARAMETER_BOOL, 0, .value = "no", .help = "h"}', r"must be a size"),
                ('{"far", WEFT_PARAMETER_SIZE, 8, .value = "1", .help = "h"}', r"not within the instance"),
                ('{"two", WEFT_PARAMETER_SIZE, 0, .value = "1"}', r"parameter two: has no default or no help"))):
            made = plugin(self.above.name, f"wrong{number}", WRONG.replace("ENTRY", text))
            with self.subTest(text):
                self.refused("up", "torus:2", "--service", made, code=2, says=r"wrong\d\.so: service wrong: .*" + says)
                self.assertFalse(self.folder.exists())

    def test_a_field_of_another_type_does_not_compile(self):
        for kind in ("BOOL", "SIZE", "TEXT", "CHOICE"):
            with self.assertRaises(AssertionError):
                plugin(self.above.name, "mistyped", WRONG.replace(
                    "ENTRY", '{WEFT_PARAMETER(struct wrong, one, %s), .value = "1", .help = "h"}' % kind))


if __name__ == "__main__":
    main()
