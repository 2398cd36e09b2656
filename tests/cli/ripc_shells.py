"""weft ripc, as a user runs it in two shells. Every test has its own folder, so that it shares nothing
with other tests or other programs."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

PATIENCE = 60  # seconds; nothing takes that long
PATIENT = ("--timeout", 20000)  # ms for each ping; only a busy machine needs them


class Shells(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {"WEFT_FOLDER": folder.name, "WEFT_DOMAIN": "shells"}

    def ripc(self, *words, **options):
        return weft("ripc", *words, env=self.env, timeout=PATIENCE, **options)

    def begin(self, *words):
        """Starts a command in another shell, which ends with the test."""
        shell = subprocess.Popen([os.environ["WEFT"], "ripc", *map(str, words)],
                                 env={**os.environ, **self.env}, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        def end():
            if shell.poll() is None:
                shell.kill()
            shell.communicate()

        self.addCleanup(end)
        return shell

    def names(self):
        return self.ripc("list", "--json").json["names"]

    def await_names(self, *ids):
        """Waits until those ids are bound (a group as often as it is listed)."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            bound = [name["id"] for name in self.names()]
            if all(bound.count(id) >= ids.count(id) for id in ids):
                return
        self.fail(f"{ids} are not bound")

    def serve(self, *words):
        shell = self.begin("serve", *words)
        self.assertRegex(shell.stdout.readline(), r"^serving \S+, pid \d+\n$")
        return shell

    def finish(self, shell, how=None):
        """Waits for the end, perhaps after a signal; returns exit code, output and errors."""
        if how:
            shell.send_signal(how)
        out, err = shell.communicate(timeout=PATIENCE)
        return shell.returncode, out, err


class Ping(Shells):
    def test_round_trips_are_reported(self):
        self.serve(42)
        run = self.ripc("ping", 42, "--count", 200, *PATIENT)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertRegex(run.out, r"^42 \(pid \d+, \S+\) over shm: 200 short pings of 64 bytes, 200 answered, "
                                  r"0 lost, in \d+\.\d+ s\n"
                                  r"round trip: min .+, median .+, p99 .+, max .+; the first one .+\n\Z")

    def test_ping_prints_a_json_object(self):
        server = self.serve(42)
        for words, size, long in ((["--size", 16], 16, False), (["--size", 8900], 8900, False),
                                  (["--block"], 64, False),
                                  (["--long", "--size", "2M"], 2 << 20, True)):
            told = self.ripc("ping", "0x2a", "--count", 30, "--json", *PATIENT, *words).json
            self.assertEqual((told["to"], told["size"], told["long"]), (42, size, long))
            self.assertEqual((told["sent"], told["answered"], told["lost"], told["damaged"]),
                             (30, 30, 0, 0), words)
            self.assertEqual((told["pid"], told["transport"]), (server.pid, "shm"))
            trip = told["round_trip_ns"]
            order = [trip[key] for key in ("min", "median", "p99", "max")]
            self.assertEqual(order, sorted(order))
            self.assertGreater(trip["min"], 0)

    def test_with_an_interval_each_ping_is_printed(self):
        self.serve(42)
        run = self.ripc("ping", 42, "--interval", 1, "--count", 3, *PATIENT)
        self.assertEqual([line.split(":")[0] for line in run.out.splitlines()[:3]], ["1", "2", "3"])

    def test_a_ping_to_a_missing_service_fails(self):
        run = self.ripc("ping", 42)
        self.assertEqual((run.code, run.out, run.err), (1, "", "weft: 42: no process holds that id\n"))

    def test_pings_to_a_service_that_does_not_answer_are_lost(self):
        self.begin("recv", 42)
        self.await_names(42)
        run = self.ripc("ping", 42, "--timeout", 50, "--json")
        self.assertEqual(run.code, 1)
        self.assertEqual((run.json["sent"], run.json["answered"], run.json["lost"]), (5, 0, 5))
        self.assertIsNone(run.json["round_trip_ns"])

    def test_a_restarted_service_is_found_again(self):
        server = self.serve(42)
        ping = self.begin("ping", 42, "--interval", 5, "--timeout", 200)
        for number in range(1, 4):
            self.assertRegex(ping.stdout.readline(), rf"^{number}: [0-9.]+ [num]?s$")
        server.kill()
        server.wait()
        while re.match(r"^\d+: [0-9.]+ [num]?s$", line := ping.stdout.readline()):
            pass
        self.assertRegex(line, r"^\d+: (no answer|no process holds that id|the peer has ended or is unreachable)$")
        self.serve(42)
        for _ in range(10000):
            if re.match(r"^\d+: [0-9.]+ [num]?s$", ping.stdout.readline()):
                break
        else:
            self.fail("it was not found again")
        code, out, err = self.finish(ping, signal.SIGINT)
        self.assertEqual((code, err), (130, ""))
        self.assertRegex(out, r"answered, \d+ lost")

    def test_giving_up_is_an_error_with_a_reason(self):
        self.serve(42, "--count", 100)
        run = self.ripc("ping", 42, "--count", 10000000)
        self.assertEqual((run.code, run.err), (1, ""))
        self.assertRegex(run.out, r"^42: 105 short pings of 64 bytes, 100 answered, 5 lost, in \S+ s; gave up: "
                              r"(no process holds that id|the peer has ended or is unreachable|no answer)\n"
                              r"round trip: ")

    def test_services_of_other_domains_are_not_found(self):
        self.serve(42, "--domain", "other")
        self.assertEqual(self.ripc("ping", 42).code, 1)
        self.assertEqual(self.ripc("ping", 42, "--count", 1, "--domain", "other").code, 0)


class Hosts(Shells):
    """Like two hosts, on the loopback interface: names by multicast, no shared memory."""

    def test_pings_over_udp_and_libfabric_are_answered(self):
        port = 20000 + os.getpid() % 40000
        for transport in ("udp", "fabric"):
            words = ["--names", f"multicast:239.255.87.71:{port}", "--address", "127.0.0.1",
                     "--transports", transport]
            listed = self.ripc("list", *words)
            if "in this build" in listed.err:  # without libfabric
                continue
            server = self.serve(42, *words)
            run = self.ripc("ping", 42, "--count", 50, "--json", *PATIENT, *words)
            self.assertEqual((run.code, run.err), (0, ""), transport)
            self.assertEqual((run.json["answered"], run.json["damaged"]), (50, 0))
            self.assertEqual(run.json["transport"], transport)
            self.assertRegex(run.json["address"], r"^127\.0\.0\.1:\d+$")
            if transport == "fabric":
                long = self.ripc("ping", 42, "--count", 5, "--long", "--json", *PATIENT, *words).json
                self.assertEqual((long["answered"], long["damaged"]), (5, 0))
            self.assertEqual(self.finish(server, signal.SIGINT)[0], 130)

    def test_a_ping_without_a_common_transport_fails(self):
        self.serve(42)
        run = self.ripc("ping", 42, "--transports", "udp", "--address", "127.0.0.1")
        self.assertEqual((run.code, run.out, run.err),
                         (1, "", "weft: 42: no transport in common with that peer\n"))

    def test_a_ping_to_a_closed_port_in_a_names_file_fails(self):
        (self.folder / "names").write_text("42 127.0.0.1:1\n")
        run = self.ripc("ping", 42, "--names", f"file:{self.folder}/names")
        self.assertEqual((run.code, run.out, run.err),
                         (1, "", "weft: 42: nothing listens at its address, or the peer refuses the connection\n"))

    def test_a_different_secret_is_reported(self):
        one, other = self.folder / "one", self.folder / "other"
        one.write_text("of one cluster")
        other.write_text("of another one")
        self.serve(42, "--secret-file", one)
        self.assertEqual(self.ripc("ping", 42, "--count", 1, "--secret-file", one).code, 0)
        for command in (["ping", 42], ["send", 42, "hello"]):
            run = self.ripc(*command, "--secret-file", other)
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertRegex(run.err, r"^weft: 42: no process holds that id; \d+ claims? with another seal "
                                      r"ignored: do both sides use the same secret\?\n\Z")
        self.assertEqual(self.ripc("ping", 42).err, "weft: 42: no process holds that id\n")


class Messages(Shells):
    def test_a_message_is_printed_when_it_arrives(self):
        receiver = self.begin("recv", 7)
        self.await_names(7)
        self.assertEqual(self.ripc("send", 7, "hello \\ \u00e4", "--from", 9).code, 0)
        self.assertEqual(receiver.stdout.readline(), "from 9, 10 bytes: hello \\\\ \u00e4\n")
        self.assertEqual(self.ripc("send", 7, "--file", "-", stdin="a\tb\n", ).code, 0)
        self.assertRegex(receiver.stdout.readline(), r"^from 0x[0-9a-f]+, 4 bytes: a\\x09b\\x0a\n$")
        self.assertIsNone(receiver.poll())
        code, out, err = self.finish(receiver, signal.SIGINT)
        self.assertEqual((code, err), (130, ""))
        self.assertRegex(out, r"^2 messages of 14 bytes, in \d+\.\d+ s\n\Z")

    def test_the_json_object_lists_messages(self):
        receiver = self.begin("recv", 7, "--count", 2, "--json")
        self.await_names(7)
        self.ripc("send", 7, "one", "--from", 9)
        self.ripc("send", 7, "two", "--long", "--from", 9)
        code, out, err = self.finish(receiver)
        self.assertEqual((code, err), (0, ""))
        told = json.loads(out)
        self.assertEqual((told["id"], told["received"], told["received_bytes"]), (7, 2, 3))
        self.assertEqual((told["long_items"], told["long_bytes"]), (1, 3))
        self.assertEqual([(one["from"], one["to"], one["text"]) for one in told["messages"]],
                         [(9, 7, "one"), (9, 7, "")])
        self.assertEqual(told["messages"][1]["long_items"], [{"size": 3, "way": "fetched"}])

    def test_a_file_arrives_unchanged(self):
        data = os.urandom(3000000)
        original, copy = self.folder / "original", self.folder / "copy"
        original.write_bytes(data)
        for words in ([], ["--window", "4M"]):
            receiver = self.begin("recv", 7, "--count", 1, "--out", copy, *words)
            self.await_names(7)
            run = self.ripc("send", 7, "--file", original, "--long")
            self.assertEqual((run.code, run.err), (0, ""))
            code, out, _ = self.finish(receiver)
            self.assertEqual(code, 0)
            self.assertIn("(window)" if words else "(fetched)", out)
            self.assertTrue(copy.read_bytes() == data)

    def test_an_item_larger_than_the_window_is_rejected(self):
        receiver = self.begin("recv", 7, "--window", "1K")
        self.await_names(7)
        run = self.ripc("send", 7, "x" * 2000, "--long")
        self.assertEqual((run.code, run.out, run.err),
                         (1, "", "weft: 7: the receiver rejected a long item\n"))
        self.assertIn("long item of 2000 bytes (rejected)", receiver.stdout.readline())
        self.assertEqual(self.ripc("send", 7, "x" * 1024, "--long").code, 0)
        self.assertIn("long item of 1024 bytes (window)", receiver.stdout.readline())
        self.assertIn("1 long item not received", self.finish(receiver, signal.SIGTERM)[1])

    def test_a_file_is_kept_when_the_id_is_taken(self):
        kept = self.folder / "kept"
        kept.write_text("precious")
        self.serve(7)
        self.assertEqual(self.ripc("recv", 7, "--out", kept).code, 1)
        self.assertEqual(kept.read_text(), "precious")

    def test_a_long_send_ends_at_once_after_a_signal(self):
        receiver = self.begin("recv", 7)
        self.await_names(7)
        self.assertEqual(self.ripc("send", 7, "first").code, 0)
        receiver.send_signal(signal.SIGSTOP)
        for words in (["x", "--long"], ["x", "--count", 10000000]):
            sender = self.begin("send", 7, *words, "--from", 9, "--timeout", 3600000)
            self.await_names(9)
            time.sleep(0.1)
            self.assertIsNone(sender.poll())
            code, out, err = self.finish(sender, signal.SIGINT)
            self.assertEqual((code, out, err), (130, "", "weft: 7: cancelled\n"))
        receiver.send_signal(signal.SIGCONT)

    def test_an_echo_comes_back(self):
        server = self.serve(7, "--echo")
        run = self.ripc("send", 7, "who is there", "--reply")
        self.assertEqual((run.code, run.err), (0, ""))
        self.assertRegex(run.out, r"^from 7, 12 bytes: who is there\n")
        self.assertIn(": who is there\n", server.stdout.readline())
        told = self.ripc("send", 7, "again", "--long", "--reply", "--count", 3, "--json").json
        self.assertEqual((told["sent"], told["received"], told["long_bytes"]), (3, 3, 15))
        self.assertIn("4 messages sent back", self.finish(server, signal.SIGINT)[1])

    def test_no_answer_is_an_error(self):
        self.serve(7)
        run = self.ripc("send", 7, "x", "--reply", "--timeout", 1000)
        self.assertEqual((run.code, run.out, run.err), (1, "", "weft: 7: no answer\n"))

    def test_a_sender_may_start_before_the_receiver(self):
        sender = self.begin("send", 7, "early", "--wait", "--timeout", 10000)
        time.sleep(0.1)
        receiver = self.begin("recv", 7, "--count", 1)
        self.assertEqual(self.finish(sender)[0], 0)
        self.assertIn(": early\n", self.finish(receiver)[1])
        run = self.ripc("send", 7, "late", "--wait", "--timeout", 100)
        self.assertEqual((run.code, run.err), (1, "weft: 7: no process holds that id\n"))

    def test_many_messages_arrive_in_order(self):
        receiver = self.begin("recv", 7, "--count", 3000, "--out", self.folder / "all", "--quiet")
        self.await_names(7)
        self.assertEqual(self.ripc("send", 7, "0123456789", "--count", 3000).code, 0)
        self.assertRegex(self.finish(receiver)[1], r"^3000 messages of 30000 bytes")
        self.assertEqual((self.folder / "all").read_text(), "0123456789" * 3000)

    def test_messages_that_were_not_received_are_counted(self):
        for _ in range(100):  # the first message may be the only one that has arrived
            receiver = self.begin("recv", 42, "--count", 1, "--json")
            self.await_names(42)
            sender = self.begin("send", 42, "x", "--count", 1000000)
            code, out, err = self.finish(receiver)
            self.assertEqual((code, err), (0, ""))
            self.assertEqual(json.loads(out)["received"], 1)
            # The sender continues until it learns that the receiver is gone.
            self.assertEqual(self.finish(sender), (1, "", "weft: 42: no process holds that id\n"))
            if json.loads(out)["unread"] > 0:
                return
        self.fail("no message was dropped unread")

    def test_all_members_of_a_group_receive_a_message(self):
        members = [self.begin("recv", 77, "--group", "--count", 1) for _ in range(2)]
        self.await_names(77, 77)
        self.assertEqual(self.ripc("send", 77, "to all", "--from", 9).code, 0)
        for member in members:
            self.assertIn("from 9 to group 77, 6 bytes: to all\n", self.finish(member)[1])


class Looking(Shells):
    def test_the_list_has_services_and_groups(self):
        self.assertEqual((self.ripc("list").out, self.names()), ("", []))
        server = self.serve(42)
        member = self.begin("recv", "0xfeedfacecafe", "--group")
        self.await_names(0xfeedfacecafe)
        by_id = {name["id"]: name for name in self.names()}
        self.assertEqual(by_id[42]["pid"], server.pid)
        self.assertTrue(by_id[42]["local"])
        self.assertFalse(by_id[42]["group"])
        self.assertTrue(by_id[0xfeedfacecafe]["group"])
        self.assertRegex(by_id[42]["context"], r"^[0-9a-f]{16}$")
        text = self.ripc("list").out
        self.assertRegex(text, rf"(?m)^42 +- +{server.pid} +{by_id[42]['context']} +host$")
        self.assertRegex(text, rf"(?m)^0xfeedfacecafe +0x[0-9a-f]+ +{member.pid} ")
        self.assertIn(by_id[0xfeedfacecafe]["member"], by_id)
        self.finish(server, signal.SIGINT)
        self.finish(member, signal.SIGINT)
        self.assertEqual(self.names(), [])

    def test_an_id_can_be_bound_once(self):
        self.serve(42)
        run = self.ripc("recv", 42, "--seconds", 0)
        self.assertEqual((run.code, run.out, run.err), (1, "", "weft: 42: a live process holds that id\n"))

    def test_the_trace_prints_events(self):
        server = self.serve(42)
        context = self.names()[0]["context"]
        for word in (42, "0x2a", server.pid, context):
            trace = self.begin("trace", word, "--count", 20)
            deadline = time.monotonic() + PATIENCE
            while trace.poll() is None and time.monotonic() < deadline:
                self.ripc("ping", 42, "--count", 20)
            code, out, err = self.finish(trace)
            self.assertEqual((code, err), (0, ""), word)
            lines = out.splitlines()
            self.assertRegex(lines[-1], r"^20 records, \d+ lost, of \d+ contexts?$")
            events = {line.split()[2] for line in lines[:-1]}
            self.assertTrue({"send", "receive"} <= events, events)
            if word == context:
                self.assertEqual({line.split()[1] for line in lines[:-1]}, {context})

    def test_the_trace_prints_a_json_object(self):
        server = self.serve(42)
        trace = self.begin("trace", "--count", 50, "--json")
        while trace.poll() is None:
            self.ripc("ping", 42, "--count", 50)
        told = json.loads(self.finish(trace)[1])
        self.assertEqual((len(told["records"]), told["shown"]), (50, 50))
        times = [record["at"] for record in told["records"]]
        self.assertEqual(set(told["records"][0]),
                         {"at", "context", "event", "service", "peer", "value"})
        self.assertGreater(min(times), 0)
        self.finish(server, signal.SIGINT)

    def test_a_trace_of_an_unknown_id_is_refused(self):
        for word in ("42", "0123456789abcdef"):
            run = self.ripc("trace", word, "--seconds", 0)
            self.assertEqual((run.code, run.out), (1, ""))
            self.assertRegex(run.err, rf"^weft: {word}: (there is )?no [^\n]+\n\Z")
        run = self.ripc("trace", "--seconds", 0)
        self.assertEqual((run.code, run.out), (0, "0 records, 0 lost, of 0 contexts\n"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_files_of_killed_processes_are_removed(self):
        shells = [self.serve(id) for id in (1, 2, 3)]
        for shell in shells[:2]:
            shell.kill()
            shell.wait()
        run = self.ripc("clean", "--json")
        self.assertEqual((run.code, run.json["domain"]), (0, "shells"))
        self.assertGreater(run.json["removed"], 0)
        self.assertEqual([name["id"] for name in self.names()], [3])
        self.assertEqual(self.ripc("ping", 3, "--count", 1).code, 0)
        self.finish(shells[2], signal.SIGTERM)
        self.assertEqual(self.ripc("clean").out, "domain shells: 0 files of dead processes removed\n")
        self.assertEqual([path for path in self.folder.rglob("*") if not path.is_dir()], [])


class Refusals(Shells):
    def test_invalid_arguments_are_refused_in_one_line(self):
        (self.folder / "big").write_bytes(bytes(8901))
        (self.folder / "empty").touch()
        (self.folder / "secret").write_bytes(bytes(4097))
        for words in (["ping", "0"], ["ping", "x"], ["ping", "-1"], ["ping", ""], ["ping", "1x"],
                      ["ping", "18446744073709551616"], ["ping", "0x"], ["ping", "1", "2"],
                      ["ping", "1", "--size", "15"], ["ping", "1", "--size", "8901"],
                      ["ping", "1", "--size", "1T"], ["ping", "1", "--size", "2G", "--long"],
                      ["ping", "1", "--count", "0"], ["ping", "1", "--timeout", "0"],
                      ["send", "1", "x", "--file", "y"], ["send", "1", "--long"],
                      ["send", "1", "--file", self.folder / "big"],
                      ["send", "1", "x", "--from", "0"], ["recv"], ["recv", "1", "--out", "-"],
                      ["recv", "1", "--window", "0"], ["recv", "1", "--window", "K"],
                      ["recv", "1", "--seconds", "-1"], ["trace", "nonsense"], ["clean", "1"],
                      ["list", "--transports", "nonsense"], ["list", "--names", "nonsense"],
                      ["list", "--secret-file", self.folder / "empty"],
                      ["list", "--secret-file", ""], ["list", "--domain", "a/b"], ["trace", "--domain", "a/b"],
                      ["clean", "--domain", "a/b"], ["list", "--address", ""],
                      ["list", "--address", "nonsense"], ["list", "--address", "127.0.0.1:80"],
                      ["list", "--secret-file", self.folder / "secret"]):
            run = self.ripc(*words)
            self.assertEqual((run.code, run.out), (2, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+: [^\n]+\n\Z", words)

    def test_failures_of_the_system_are_one_line(self):
        for code, *words in ((2, "send", "1", "--file", self.folder / "none"),
                             (2, "list", "--secret-file", self.folder / "none"),
                             (2, "list", "--secret-file", self.folder),
                             (1, "recv", "1", "--out", self.folder / "none" / "x"),
                             (1, "send", "1", "no receiver")):
            run = self.ripc(*words)
            self.assertEqual((run.code, run.out), (code, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+: [^\n]+\n\Z", words)

    def test_an_unusable_folder_is_reported(self):
        open_one = self.folder / "open"
        open_one.mkdir()
        open_one.chmod(0o755)
        for folder, why in ((open_one, "is accessible to other users; run chmod 700 on it"),
                            (self.folder / "no" / "such", "No such file or directory")):
            self.env["WEFT_FOLDER"] = str(folder)
            for command in ("list", "trace", "clean"):
                run = self.ripc(command)
                self.assertEqual((run.code, run.out), (1, ""), command)
                self.assertRegex(run.err, rf"^weft: [^\n]*{folder}[^\n]*{why}\n\Z")


main()
