"""hiccups: runs a command and stops random processes below it for a moment, as on an overloaded
machine. A test that mistakes slowness for a fault fails here, and not some day by chance.

    tools/hiccups.py [--seed S] [--rate PER_SECOND] [--longest SECONDS] COMMAND [WORD...]

Prints the seed and the number of stops; its exit code is that of the command. A process that is
already stopped is left alone, because a test has stopped it."""

import argparse
import ctypes
import heapq
import os
import random
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
SHORTEST = 0.02  # seconds


def descendants(root):
    """Returns the processes below root that run or sleep."""
    children, running = {}, set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue  # the process has ended
        children.setdefault(int(parent), []).append(int(entry))
        if state in "RSD":
            running.add(int(entry))
    found, left = [], [root]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return sorted(running.intersection(found))


def send(pid, number):
    try:
        os.kill(pid, number)
        return True
    except OSError:
        return False


def buried(pid):
    """Reaps ended processes, also orphans, whose reaper we are. Returns the exit code of the child
    `pid` once it has ended."""
    code = None
    while True:
        try:
            gone, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not gone:
            return code
        if gone == pid:
            code = os.waitstatus_to_exitcode(status)


def hiccups(command, rng, rate, longest):
    """Runs the command. Returns its exit code and the number of stops."""
    child = subprocess.Popen(command).pid
    stopped, count = [], 0  # a heap of (until, pid)
    following = time.monotonic() + rng.expovariate(rate)
    try:
        while (code := buried(child)) is None:
            now = time.monotonic()
            while stopped and stopped[0][0] <= now:
                send(heapq.heappop(stopped)[1], signal.SIGCONT)
            if following <= now:
                following = now + rng.expovariate(rate)
                below = [pid for pid in descendants(os.getpid()) if pid != child]
                if below and send(victim := rng.choice(below), signal.SIGSTOP):
                    heapq.heappush(stopped, (now + rng.uniform(SHORTEST, longest), victim))
                    count += 1
            time.sleep(0.005)
        return code, count
    finally:
        for _, pid in stopped:
            send(pid, signal.SIGCONT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--rate", type=float, default=8, help="hiccups a second (8)")
    parser.add_argument("--longest", type=float, default=0.5, help="seconds (0.5)")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    words = parser.parse_args()
    if not words.command or words.rate <= 0 or words.longest < SHORTEST:
        parser.error(f"give a command, a rate above 0, and a longest stop of at least {SHORTEST} s")
    print(f"hiccups: seed {words.seed}", flush=True)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    code, count = hiccups(words.command, random.Random(words.seed), words.rate, words.longest)
    print(f"hiccups: {count}")
    sys.exit(code if code >= 0 else 128 - code)


main()
