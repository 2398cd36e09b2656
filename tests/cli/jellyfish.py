"""Jellyfish through the command line: what can be built is, the rest is refused in one line."""

import sys
import unittest

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

BUILT = [
    "n=64,degree=6",
    "n=1,degree=0",
    "n=2,degree=1",
    "n=6,degree=4,seed=9",
    "servers=686,switches=245,ports=14",
    "servers=14,switches=1,ports=14",
    "servers=300,ports=30x12+10x24,bare=3",
    "servers=80,switches=40,ports=12,containers=8,local=0.4",
]

REFUSED = {
    "": "key=value",
    "n=5,degree=3": "n times degree is odd, but it must be even",
    "n=4,degree=4": "degree must be less than n",
    "n=64,degree=1": "32 links cannot connect 64 nodes",
    "n=1000000000000,degree=4": "n must be a whole number",
    "n=18446744073709551616,degree=4": "n must be a whole number",
    "n=10,degree=3,colour=red": "no parameter 'colour'",
    "n=10,degree=3,degree=3": "given twice",
    "servers=1000,switches=10,ports=24": "1000 servers do not fit on 240 ports",
    "servers=240,switches=10,ports=24": "without a port for a link",
    "servers=10,switches=20,ports=24": "others to link to",
    "servers=10,switches=20,ports=x": "10x24+5x48",
    "servers=80,switches=40,ports=12,containers=1,local=0.4": "local must be 1",
    "servers=80,switches=40,ports=12,containers=20,local=0.4": "too small",
}


class Jellyfish(unittest.TestCase):
    def test_possible_networks_are_built(self):
        for words in BUILT:
            run = weft("topo", "build", "jellyfish:" + words)
            self.assertEqual((run.code, run.err), (0, ""), words)
            self.assertNotEqual(run.out, "", words)

    def test_impossible_networks_are_refused_in_one_line(self):
        for words, reason in REFUSED.items():
            run = weft("topo", "build", "jellyfish:" + words)
            self.assertEqual(run.code, 2, words)
            self.assertEqual(run.out, "", words)
            self.assertRegex(run.err, r"^weft: jellyfish:[^\n]+\n$")
            self.assertIn(reason, run.err)

    def test_the_same_seed_builds_the_same_network(self):
        words = "jellyfish:n=200,degree=5,seed=12"
        self.assertEqual(weft("topo", "build", words).out, weft("topo", "build", words).out)


main()
