"""The functions and structures of <weft/ripc.h> as ctypes declarations.

This module is internal; programs use weft.ripc. A test compares every structure with
the layout that a C compiler gives it."""

import ctypes
import ctypes.util
import os
import pathlib
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_int, c_int64,
                    c_size_t, c_uint, c_uint16, c_uint32, c_uint64, c_void_p)

NOW = 0
FOREVER = 2**63 - 1
SHORT_MAX = 8900
ITEM_MAX = 64
REASON_MAX = 320
MANUAL = 1
MOVES = 1
READ, WRITE = 1, 2


class Iovec(Structure):
    _fields_ = [("iov_base", c_void_p), ("iov_len", c_size_t)]


class Config(Structure):
    _fields_ = [
        ("domain", c_char_p), ("names", c_char_p), ("transports", c_char_p),
        ("address", c_char_p), ("provider", c_char_p),
        ("secret", c_void_p), ("secret_size", c_size_t),
        ("flags", c_uint32), ("ring_slots", c_uint32), ("ring_bytes", c_uint32),
        ("spin_nsec", c_int64), ("yield_nsec", c_int64), ("reason", c_void_p),
        ("node", c_char_p), ("port", c_uint16),
    ]


class Send(Structure):
    _fields_ = [
        ("to", c_uint64),
        ("shorts", POINTER(Iovec)), ("longs", POINTER(Iovec)), ("returns", POINTER(Iovec)),
        ("short_count", c_uint16), ("long_count", c_uint16), ("return_count", c_uint16),
        ("user", c_uint64), ("deadline", c_int64),
    ]


class Event(Structure):
    _fields_ = [("kind", c_int), ("status", c_int), ("operation", c_int64), ("user", c_uint64),
                ("id", c_uint64), ("count", c_uint64), ("since", c_uint64)]


class Item(Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64), ("status", c_int), ("returned", c_bool),
                ("owned", c_bool)]


class Message(Structure):
    _fields_ = [
        ("from", c_uint64), ("to", c_uint64), ("data", c_void_p), ("size", c_uint32),
        ("short_count", c_uint16), ("long_count", c_uint16), ("return_count", c_uint16),
        ("reserved", c_uint16), ("cookie", c_uint32), ("longs", POINTER(Item)),
        ("internal", c_void_p * 3),
    ]


class Grant(Structure):
    _fields_ = [("owner", c_uint64), ("key", c_uint64), ("size", c_uint64)]


class Handle(Structure):
    _fields_ = [("service", c_uint64), ("token", c_uint64)]


class Name(Structure):
    _fields_ = [("id", c_uint64), ("member", c_uint64), ("context", c_uint64),
                ("incarnation", c_uint64), ("group", c_bool), ("local", c_bool), ("pid", c_int),
                ("address", c_char * 64)]


class Stats(Structure):
    _fields_ = [(name, c_uint64) for name in (
        "sent", "sent_bytes", "received", "received_bytes", "long_sent", "long_sent_bytes",
        "long_received", "long_received_bytes", "no_credit", "pending", "rejected",
        "dropped_unknown", "protocol_errors", "peers_lost", "claims_forged", "claims_conflict",
        "garbage", "blocks", "wakes", "buffers", "buffer_bytes", "operations",
        "doubtful", "lost", "dropped_unread")]


# The structures by their names in C, for the test of their layout.
STRUCTURES = {
    "iovec": Iovec, "ripc_config": Config, "ripc_send": Send, "ripc_event": Event,
    "ripc_item": Item, "ripc_message": Message, "ripc_grant": Grant, "ripc_handle": Handle,
    "ripc_name": Name, "ripc_stats": Stats,
}

NOTICE_CALLBACK = CFUNCTYPE(None, c_void_p, c_uint64, c_uint64)
LIST_CALLBACK = CFUNCTYPE(None, c_void_p, POINTER(Name))

_PROTOTYPES = {
    # name: (result, arguments)
    "ripc_now": (c_int64, []),
    "ripc_after": (c_int64, [c_int64]),
    "ripc_strerror": (c_char_p, [c_int]),
    "ripc_open": (c_int, [POINTER(Config), POINTER(c_void_p)]),
    "ripc_close": (c_int, [c_void_p, c_int64]),
    "ripc_progress": (c_int, [c_void_p]),
    "ripc_folder": (c_char_p, [c_void_p]),
    "ripc_bind": (c_int, [c_void_p, c_uint64, c_uint32, POINTER(c_void_p)]),
    "ripc_unbind": (c_int, [c_void_p]),
    "ripc_retire": (c_int, [c_void_p, c_uint32]),
    "ripc_service_id": (c_uint64, [c_void_p]),
    "ripc_join": (c_int, [c_void_p, c_uint64]),
    "ripc_leave": (c_int, [c_void_p, c_uint64]),
    "ripc_send_message": (c_int64, [c_void_p, POINTER(Send)]),
    "ripc_transport": (c_char_p, [c_void_p, c_uint64]),
    "ripc_withdraw": (c_int, [c_void_p, c_void_p, c_int64]),
    "ripc_poll": (c_int, [c_void_p, POINTER(Event), c_uint, c_int64]),
    "ripc_wait": (c_int, [c_void_p, c_int64, c_int64]),
    "ripc_cancel": (c_int, [c_void_p, c_int64, c_int64]),
    "ripc_watch": (c_int, [c_void_p, c_uint64]),
    "ripc_unwatch": (c_int, [c_void_p, c_uint64]),
    "ripc_receive": (c_int, [c_void_p, POINTER(Message), c_uint, c_int64]),
    "ripc_short": (c_void_p, [POINTER(Message), c_uint, POINTER(c_size_t)]),
    "ripc_release": (None, [POINTER(Message)]),
    "ripc_fetch": (c_int, [POINTER(Message), c_uint, c_void_p, c_size_t, c_int64]),
    "ripc_reject": (c_int, [POINTER(Message), c_uint]),
    "ripc_alloc": (c_void_p, [c_void_p, c_size_t]),
    "ripc_free": (c_int, [c_void_p, c_void_p]),
    "ripc_register": (c_int, [c_void_p, c_void_p, c_size_t]),
    "ripc_unregister": (c_int, [c_void_p, c_void_p]),
    "ripc_window_add": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "ripc_window_remove": (c_int, [c_void_p, c_void_p, c_void_p]),
    "ripc_grant": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t, c_uint32, POINTER(Grant)]),
    "ripc_revoke": (c_int, [c_void_p, POINTER(Grant), c_int64]),
    "ripc_read": (c_int, [c_void_p, POINTER(Grant), c_uint64, c_void_p, c_size_t, c_int64]),
    "ripc_write": (c_int, [c_void_p, POINTER(Grant), c_uint64, c_void_p, c_size_t, c_int64]),
    "ripc_notice_open": (c_int, [c_void_p, NOTICE_CALLBACK, c_void_p, POINTER(c_void_p),
                                 POINTER(Handle)]),
    "ripc_notice_close": (c_int, [c_void_p]),
    "ripc_notify": (c_int, [c_void_p, POINTER(Handle), c_uint64, c_int64]),
    "ripc_notice_wait": (c_int, [c_void_p, POINTER(c_uint64), c_int64]),
    "ripc_notice_fd": (c_int, [c_void_p]),
    "ripc_fd": (c_int, [c_void_p]),
    "ripc_arm": (c_int, [c_void_p]),
    "ripc_stats": (c_int, [c_void_p, POINTER(Stats)]),
    "ripc_list": (c_int, [c_void_p, LIST_CALLBACK, c_void_p]),
    "ripc_clean": (c_int, [c_char_p]),
}


def _candidates():
    """Yields the paths to try: only WEFT_LIBRARY if it is set; else the build folder
    of the source tree that contains this file, if there is one; then the installed library."""
    named = os.environ.get("WEFT_LIBRARY")
    if named:
        yield named
        return
    built = pathlib.Path(__file__).resolve().parents[3] / "build" / "libweft.so"
    if built.exists():
        yield str(built)
    found = ctypes.util.find_library("weft")
    if found:
        yield found
    yield "libweft.so.0"


def _load():
    reasons = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError("cannot load libweft.so; install weft, or set WEFT_LIBRARY to its path: " +
                      "; ".join(reasons))


library = _load()


def declare(prototypes):
    """Declares the argument and result types of these functions to ctypes."""
    for name, (result, arguments) in prototypes.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


declare(_PROTOTYPES)
