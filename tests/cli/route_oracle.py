"""An independent version of the routing algorithms of tori and NovaCubes, from the papers, with exact
fractions and without states: it follows every path of every packet. Loads of random traffic, uniform
loads and worst permutations must equal those of weft."""

import itertools
import os
import random
import sys
import tempfile
import unittest
from fractions import Fraction

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

SEED = 2002
TORI = ("torus:2", "torus:3", "torus:4", "torus:5", "torus:6", "torus:2x2", "torus:2x3",
        "torus:3x2", "torus:1x5", "torus:4x4", "torus:3x5", "torus:2x2x3")
NOVACUBES = ("novacube:4", "novacube:5", "novacube:6", "novacube:2x2", "novacube:2x3",
             "novacube:3x3", "novacube:4x4", "novacube:5x5", "novacube:6x4", "novacube:2x2x3",
             "novacube:1x6")


class Cube:
    def __init__(self, spec):
        self.sizes = tuple(map(int, spec.split(":")[1].split("x")))
        self.jumps = spec.startswith("novacube")
        self.count = 1
        for size in self.sizes:
            self.count *= size
        self.axes = range(len(self.sizes))
        self.places = [place[::-1] for place in itertools.product(*map(range, self.sizes[::-1]))]

    def node(self, place):
        node = 0
        for size, at in zip(reversed(self.sizes), reversed(place)):
            node = node * size + at % size
        return node

    def step(self, node, axis, way, hops=1):
        place = list(self.places[node])
        place[axis] += way * hops
        return self.node(place)

    def up(self, axis, node, to):
        """Hops up the axis to the coordinate of `to`."""
        return (self.places[to][axis] - self.places[node][axis]) % self.sizes[axis]

    def ring(self, axis, node, to):
        up = self.up(axis, node, to)
        return min(up, self.sizes[axis] - up)

    def distance(self, node, to):
        return sum(self.ring(axis, node, to) for axis in self.axes)

    def jump(self, node):
        """The other end of a node's jump cable: half-way round every axis; the last
        coordinate of an odd axis does not count."""
        place = self.places[node]
        if not self.jumps or any(size % 2 and 1 < size == at + 1
                                 for size, at in zip(self.sizes, place)):
            return None
        there = self.node([(at + size // 2) % (size - size % 2) if size > 1 else at
                           for size, at in zip(self.sizes, place)])
        return None if there == node else there

    def short_ways(self, axis, node, to):
        """(share, direction) of the shorter direction, or of both if they are equal."""
        up, size = self.up(axis, node, to), self.sizes[axis]
        if size > 2 and 2 * up == size:
            return [(Fraction(1, 2), 1), (Fraction(1, 2), -1)]
        return [(Fraction(1), 1 if 2 * up <= size else -1)]

    def key(self, node, port):
        axis = port // 2
        if axis == len(self.sizes):
            return node, "jump"
        return node, axis, 1 if self.sizes[axis] == 2 or port % 2 == 0 else -1


class Loads(dict):
    def __init__(self, cube):
        super().__init__()
        self.cube = cube

    def put(self, key, share):
        self[key] = self.get(key, 0) + share

    def hop(self, node, axis, way, share):
        self.put((node, axis, way if self.cube.sizes[axis] > 2 else 1), share)
        return self.cube.step(node, axis, way)

    def along(self, node, axis, to, way, share):
        while self.cube.up(axis, node, to):
            node = self.hop(node, axis, way, share)
        return node

    def dimension_order(self, node, to, share, split):
        for axis in self.cube.axes:
            ways = self.cube.short_ways(axis, node, to)
            if not split:
                ways = [(Fraction(1), ways[0][1])]
            ends = [self.along(node, axis, to, way, share * part) for part, way in ways]
            node = ends[0]


def dor(cube, source, to, split=False):
    loads = Loads(cube)
    loads.dimension_order(source, to, Fraction(1), split)
    return loads


def valiant(cube, source, to):
    loads, share = Loads(cube), Fraction(1, cube.count)
    for middle in range(cube.count):
        loads.dimension_order(source, middle, share, True)
        loads.dimension_order(middle, to, share, True)
    return loads


def boxes(cube, source, sides):
    """(probability, directions, middle node), the middle uniform in its box;
    sides[axis] lists (share, direction, hops)."""
    picks = [[(share / (hops + 1), way, at) for share, way, hops in axis for at in range(hops + 1)]
             for axis in sides]
    for choice in itertools.product(*picks):
        share, middle = Fraction(1), source
        for axis, (part, way, hops) in enumerate(choice):
            share *= part
            middle = cube.step(middle, axis, way, hops)
        yield share, [way for _, way, _ in choice], middle


def two_phases(cube, source, to, sides, orders):
    loads = Loads(cube)
    for share, ways, middle in boxes(cube, source, sides):
        for start, end in ((source, middle), (middle, to)):
            for order in orders:
                node = start
                for axis in order:
                    node = loads.along(node, axis, end, ways[axis], share / len(orders))
    return loads


def romm(cube, source, to):
    sides = [[(share, way, cube.ring(axis, source, to))
              for share, way in cube.short_ways(axis, source, to)] for axis in cube.axes]
    return two_phases(cube, source, to, sides, [tuple(cube.axes)])


def rlb(cube, source, to):
    sides = []
    for axis, size in enumerate(cube.sizes):
        up = cube.up(axis, source, to)
        if up == 0 or size == 2:
            sides.append([(Fraction(1), 1, up)])
        else:
            sides.append([(Fraction(size - up, size), 1, up), (Fraction(up, size), -1, size - up)])
    return two_phases(cube, source, to, sides, list(itertools.permutations(cube.axes)))


class Pora:
    """PORA as src/routing/torus/pora.c reads it: a first hop by the inverse squares
    of distances; a jump at the source is followed by another first hop; then
    dimension order in the box of shortest paths from that neighbour."""

    def __init__(self, cube, source, to):
        self.cube, self.to, self.loads = cube, to, Loads(cube)
        self.first(source, Fraction(1), True)

    def first(self, node, share, may_jump):
        cube = self.cube
        if node == self.to:
            return
        cables = [(axis, way) for axis, size in enumerate(cube.sizes)
                  for way in (1, -1)[:min(size - 1, 2)]]
        ends = [(cable, cube.step(node, *cable)) for cable in cables]
        if may_jump and cube.jump(node) is not None:
            ends.append((None, cube.jump(node)))
        direct = [pair for pair in ends if pair[1] == self.to]
        ends = direct or ends
        weights = [1 if direct else Fraction(1, cube.distance(end, self.to) ** 2)
                   for _, end in ends]
        for (cable, end), weight in zip(ends, weights):
            part = share * weight / sum(weights)
            if cable is None:
                self.loads.put((node, "jump"), part)
                self.first(end, part, False)
            else:
                self.loads.hop(node, *cable, part)
                self.within(end, end, part)

    def contains(self, corner, node, there):
        cube, to = self.cube, self.to
        for axis, size in enumerate(cube.sizes):
            wide = cube.ring(axis, corner, to)
            if 2 * wide != size or size == 2:
                if cube.ring(axis, corner, there) + cube.ring(axis, there, to) != wide:
                    return False
                continue
            up = cube.up(axis, node, to)
            if 2 * up == size:
                continue  # no direction is chosen yet: the whole ring
            ahead = cube.up(axis, there, to)
            if (ahead if 2 * up < size else (size - ahead) % size) > wide:
                return False
        return True

    def within(self, corner, node, share):
        cube, to = self.cube, self.to
        if node == to:
            return
        left, there, leap = cube.distance(node, to), cube.jump(node), 0
        if there is not None and self.contains(corner, node, there):
            near = cube.distance(there, to)
            if near < left - 1:
                leap = Fraction((left - 1) ** 2, (left - 1) ** 2 + near ** 2)
                self.loads.put((node, "jump"), share * leap)
                self.within(corner, there, share * leap)
        if leap == 1:
            return
        axis = next(axis for axis in cube.axes if cube.up(axis, node, to))
        for part, way in cube.short_ways(axis, node, to):
            part *= share * (1 - leap)
            self.within(corner, self.loads.hop(node, axis, way, part), part)


ALGORITHMS = {
    "dor": dor,
    "dor-split": lambda cube, source, to: dor(cube, source, to, True),
    "valiant": valiant,
    "romm": romm,
    "rlb": rlb,
    "pora": lambda cube, source, to: Pora(cube, source, to).loads,
    "pora-raised": lambda cube, source, to: Pora(cube, source, to).loads,
}


def run(command, spec, algorithm, *words):
    done = weft("route", command, spec, "--algorithm", algorithm, "--json", *words)
    assert done.code == 0, done.err
    return done.json


def load_file(spec, algorithm, demands):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "demands")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{source} {to} {amount}\n" for source, to, amount in demands)
        return run("load", spec, algorithm, "--traffic", path, "--channels")


def matrices(cube, pairs):
    """The load that each pair puts on each channel."""
    out = {}
    for pair, loads in pairs.items():
        for key, share in loads.items():
            out.setdefault(key, {})[pair] = float(share)
    return out


def heaviest(cube, weights):
    """The largest sum of a permutation, by trying all."""
    return max(sum(weights.get(pair, 0) for pair in enumerate(order))
               for order in itertools.permutations(range(cube.count)))


class Oracle(unittest.TestCase):
    def check(self, spec, algorithm):
        cube, rng = Cube(spec), random.Random(SEED)
        pairs = {(source, to): ALGORITHMS[algorithm](cube, source, to)
                 for source, to in itertools.product(range(cube.count), repeat=2)}
        demands = [(source, to, rng.choice((0.5, 1, 2))) for source, to in pairs
                   if source != to and rng.random() < 0.4] or [(0, 1, 1)]
        wanted = {}
        for source, to, amount in demands:
            for key, share in pairs[source, to].items():
                wanted[key] = wanted.get(key, 0) + amount * float(share)
        found = load_file(spec, algorithm, demands)
        got = {cube.key(int(one["from"]), one["port"]): one["load"] for one in found["channels"]}
        self.assertLessEqual(set(wanted), set(got))
        for key, amount in got.items():
            self.assertAlmostEqual(amount, wanted.get(key, 0), places=9)
        channels = matrices(cube, pairs)
        if spec.startswith("torus"):  # its capacity is a formula, so this is quick
            busiest = max(sum(each.values()) for each in channels.values()) / cube.count
            self.assertAlmostEqual(run("load", spec, algorithm)["max_channel_load"], busiest)
        if cube.count <= 6:
            worst = run("worst", spec, algorithm)
            greatest = max(heaviest(cube, each) for each in channels.values())
            self.assertAlmostEqual(worst["max_channel_load"], greatest)
            self.assertGreaterEqual(worst["max_channel_load_upper"], greatest - 1e-9)

    def test_the_algorithms_of_the_torus_equal_the_independent_ones(self):
        for spec, algorithm in itertools.product(TORI + ("novacube:4x2", "novacube:3x3"),
                                                 ("dor", "dor-split", "valiant", "romm", "rlb")):
            with self.subTest(spec=spec, algorithm=algorithm, seed=SEED):
                self.check(spec, algorithm)

    def test_pora_equals_the_independent_one(self):
        for spec in NOVACUBES + ("torus:4x4", "torus:5x2"):
            for algorithm in ("pora", "pora-raised"):
                with self.subTest(spec=spec, algorithm=algorithm, seed=SEED):
                    self.check(spec, algorithm)


main()
