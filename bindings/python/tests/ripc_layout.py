"""The ctypes structures and functions of ripc match the C header."""

import layout
from tap import main

layout.skip_if_sanitized()

from weft import _library, ripc  # noqa: E402


class Layout(layout.Case):
    header = layout.Header("ripc.h", {"iovec": ["iov_base", "iov_len"]})
    module = _library
    constants = {
        **{"RIPC_" + name: getattr(_library, name) for name in (
            "SHORT_MAX", "ITEM_MAX", "REASON_MAX", "MANUAL", "MOVES", "READ", "WRITE", "NOW", "FOREVER")},
        **{"RIPC_" + name: getattr(ripc, name) for name in (
            "DONE", "CREDIT", "UP", "MOVED", "DOWN")},
    }
    # Python uses ripc_send_message instead of ripc_send, and does not resize buffers
    left_out = {"ripc_send", "ripc_resize"}


main()
