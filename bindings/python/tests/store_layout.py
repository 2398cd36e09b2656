"""The ctypes structures and functions of weft.store match the C header."""

import layout
from tap import main

layout.skip_if_sanitized()

from weft import store  # noqa: E402


class Layout(layout.Case):
    header = layout.Header("store.h")
    module = store
    constants = {
        "WEFT_STORE_KEY_MAX": store.KEY_MAX, "WEFT_STORE_VALUE_MAX": store.VALUE_MAX,
        "WEFT_STORE_UNDER_WAY": store.UNDER_WAY,
        "WEFT_STORE_GET": store.GET, "WEFT_STORE_PUT": store.PUT,
        "WEFT_STORE_DELETE": store.DELETE, "WEFT_STORE_INCR": store.INCR,
        "WEFT_STORE_DECR": store.DECR, "WEFT_STORE_APPEND": store.APPEND,
        "WEFT_STORE_PREPEND": store.PREPEND, "WEFT_STORE_TOUCH": store.TOUCH,
        "WEFT_STORE_SCAN": store.SCAN, "WEFT_STORE_TTL_MAX": store.TTL_MAX,
        "WEFT_STORE_AFTER": store._AFTER, "WEFT_STORE_HERE": store._HERE,
        "WEFT_STORE_ALWAYS": store.ALWAYS, "WEFT_STORE_IF_ABSENT": store.IF_ABSENT,
        "WEFT_STORE_IF_PRESENT": store.IF_PRESENT, "WEFT_STORE_IF_VERSION": store.IF_VERSION,
    }
    # Store posts every request, so that Ctrl-C is noticed while it waits for the answer.
    left_out = {"weft_store_ask", "weft_store_get", "weft_store_put", "weft_store_put_for",
                "weft_store_touch", "weft_store_exchange", "weft_store_delete", "weft_store_add",
                "weft_store_scan"}


main()
