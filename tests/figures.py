"""figures: runs `weft paper` and reads its results, for the tests of `weft paper`."""

from tap import weft


def complaints(done):
    """Returns the text on stderr, and the name and error of each figure that could not run."""
    figures = done.json["figures"] if done.out else []
    return done.err, [(figure["name"], figure["error"]) for figure in figures if "error" in figure]


def ran(done):
    """Whether all figures of a run with --json ran and its exit code is 1 exactly if a claim differs."""
    if done.code == 2 or complaints(done)[1]:
        return False
    verdicts = {claim["verdict"] for figure in done.json["figures"] for claim in figure["claims"]}
    return done.code == ("differs" in verdicts)


def run(name, *words):
    """Runs a figure at its quick size and returns its JSON object."""
    done = weft("paper", "run", name, "--quick", "--json", *words)
    assert ran(done), (done.code, complaints(done))
    (figure,) = done.json["figures"]
    return figure


def rows(figure, table=0, **wanted):
    """Returns rows of a table as dictionaries: all rows, or those that have the wanted values."""
    table = figure["tables"][table]
    names = [column["name"] for column in table["columns"]]
    every = [dict(zip(names, row)) for row in table["rows"]]
    return [row for row in every if all(row[key] == value for key, value in wanted.items())]
