"""weft sim run and weft sim chaos with services and checkers of outsiders, compiled with the public headers."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = os.environ["INCLUDE"]
# A crash must stay a crash in builds with a sanitizer, too.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"
SAFE = "all,-empty,-disk_rot"  # a replica of the register that lost its disk is not rebuilt
ENOUGH = ("    return __builtin_popcount(operation->answered) > replica->copies / 2;",
          "    unsigned alive = 0;\n"
          "    for (weft_server server = 0; server < (weft_server)replica->copies; server++)\n"
          "        alive += weft_reaches(self, server);\n"
          "    return (unsigned)__builtin_popcount(operation->answered) > alive / 2;")

CHECKER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/simulation.h>
struct memory { uint32_t kinds, downs, ups, empties, answers, roots, up_now, begins, ends; };
%s
WEFT_API const struct weft_checker weft_checker = {
    .version = %s, .name = %s, .size = sizeof(struct memory), .ops = %s,
};
"""

EMPTY_OPS = "static const struct weft_checker_ops ops;"

# Sees everything, and reports it as a failure at the end.
WITNESS = """
static void down(struct weft_simulation *s, weft_server server)
{
    struct memory *m = weft_sim_memory(s);
    m->downs++;
    if (weft_sim_is_up(s, server)) weft_sim_fail(s, "a server that is down runs");
}
static void up(struct weft_simulation *s, weft_server server, bool empty)
{
    struct memory *m = weft_sim_memory(s);
    m->ups++;
    m->empties += empty;
    if (!weft_sim_is_up(s, server)) weft_sim_fail(s, "a server that is up does not run");
}
static void fault(struct weft_simulation *s, const struct weft_fault *f)
{
    struct memory *m = weft_sim_memory(s);
    m->kinds |= 1u << f->kind;
    if (f->begins) m->begins++; else m->ends++;
    if (f->kind == WEFT_FAULT_PAUSE && f->begins && weft_sim_is_up(s, f->server) && !weft_sim_is_paused(s, f->server))
        weft_sim_fail(s, "a paused server is not paused");
}
static void answer(struct weft_simulation *s, uint32_t client, uint64_t ticket, const void *bytes, uint32_t size)
{
    struct memory *m = weft_sim_memory(s);
    m->answers++;
}
static void timer(struct weft_simulation *s, uint64_t cookie)
{
    (void)weft_sim_send(s, (uint32_t)cookie, "journal", weft_sim_random(s) | 1, "+record", 7);
    weft_sim_timer(s, weft_sim_now(s) + 1000000 + (int64_t)(weft_sim_random(s) % 5000000), cookie);
}
static int start(struct weft_simulation *s)
{
    for (weft_server server = 0; server < weft_sim_server_count(s); server++)
        weft_sim_timer(s, 1000000, (uint64_t)weft_sim_client(s, server));
    return 0;
}
static void finish(struct weft_simulation *s)
{
    struct memory *m = weft_sim_memory(s);
    struct weft_key key = weft_key_of("x", 1);
    uint64_t calls = 0, sum = 0;
    for (weft_server server = 0; server < weft_sim_server_count(s); server++) {
        m->roots += weft_sim_is_root(s, server, &key);
        m->up_now += weft_sim_is_up(s, server);
        if (weft_sim_stat(s, server, "journal", "disk_calls", &calls) == 0) sum += calls;
    }
    weft_sim_fail(s, "seen %x downs %u ups %u empties %u begins %u ends %u roots %u of %u answers %u disk %llu",
                  m->kinds, m->downs, m->ups, m->empties, m->begins, m->ends, m->roots, m->up_now,
                  m->answers, (unsigned long long)sum);
}
static const struct weft_checker_ops ops = {.start = start, .answer = answer, .timer = timer,
    .down = down, .up = up, .fault = fault, .finish = finish};
"""

# Does something wrong in a timer of seeds that are divisible by 3.
WRONG = """
static int *nowhere;
static void timer(struct weft_simulation *s, uint64_t cookie)
{
    if (weft_sim_seed(s) %% 3 == 0) { %s }
}
static int start(struct weft_simulation *s) { return weft_sim_timer(s, 5000000, 0); }
static const struct weft_checker_ops ops = {.start = start, .timer = timer};
"""

SERVICE = """
#include <weft/service.h>
static int *nowhere;
static void timer(struct weft_self *self, uint64_t cookie) { if (weft_here(self) == 3) *nowhere = 1; }
static int start(struct weft_self *self) { return weft_timer(self, weft_now(self) + 1000000, 0); }
static const struct weft_service_ops ops = {.start = start, .timer = timer};
WEFT_API const struct weft_service weft_service = {.version = WEFT_SERVICE_VERSION, .name = "crasher",
    .id = 400, .ops = &ops};
"""


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="weft checker's ")  # a blank and a quote: replays quote it
        cls.path = pathlib.Path(cls.folder.name)
        (cls.path / "weft").symlink_to(os.environ["WEFT"])
        for name in ("register", "register_checker", "journal"):
            cls.compile(name, (ROOT / "examples" / f"{name}.c").read_text())
        text = (ROOT / "examples" / "register.c").read_text()
        assert ENOUGH[0] in text
        cls.compile("naive", text.replace(*ENOUGH))
        still = CHECKER % (EMPTY_OPS, "WEFT_SIMULATION_VERSION", '"still"', "&ops")
        cls.compile("still", still.replace(".ops =", ".steady_nsec = 1, .ops ="))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def compile(cls, name, text):
        source = cls.path / f"{name}.c"
        source.write_text(text)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", cls.path / f"{name}.so", source, "-I", INCLUDE],
                       check=True, capture_output=True, text=True)

    @classmethod
    def checker(cls, name, code, version="WEFT_SIMULATION_VERSION", shown=None, ops="&ops"):
        cls.compile(name, CHECKER % (code, version, shown or f'"{name}"', ops))

    def chaos(self, *words, service="register", checker="register_checker", spec="torus:3x3", **more):
        return weft("sim", "chaos", spec, "--service", f"./{service}.so", "--checker", f"./{checker}.so", *words,
                    cwd=self.path, **more)

    def test_a_planted_bug_is_found_and_the_mended_service_is_clean(self):
        found = self.chaos("--seeds", 12, "--faults", SAFE, "--json", service="naive")
        self.assertEqual(found.code, 1, found.err)
        failures = found.json["failures"]
        self.assertGreater(len(failures), 0)
        self.assertEqual({failure["checker"] for failure in failures}, {"register"})
        self.assertRegex(failures[0]["text"], r"reads \d+ from register \d+; \d+ was known before")
        mended = self.chaos("--seeds", 40, "--faults", SAFE, "--json")
        self.assertEqual((mended.code, mended.json["failures"]), (0, []), mended.err)
        self.assertGreater(mended.json["faults"], 400)

    def test_the_printed_command_replays_the_failure(self):
        (self.path / "it's a plan.edgelist").write_text("".join(f"{i} {(i + 1) % 7}\n{i} {(i + 2) % 7}\n" for i in range(7)))
        (self.path / "five.conf").write_text("register.copies = 3\n")
        first = weft("sim", "chaos", "it's a plan.edgelist", "--service", self.path / "naive.so", "--config", "five.conf",
                     "--set", "register.copies=5", "--checker", self.path / "register_checker.so", "--seeds", 12,
                     "--faults", SAFE, "--limit", 100, "--json", cwd=self.path)
        self.assertEqual(first.code, 1, first.err)
        failure = first.json["failures"][0]
        for text in ("--service", "--set register.copies=5", "--config five.conf", "--checker", "--limit 100"):
            self.assertIn(text, failure["replay"])
        again = subprocess.run(failure["replay"] + " --history", shell=True, cwd=self.path, capture_output=True, text=True,
                               env={**os.environ, "PATH": f"{self.path}:{os.environ['PATH']}"}, timeout=300)
        self.assertEqual((again.returncode, again.stderr), (1, ""))
        self.assertIn(f"register: {failure['text']}\n  {failure['replay']}\n", again.stdout)
        self.assertIn(f"failed: {failure['text']}", again.stdout)  # in the history

    def test_results_do_not_depend_on_the_number_of_processes(self):
        words = ["--seeds", 6, "--faults", SAFE, "--json"]
        one, three = (self.chaos(*words, "--threads", threads, service="naive").json for threads in (1, 3))
        self.assertEqual(one, three)
        self.assertEqual(one, self.chaos(*words, service="naive").json)

    def test_a_checker_that_only_looks_does_not_change_the_run(self):
        words = ["sim", "chaos", "torus:3x3", "--service", "./register.so", "--seeds", 4, "--json"]
        alone = weft(*words, cwd=self.path)
        looked = weft(*words, "--checker", "./still.so", cwd=self.path)
        self.assertEqual((alone.code, looked.code), (0, 0), alone.err + looked.err)
        self.assertEqual(alone.json, looked.json)

    def test_a_checker_sees_every_kind_of_fault_and_every_server(self):
        self.checker("witness", WITNESS)
        seen, ups = 0, 0
        run = self.chaos("--seeds", 24, "--json", service="journal", checker="witness")
        self.assertEqual(run.code, 1, run.err)
        self.assertEqual(len(run.json["failures"]), 24)
        for failure in run.json["failures"]:
            kinds, *numbers = re.fullmatch(r"seen (\w+) downs (\d+) ups (\d+) empties (\d+) begins (\d+) ends (\d+) "
                                           r"roots (\d+) of (\d+) answers (\d+) disk (\d+)", failure["text"]).groups()
            downs, up, empties, begins, ends, roots, running, answers, disk = map(int, numbers)
            self.assertEqual((downs, begins, roots, running), (up, ends, 1, 9))
            self.assertGreater(answers, 100)
            self.assertGreater(disk, 100)
            self.assertLessEqual(empties, 1)
            self.assertEqual(empties, int(kinds, 16) >> 19 & 1)
            seen |= int(kinds, 16)
            ups += up
        self.assertEqual(seen, 2**26 - 1)
        self.assertGreater(ups, 20)

    def test_a_checker_that_crashes_ends_or_hangs_fails_its_seeds_only(self):
        for name, code, said in (("crash", "*nowhere = 1;", r"timer\(\) of the checker crash crashed: Segmentation fault"),
                                 ("abort", "abort();", r"timer\(\) of the checker abort crashed: Aborted"),
                                 ("leave", "exit(3);", r"timer\(\) of the checker leave ended the process with exit code 3"),
                                 ("hang", "for (;;) ;", r"timer\(\) of the checker hang did not return within 15 s")):
            self.checker(name, WRONG % code)
            run = self.chaos("--seeds", 4, "--faults", "none", "--limit", 15, "--json", checker=name, spec="torus:3")
            self.assertEqual(run.code, 1, run.err)
            failures = run.json["failures"]
            self.assertEqual([(failure["seed"], failure["checker"]) for failure in failures], [(3, name)])
            self.assertRegex(failures[0]["text"], said)
            self.assertGreaterEqual(failures[0]["at_ms"], 5)  # the timer
            alone = weft("sim", "run", "torus:3", "--service", "./register.so", "--checker", f"./{name}.so", "--seed", 3,
                         "--seconds", "0.1", "--limit", 15, cwd=self.path)
            self.assertEqual(alone.code, 1, alone.err)
            self.assertRegex(alone.out, said)
            self.assertIn(f"{name}: FAILED at 5.000 ms: timer()", alone.out)

    def test_a_service_that_crashes_is_reported(self):
        self.compile("crasher", SERVICE)
        run = weft("sim", "chaos", "torus:3x3", "--service", "./crasher.so", "--seeds", 2, "--json", cwd=self.path)
        self.assertEqual(run.code, 1, run.err)
        for failure in run.json["failures"]:
            self.assertEqual((failure["checker"], failure["text"]),
                             ("crash", "a service (or weft itself) crashed: Segmentation fault"))
            self.assertGreaterEqual(failure["at_ms"], 1)
        self.assertEqual(len(run.json["failures"]), 2)

    def test_a_service_that_ends_crashes_or_hangs_fails_its_run_without_a_checker(self):
        for name, code, said in (("crash", "*nowhere = 1;", "crashed: Segmentation fault"),
                                 ("abort", "abort();", "crashed: Aborted"),
                                 ("leave", "exit(0);", "ended the process with exit code 0"),
                                 ("hang", "for (;;) ;", "did not return within 5 s")):
            self.compile(name, SERVICE.replace("*nowhere = 1;", code).replace("#include", "#include <stdlib.h>\n#include", 1))
            words = ["sim", "run", "torus:3x3", "--service", f"./{name}.so", "--seconds", "0.01", "--limit",
                     5 if name == "hang" else 60]
            text = f"a service (or weft itself) {said}"
            run = weft(*words, cwd=self.path, timeout=100)
            self.assertEqual((run.code, run.out, run.err),
                             (1, f"torus:3x3: 9 servers, crasher, seed 1\n  FAILED at 1.000 ms: {text}\n", ""))
            run = weft(*words, "--json", cwd=self.path, timeout=100)
            self.assertEqual((run.code, run.json["failed"], run.json["failure"], run.json["failed_ms"], run.json["sent"]),
                             (1, True, text, 1, 0))

    def test_seeds_without_a_checker_run_when_others_are_lost(self):
        self.compile("crasher", SERVICE.replace("weft_here(self) == 3", "weft_here(self) == 3 && weft_random(self) % 2"))
        words = ["sim", "run", "torus:3x3", "--service", "./crasher.so", "--seconds", "0.01", "--seeds", 12]
        one, three = (weft(*words, "--threads", threads, cwd=self.path) for threads in (1, 3))
        self.assertEqual((one.code, one.err, one.out), (1, "", three.out))
        lost = re.findall(r"^  seed (\d+): FAILED at 1\.000 ms: a service \(or weft itself\) crashed: Segmentation fault$",
                          one.out, re.MULTILINE)
        found = weft(*words, "--json", cwd=self.path).json
        self.assertEqual([str(failure["seed"]) for failure in found["failures"]], lost)
        self.assertTrue(0 < len(lost) < 12)
        self.assertEqual(sorted(map(int, lost)) + sorted(row["seed"] for row in found["runs"]),
                         sorted(map(int, lost)) + [seed for seed in range(1, 13) if str(seed) not in lost])
        good = found["runs"][0]
        alone = weft(*words[:-1], 1, "--seed", good["seed"], "--json", cwd=self.path)
        self.assertEqual((alone.code, alone.json["hash"]), (0, good["hash"]))
        self.assertNotIn("failed", alone.json)

    def refused(self, text, *words, command="chaos"):
        run = weft("sim", command, "torus:3x3", *words, cwd=self.path)
        self.assertEqual((run.code, run.out), (2, ""), run.err)
        self.assertRegex(run.err, r"^weft: [^\n]+\n$")
        self.assertIn(text, run.err)

    def test_wrong_plugins_and_options_are_refused_in_one_line(self):
        self.checker("old", EMPTY_OPS, version="77")
        self.checker("idle", EMPTY_OPS, ops="0")
        self.checker("named", EMPTY_OPS, shown='"two words"')
        self.checker("unable", "static int start(struct weft_simulation *s) { return -2; }\n"
                     "static const struct weft_checker_ops ops = {.start = start};")
        self.compile("short", '#include <stdint.h>\nuint32_t weft_checker[2] = {1, 1};\n')
        self.compile("unknown", "int weft_of_tomorrow(void);\nint weft_checker(void) { return weft_of_tomorrow(); }\n")
        (self.path / "text.so").write_text("no object")
        for command in ("chaos", "run"):
            for name, text in (("old", "built for version 77 of weft/simulation.h, but this is version 1"),
                               ("idle", "has no functions"), ("named", "the name of its checker"),
                               ("unable", "checker unable: start() returned -2 (No such file or directory)"),
                               ("short", "its weft_checker has 8 bytes"), ("unknown", "weft_of_tomorrow"),
                               ("register", "exports no weft_checker"), ("text", "text.so"), ("none", "none.so")):
                self.refused(text, "--service", "./register.so", "--checker", f"./{name}.so", command=command)
            service = ["--service", "./register.so"]
            self.refused("exports no weft_service", "--service", "./register_checker.so", command=command)
            self.refused("register.copies", *service, "--set", "register.copies=many", command=command)
            self.refused("register.copies", *service, "--set", "register.copies=99", command=command)
            self.refused("register", *service, "--set", "register.copy=3", command=command)
            self.refused("other", *service, "--set", "other.copies=3", command=command)
            self.refused("no such service", "--service", "registre", command=command)
            self.refused("--limit", *service, "--limit", "0", command=command)
            self.refused("--history", *service, "--history", command=command)
        checked = ["--service", "./register.so", "--checker", "./register_checker.so"]
        self.refused("--history", *checked, "--seeds", 2, "--history")
        self.refused("'fire'", *checked, "--faults", "all,-fire")
        self.refused("the same name", *checked, "--service", "./register.so")
        self.refused("one seed", *checked, "--seeds", 2, command="run")
        self.refused("makes the load", *checked, "--request", "x", command="run")

    def test_sim_run_has_a_checker_without_faults(self):
        words = ["torus:3x3", "--service", "./register.so", "--checker", "./register_checker.so", "--seconds", "0.2"]
        good = weft("sim", "run", *words, cwd=self.path)
        self.assertEqual(good.code, 0, good.err)
        self.assertIn("\n  register: holds\n", good.out)
        one, again = (weft("sim", "run", *words, "--history", "--json", cwd=self.path).json for _ in range(2))
        self.assertEqual(one, again)
        self.assertFalse(one["failed"])
        self.assertRegex("\n".join(one["history"]), r"program \d at server \d: read \d")
        self.assertGreater(one["answered"], 100)


main()
