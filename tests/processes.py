"""processes: which processes run, by /proc."""

import os


def stat(pid):
    """State and parent of a process; None if it has ended, perhaps between the open and the read."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, parent = file.read().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent)


def lives(pid):
    """Tells whether a process runs; a zombie does not."""
    found = stat(pid)
    return found is not None and found[0] != "Z"


def children(parent):
    """The running children of a process."""
    every = ((int(entry), stat(entry)) for entry in os.listdir("/proc") if entry.isdigit())
    return {pid for pid, found in every if found and found[1] == parent and found[0] != "Z"}
