"""k_shortest_networkx: the peer of k_shortest. Reads a file with the lines

    k K
    link A B        for each cable
    pair FROM TO    for each pair

finds the K shortest loopless paths of every pair, and prints the seconds of
processor time that this took, then a line of path lengths for each pair. Ends with
code 3 if there is no networkx."""

import itertools
import sys
import time

try:
    import networkx
except ImportError:
    sys.exit(3)


def main():
    graph = networkx.Graph()
    pairs = []
    for line in open(sys.argv[1]):
        word, *numbers = line.split()
        numbers = [int(number) for number in numbers]
        if word == "k":
            k = numbers[0]
        elif word == "link":
            graph.add_edge(*numbers)
        else:
            pairs.append(numbers)
    started = time.process_time()
    found = [list(itertools.islice(networkx.shortest_simple_paths(graph, a, b), k))
             for a, b in pairs]
    print(time.process_time() - started)
    for paths in found:
        print(*(len(path) - 1 for path in paths))


main()
