"""summary: counts the cases of a Meson test log, prints why cases failed, and ends with the line
`N passed, N failed`. Fails if a case failed or if none ran."""

import re
import sys
import xml.etree.ElementTree as xml

REASON_LINES = 40


def reason(printed, name):
    """Returns the comments around a case's verdict: tests in Python print them before it, cmocka after it."""
    lines = printed.splitlines()
    verdict = next((i for i, line in enumerate(lines) if line.startswith(f"not ok {name}")), None)
    if verdict is None:
        return []
    first = last = verdict
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].startswith("#"):
        last += 1
    return (lines[first:verdict] + lines[verdict + 1 : last + 1])[-REASON_LINES:]


# Meson copies the output of a failed test, including characters that XML does not allow, like escapes.
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    text = re.sub("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]", "?", log.read())

passed = failed = skipped = 0
for suite in xml.fromstring(text.encode()).iter("testsuite"):
    for case in suite.iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failed += 1
            print(f"failed: {case.get('classname')} {case.get('name')}")
            for line in reason(suite.findtext("system-out") or "", case.get("name")):
                print("    " + line)
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
