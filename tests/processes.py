"""processes: what the system says of them."""

import os


def stat(pid):
    """The state of one and its parent; None: it is gone, perhaps between the open and the read."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, parent = file.read().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent)


def lives(pid):
    """A process that runs; one that nobody has buried does not."""
    found = stat(pid)
    return found is not None and found[0] != "Z"


def children(parent):
    """Those that one has started and that live."""
    every = ((int(entry), stat(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return {pid for pid, found in every if found and found[1] == parent and found[0] != "Z"}
