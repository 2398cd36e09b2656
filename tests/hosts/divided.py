"""Tables whose members are on two hosts while the network between these is interrupted, and after it is whole
again (see hosts.py for the hosts). Only one part of the members may go on: the part with more members, or the
part with the eldest member if both have as many. The others are expelled, and can open the table again."""

import collections
import socket
import subprocess
import sys

from hosts import ADDRESSES, PATIENCE, Hosts, Multicast, NamesFile, Udp
from tap import main

CONNECT = """
import socket, sys, time
while True:
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), 1).close()
        break
    except OSError:
        time.sleep(0.02)
"""


def await_passage():
    """Waits until the second host reaches the first. A program that starts before that may find no member, and
    found a table of its own, which is then the one that must end."""
    with socket.create_server((ADDRESSES["east"], 0)) as server:
        subprocess.run(["nsenter", "--target", str(Hosts.other), "--net", sys.executable, "-c", CONNECT,
                        ADDRESSES["east"], str(server.getsockname()[1])], check=True, timeout=PATIENCE)


def link(state):
    subprocess.run(["ip", "link", "set", "east", state], check=True)
    if state == "up":  # the route ended with the link
        subprocess.run(["ip", "route", "replace", "224.0.0.0/4", "dev", "east"], check=True)
        await_passage()


class Divided:
    def setUp(self):
        super().setUp()
        self.addCleanup(link, "up")
        self.members = {}

    def join(self, number, host, design="writes"):
        """Starts a member; the others see it. Members are elder in the order of these calls."""
        program = self.start(host, "member", self.table, number, 1, design, ids=(number,))
        program.expect("open as row")
        for other in self.members.values():
            other.expect(f"{len(self.members) + 1} live")
        self.members[number] = program
        return program

    def form(self, table, *hosts, design="writes"):
        self.table = table
        return [self.join(table + 1 + i, host, design) for i, host in enumerate(hosts)]

    def expelled(self, *numbers):
        """These members are expelled, and leave. The others go on, and know it."""
        for number in numbers:
            self.members[number].expect("expelled")
        for number in numbers:
            self.members.pop(number).end("closed: 0")

    def goes_on(self, host, number):
        """The table has exactly these members: a process that joins is one more."""
        self.join(number, host)
        for program in self.members.values():
            program.expect("step")
        for program in self.members.values():
            program.end("closed: 0")

    def test_the_part_with_more_members_goes_on(self):
        one, two, three = self.form(600, "east", "east", "west")
        link("down")
        for program in (one, two):
            program.expect("member 603 failed")
            program.expect("step")
        self.expelled(603)
        link("up")
        self.goes_on("west", 604)

    def test_the_eldest_member_alone_does_not_go_on(self):
        one, two, three = self.form(610, "east", "west", "west")
        link("down")
        for program in (two, three):
            program.expect("member 611 failed")
            program.expect("step")
        self.expelled(611)
        link("up")
        self.goes_on("east", 614)

    def test_of_two_members_the_eldest_goes_on(self):
        one, two = self.form(620, "west", "east")
        link("down")
        one.expect("member 622 failed")
        self.expelled(622)
        link("up")
        self.goes_on("east", 623)

    def test_of_two_equal_parts_the_one_with_the_eldest_member_goes_on(self):
        one, two, three, four = self.form(630, "east", "west", "east", "west")
        link("down")
        self.expelled(632, 634)
        for program in (one, three):
            program.expect("member")
            program.expect("step")
        link("up")
        self.goes_on("west", 635)

    def test_an_expelled_member_that_does_not_close_the_table_does_not_block_it(self):
        one, two, three, four = self.form(670, "east", "east", "west", "west")
        link("down")
        for program in (one, two):  # their host loses power
            program.kill()
        for program in (three, four):
            program.expect("expelled")
        three.end("closed: 0")  # and the program of the fourth only reads
        link("up")
        self.members = {}
        self.join(675, "west")
        self.goes_on("east", 676)
        four.end("closed: 0")

    def test_a_multicast_delivers_no_number_twice(self):
        logs = [self.scratch / f"log-{i}" for i in range(4)]
        singers = [self.start(host, "chorus", 660, 661 + i, 3, logs[i], ids=(661 + i,))
                   for i, host in enumerate(("east", "west", "west"))]
        for program in singers:
            program.expect("open")
            program.expect("verse")
        link("down")
        singers[0].expect("stale")  # what a send returns to a member that was expelled
        for program in singers[1:]:
            program.expect("2 sing")
        link("up")
        fourth = self.start("east", "chorus", 660, 664, 1, logs[3], ids=(664,))
        for program in (*singers[1:], fourth):
            program.expect("3 sing")
            for _ in range(2):
                program.expect("verse")
        for program in (*singers, fourth):
            program.end("closed")
        said = collections.defaultdict(set)
        for log in logs:
            for line in log.read_text().splitlines():
                sequence, rest = line.split(" ", 1)
                said[sequence].add(rest)
        self.assertEqual({sequence: rests for sequence, rests in said.items() if len(rests) > 1}, {})
        others = set(logs[1].read_text().splitlines())
        self.assertEqual(set(logs[0].read_text().splitlines()) - others, set())


class Founded:
    """With a file of names a process knows that there are others which it cannot reach, and waits for them. With
    multicast names it cannot know that."""

    def test_a_table_founded_again_meanwhile_ends_when_the_network_is_whole(self):
        one, two, three = self.form(640, "east", "east", "west")
        link("down")
        self.expelled(643)
        again = self.start("west", "member", 640, 644, 1, "writes", ids=(644,))
        again.expect("open as row 0")  # the process cannot know of the others
        link("up")
        again.expect("expelled")
        again.end("closed: 0")
        self.goes_on("west", 645)


class DividedMulticastOverFabric(Founded, Divided, Multicast, Hosts):
    pass


class DividedMulticastOverUdp(Udp, Founded, Divided, Multicast, Hosts):
    pass


class DividedFileOverUdp(Udp, Divided, NamesFile, Hosts):
    pass


if __name__ == "__main__":
    main()
