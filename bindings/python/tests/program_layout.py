"""The ctypes structures and functions of weft.program match the C header."""

import layout
from tap import main

layout.skip_if_sanitized()

from weft import program  # noqa: E402


class Layout(layout.Case):
    header = layout.Header("weft.h")
    module = program
    constants = {
        "WEFT_ANY": program.ANY, "WEFT_MESSAGE_MAX": program.MESSAGE_MAX,
        "WEFT_BY_SOCKET": program.BY_SOCKET, "WEFT_ANSWER": program.ANSWER,
        "WEFT_EVENT": program.EVENT, "WEFT_ENDED": program.ENDED, "WEFT_LOST": program.LOST,
        "WEFT_BACK": program.BACK, "WEFT_NOW": program._NOW, "WEFT_FOREVER": program._FOREVER,
    }
    left_out = set()


main()
