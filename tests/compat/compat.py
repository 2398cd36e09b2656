"""Programs written as in 2013 against weft/ripc_compat.h, two processes each. Every test runs twice,
with programs that were compiled with -O0 and with -O2: programs of 2013 have variables that are
written beyond their end, which only some optimisations hide."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

LIMIT = 100  # seconds until a hung test ends


class Compat:
    level = None  # -O0 or -O2

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="weft-compat-")
        self.env = {**os.environ, "WEFT_FOLDER": self.folder, "WEFT_DOMAIN": "compat"}
        self.running = []

    def tearDown(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream and not stream.closed:
                    stream.close()
        shutil.rmtree(self.folder)

    def start(self, name, *words):
        process = subprocess.Popen(
            [os.path.join(os.environ["COMPAT"], f"compat_{self.level}_{name}"), *words],
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def start_server(self, name, *words, word="ready\n"):
        server = self.start(name, *words)
        self.assertEqual(server.stdout.readline(), word, "the program did not start")
        return server

    def ends_well(self, process, out, words=None):
        printed, complaints = process.communicate(words, timeout=LIMIT)
        self.assertEqual((process.returncode, complaints, printed), (0, "", out))

    def test_short_messages_come_back_unchanged(self):
        server = self.start_server("pingpong_server")
        self.ends_well(self.start("pingpong_client"), "Exchanged 500 items\n")
        self.ends_well(server, "")

    def test_long_items_come_back_unchanged(self):
        for words in [(), ("return",), ("alloc",)]:
            with self.subTest(words=words):
                server = self.start_server("long_pingpong_server")
                client = self.start("long_pingpong_client", *words)
                self.ends_well(client, "Exchanged 500 items\n")
                self.ends_well(server, "")

    def test_a_second_server_finds_the_id_taken(self):
        self.start_server("pingpong_server")
        second = self.start("pingpong_server")
        printed, complaints = second.communicate(timeout=LIMIT)
        self.assertEqual((second.returncode, printed), (1, ""))
        self.assertIn("id 1 is taken", complaints)

    def test_a_chat_line_reaches_all_clients(self):
        server = self.start_server("chat_server")
        ann = self.start("chat_client", "ann", "10")
        ann.stdin.write("anybody here?\n")
        ann.stdin.flush()
        self.assertEqual(ann.stdout.readline(), "ann> anybody here?\n")
        bob = self.start("chat_client", "bob", "11")
        bob.stdin.write("me\n")
        bob.stdin.flush()
        self.assertEqual(bob.stdout.readline(), "bob> me\n")
        self.assertEqual(ann.stdout.readline(), "bob> me\n")
        self.ends_well(ann, "ann> bye\n", "bye\n")
        self.ends_well(bob, "ann> bye\n")
        self.ends_well(server, "")

    def test_a_chat_goes_on_after_a_client_has_left(self):
        server = self.start_server("chat_server")
        ann = self.start("chat_client", "ann", "10")
        ann.stdin.write("leave\n")
        ann.stdin.flush()
        self.ends_well(ann, "ann> leave\n")
        bob = self.start("chat_client", "bob", "11")
        bob.stdin.write("alone\n")
        bob.stdin.flush()
        self.assertEqual(bob.stdout.readline(), "bob> alone\n")
        self.ends_well(bob, "bob> bye\n", "bye\n")
        self.ends_well(server, "")

    def test_pages_of_a_web_server_arrive_if_a_window_can_hold_them(self):
        server = self.start_server("web_server")
        self.ends_well(self.start("web_client"), "requesting\n450 pages, 50 too large\n")
        self.ends_well(server, "")

    def test_a_web_client_waits_for_its_server(self):
        client = self.start_server("web_client", word="requesting\n")
        server = self.start_server("web_server")
        self.ends_well(client, "450 pages, 50 too large\n")
        self.ends_well(server, "")

    def test_messages_to_an_absent_id_wait_for_it(self):
        sender = self.start_server("early_sender", word="sending\n")
        receiver = self.start_server("letter_receiver", "parcel")
        self.assertEqual(sender.stdout.readline(), "sent\n")
        self.ends_well(receiver, "early\n200000 times p\n", "look\n")
        self.ends_well(sender, "refused\n", "look\n")

    def test_a_signal_ends_a_wait_for_a_message(self):
        self.ends_well(self.start("alarm"), "all checks passed\n")

    def test_none_of_thousands_of_signals_is_missed(self):
        self.ends_well(self.start("signals"), "all checks passed\n")

    def test_a_short_message_arrives_after_its_sender_has_ended(self):
        receiver = self.start_server("letter_receiver")
        self.ends_well(self.start("letter_sender"), "")
        self.ends_well(receiver, "posted\n", "look\n")

    def test_a_sender_waits_at_exit_until_its_long_message_is_read(self):
        receiver = self.start_server("letter_receiver", "parcel")
        sender = self.start("letter_sender", "parcel")
        self.ends_well(receiver, "posted\n200000 times p\n", "look\n")
        self.ends_well(sender, "")

    def test_errors_and_unusual_uses(self):
        self.ends_well(self.start("corners"), "all checks passed\n")
        self.assertEqual(os.listdir(self.folder), [], "the context was not closed")

    def test_results_when_no_context_can_be_opened(self):
        self.ends_well(self.start("shut"), "all checks passed\n")


class Unoptimised(Compat, unittest.TestCase):
    level = "O0"


class Optimised(Compat, unittest.TestCase):
    level = "O2"


if __name__ == "__main__":
    tap.main()
