"""summary: counts the cases of a Meson test log and closes with one line,
`N passed, N failed`. Fails if a case failed or if none ran."""

import re
import sys
import xml.etree.ElementTree as xml

# Meson copies what a failed test printed, also what XML does not allow: a console's escapes.
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    text = re.sub("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]", "?", log.read())

passed = failed = skipped = 0
for case in xml.fromstring(text.encode()).iter("testcase"):
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        failed += 1
        print(f"failed: {case.get('classname')} {case.get('name')}")
    elif "skipped" in kinds:
        skipped += 1
    else:
        passed += 1
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
