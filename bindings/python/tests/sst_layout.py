"""The ctypes structures and functions of sst match the C header."""

import layout
from tap import main

layout.skip_if_sanitized()

from weft import _sst  # noqa: E402


class Layout(layout.Case):
    header = layout.Header("sst.h")
    module = _sst
    constants = {"SST_" + name: getattr(_sst, name) for name in (
        "ROWS_MAX", "COLUMNS_MAX", "NAME_MAX", "BOOL", "U8", "I8", "BYTES", "U16", "I16", "U32",
        "I32", "F32", "U64", "I64", "F64", "GUARD", "GROWS", "WRITES", "READS", "MANUAL", "DROP",
        "FAILED", "EPOCH", "STUCK", "EXPELLED", "ONCE", "RECURRENT", "TRANSITION")}
    # Python keeps the triggers of a predicate in a list, and always copies elements
    left_out = {"sst_trigger_add", "sst_cells"}


main()
