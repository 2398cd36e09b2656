"""figures: runs `weft paper` and reads its results, for the tests of `weft paper`."""

from tap import weft


def complaints(done):
    """The errors that `weft paper ... --json` printed, also of figures that could not run."""
    figures = done.json["figures"] if done.out else []
    return done.err, [(figure["name"], figure["error"]) for figure in figures if "error" in figure]


def run(name, *words):
    """Runs a figure at its quick size and returns its JSON object."""
    done = weft("paper", "run", name, "--quick", "--json", *words)
    assert done.code == 0, complaints(done)
    (figure,) = done.json["figures"]
    return figure


def rows(figure, table=0, **wanted):
    """Rows of a table as dictionaries: all rows, or those that have these values."""
    table = figure["tables"][table]
    names = [column["name"] for column in table["columns"]]
    every = [dict(zip(names, row)) for row in table["rows"]]
    return [row for row in every if all(row[key] == value for key, value in wanted.items())]
