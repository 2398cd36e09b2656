"""cycles: checks by their symbols that the files of a layer do not depend on each other in cycles, and
that no two files of weft define the same function or variable.

    tools/cycles.py BUILD [ROOT]

A file depends on a second file of its layer if its object uses a symbol that the second object
defines. Files that depend on each other in a cycle cannot be read, tested or replaced one by one. Each
cycle is printed with its symbols and is an error, unless tools/cycles.txt lists it with a reason. A
listed cycle that no longer exists, or is smaller now, is an error, too.

The linker takes the first of two definitions in static libraries without a word, and programs contain
different libraries; so a call could reach another function than the one that was meant.
"""

import collections
import json
import pathlib
import subprocess
import sys

DEFINED = "TDBRVWCGSiu"  # nm's letters for symbols that other objects can use
STRONG = "TDBRGS"  # ... and that only one may define


def objects_read(build, root):
    """Returns {layer: {file within the layer: object}} of the sources below src, without tests."""
    layers = collections.defaultdict(dict)
    for command in json.loads((build / "compile_commands.json").read_text()):
        source = (pathlib.Path(command["directory"]) / command["file"]).resolve()
        built = build / command["output"]
        if source.is_relative_to(root / "src") and not source.stem.endswith("_test") and built.exists():
            layer, *inside = source.relative_to(root / "src").with_suffix("").parts
            layers[layer].setdefault("/".join(inside), built)
    return layers


def symbols_read(objects):
    """Yields (file, nm's letter, symbol) of objects given as {file: object}."""
    names = {str(built): name for name, built in objects.items()}
    listing = subprocess.run(["nm", "-A", *names], capture_output=True, text=True, check=True)
    for line in listing.stdout.splitlines():
        built, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        yield names[built], kind, symbol


def edges_find(objects):
    """Returns {file: {file that it depends on: the symbols}}."""
    used, home = collections.defaultdict(set), {}
    for name, kind, symbol in symbols_read(objects):
        if kind == "U":
            used[name].add(symbol)
        elif kind in DEFINED:
            home[symbol] = name
    edges = {name: collections.defaultdict(set) for name in objects}
    for name, symbols in used.items():
        for symbol in symbols:
            if home.get(symbol, name) != name:
                edges[name][home[symbol]].add(symbol)
    return edges


def reachable(edges, start):
    seen, open_ = set(), [start]
    while open_:
        for name in edges[open_.pop()]:
            if name not in seen:
                seen.add(name)
                open_.append(name)
    return seen


def cycles_find(edges):
    """Returns the sets of files in which every file depends on every other, directly or not."""
    reach = {name: reachable(edges, name) for name in edges}
    cycles = {frozenset(other for other in reach[name] if name in reach[other])
               for name in edges if name in reach[name]}
    return sorted(cycles, key=sorted)


def listed_read(path):
    """Returns {(layer, files): reason}; a line is `layer: file file ... # reason`."""
    listed = {}
    for line in path.read_text().splitlines():
        names, _, reason = line.partition("#")
        if names.strip():
            layer, files = names.split(":")
            listed[layer.strip(), frozenset(files.split())] = reason.strip()
    return listed


def cycle_print(layer, cycle, edges):
    print(f"cycles: {layer}: {' '.join(sorted(cycle))}")
    for name in sorted(cycle):
        for other in sorted(set(edges[name]) & cycle):
            print(f"    {name} -> {other}: {' '.join(sorted(edges[name][other]))}")


def twins_find(layers):
    """Returns {symbol: the files that define it} of symbols that several files define."""
    homes = collections.defaultdict(set)
    for layer, objects in layers.items():
        for name, kind, symbol in symbols_read(objects):
            if kind in STRONG and symbol != "main":
                homes[symbol].add(f"{layer}/{name}")
    return {symbol: files for symbol, files in homes.items() if len(files) > 1}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    listed = listed_read(root / "tools" / "cycles.txt")
    layers = objects_read(build, root)
    found, bad = set(), 0
    for layer, objects in sorted(layers.items()):
        edges = edges_find(objects)
        for cycle in cycles_find(edges):
            found.add((layer, cycle))
            if not listed.get((layer, cycle)):
                cycle_print(layer, cycle, edges)
                bad += 1
    for layer, cycle in sorted(set(listed) - found, key=str):
        print("cycles: tools/cycles.txt lists files that are no cycle: "
              f"{layer}: {' '.join(sorted(cycle))}")
        bad += 1
    for symbol, files in sorted(twins_find(layers).items()):
        print(f"cycles: {' and '.join(sorted(files))} define {symbol}")
        bad += 1
    count = sum(len(objects) for objects in layers.values())
    print(f"cycles: {count} files in {len(layers)} layers, {len(listed)} listed cycles, {bad} findings")
    return 1 if bad or not count else 0


sys.exit(main())
