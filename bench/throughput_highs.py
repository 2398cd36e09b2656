"""throughput_highs: the exact linear program of the benchmark, by HiGHS.

Reads a file of "NODES LINKS DEMANDS", then a line "A B" per link and "FROM TO
AMOUNT" per demand; prints the throughput and the seconds the solver took. Ends
with code 3 if there is no SciPy.
"""

import sys
import time

try:
    import numpy
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix
except ImportError:
    sys.exit(3)


def read(words):
    nodes, links, demands = (int(next(words)) for _ in range(3))
    ends = [(int(next(words)), int(next(words))) for _ in range(links)]
    asked = [(int(next(words)), int(next(words)), float(next(words))) for _ in range(demands)]
    channels = [end for a, b in ends for end in ((a, b), (b, a))]
    return nodes, channels, asked


def program(nodes, channels, demands):
    """One flow per source; the last variable is the throughput."""
    sources = sorted({a for a, _, _ in demands})
    number = {node: i for i, node in enumerate(sources)}
    balance, capacity = [], []
    for s in range(len(sources)):
        for c, (a, b) in enumerate(channels):
            column = s * len(channels) + c
            balance += [(s * nodes + b, column, 1.0), (s * nodes + a, column, -1.0)]
            capacity.append((c, column, 1.0))
    last = len(sources) * len(channels)
    for a, b, amount in demands:
        balance.append((number[a] * nodes + b, last, -amount))
        balance.append((number[a] * nodes + a, last, amount))
    return matrix(balance, len(sources) * nodes, last + 1), matrix(capacity, len(channels), last + 1)


def matrix(entries, rows, columns):
    row, column, value = zip(*entries)
    return coo_matrix((value, (row, column)), shape=(rows, columns)).tocsr()


def main():
    equal, below = program(*read(iter(open(sys.argv[1]).read().split())))
    cost = numpy.zeros(equal.shape[1])
    cost[-1] = -1
    begin = time.process_time()
    answer = linprog(cost, A_ub=below, b_ub=numpy.ones(below.shape[0]), A_eq=equal,
                     b_eq=numpy.zeros(equal.shape[0]), method="highs-ipm")
    seconds = time.process_time() - begin
    if answer.status:
        sys.exit(f"HiGHS: {answer.message}")
    print(repr(float(answer.x[-1])), seconds)


main()
