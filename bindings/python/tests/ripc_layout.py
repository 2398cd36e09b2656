"""ctypes lays every structure out as the C compiler does, and knows every function."""

import layout
from tap import main

layout.skip_if_sanitized()

from weft import _library, ripc  # noqa: E402


class Layout(layout.Case):
    header = layout.Header("ripc.h", {"iovec": ["iov_base", "iov_len"]})
    module = _library
    constants = {
        **{"RIPC_" + name: getattr(_library, name) for name in (
            "SHORT_MAX", "ITEM_MAX", "REASON_MAX", "MANUAL", "READ", "WRITE", "NOW", "FOREVER")},
        **{"RIPC_" + name: getattr(ripc, name) for name in (
            "DONE", "CREDIT", "UP", "MOVED", "DOWN")},
    }
    # send_message does what send does; buffers are not resized
    left_out = {"ripc_send", "ripc_resize"}


main()
