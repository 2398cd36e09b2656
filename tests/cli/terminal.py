"""What commands draw on a terminal, and that two of them do not draw over each other."""

import os
import pathlib
import pty
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


def shell_on_terminal(script, env):
    """All that is shown on a terminal of its own where bash runs the script, with job control."""
    try:
        pid, terminal = pty.fork()
    except OSError:  # a chroot without /dev/pts
        raise unittest.SkipTest("no pseudo-terminals here")
    if pid == 0:
        os.environ.update(env, TERM="xterm")
        os.execvp("bash", ["bash", "--norc", "-c", "set -m\n" + script])
    shown = b""
    try:
        while more := os.read(terminal, 4096):
            shown += more
    except OSError:  # Linux's way to say that the other end is closed
        pass
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown.decode()


class TerminalCase(unittest.TestCase):
    def setUp(self):
        above = tempfile.TemporaryDirectory(prefix="weft-")
        self.addCleanup(above.cleanup)
        folder = pathlib.Path(above.name)
        (folder / "shared").mkdir(mode=0o700)
        self.env = {"WEFT_DIR": str(folder / "run"), "WEFT_FOLDER": str(folder / "shared"),
                    "WEFT_DOMAIN": "terminal"}


class Together(TerminalCase):
    def setUp(self):
        super().setUp()
        done = weft("up", "torus:3x3", "--silence", "30000", "--wait", PATIENCE, env=self.env)
        self.assertEqual(done.code, 0, done.err)
        self.addCleanup(weft, "down", "--grace", "0", env=self.env)

    def test_a_command_in_the_background_draws_nothing_and_prints_its_result_later(self):
        shown = shell_on_terminal('"$WEFT" bench --seconds 2 & "$WEFT" top --count 10; wait', self.env)
        self.assertNotIn("measuring", shown)
        end = shown.rindex("\033")  # of what top draws
        frames, result = shown[:end], shown[end:]
        self.assertGreaterEqual(frames.count("OK"), 5)
        self.assertNotIn("received", frames)
        self.assertRegex(result, r"9 servers saturating 4 links each[^\n]+\r\nsent [^\n]+\r\nreceived ")

    def test_in_the_foreground_the_progress_is_shown(self):
        shown = shell_on_terminal('"$WEFT" bench --seconds 2', self.env)
        self.assertIn("measuring [", shown)

    def test_a_picture_in_the_background_is_printed_once_and_not_drawn(self):
        shown = shell_on_terminal('"$WEFT" top & wait', self.env)
        self.assertNotIn("\033", shown)
        self.assertEqual(shown.count("OK"), 1)

    def test_the_time_left_does_not_grow(self):
        shown = shell_on_terminal('"$WEFT" bench --seconds 4', self.env)
        left = [int(seconds) for seconds in re.findall(r"measuring .*?, (\d+) s left", shown)]
        self.assertGreater(len(left), 3)
        self.assertEqual(left, sorted(left, reverse=True))


class Ping(TerminalCase):
    def test_long_pings_show_progress_within_a_second(self):
        server = subprocess.Popen([os.environ["WEFT"], "ripc", "serve", "42"], text=True,
                                  env={**os.environ, **self.env}, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate, timeout=PATIENCE)
        self.addCleanup(server.send_signal, signal.SIGINT)
        server.stdout.readline()
        try:
            terminal, end = pty.openpty()
        except OSError:
            raise unittest.SkipTest("no pseudo-terminals here")
        ping = subprocess.Popen([os.environ["WEFT"], "ripc", "ping", "42", "--long", "--size", "64M",
                                 "--count", "100000", "--timeout", "20000"],
                                env={**os.environ, **self.env}, stdout=subprocess.DEVNULL, stderr=end)
        begun = time.monotonic()
        os.close(end)
        first = os.read(terminal, 4096).decode()  # a line is written at once, so this has all of it
        print(f"# shown after {time.monotonic() - begun:.2f} s")
        self.assertIn("pings [", first)
        ping.send_signal(signal.SIGINT)
        self.assertEqual(ping.wait(timeout=PATIENCE), 130)
        os.close(terminal)


main()
