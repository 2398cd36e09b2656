"""The functions and structures of <weft/sst.h> as ctypes declarations.

This module is internal; programs use weft.sst. A test compares every structure with
the layout that a C compiler gives it."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double, c_int, c_int64,
                    c_uint, c_uint32, c_uint64, c_void_p)

from weft import _library

ROWS_MAX = 256
COLUMNS_MAX = 128
NAME_MAX = 32

(BOOL, U8, I8, BYTES, U16, I16, U32, I32, F32, U64, I64, F64) = range(1, 13)
GUARD, GROWS = 1, 2
WRITES, READS = 0, 1
MANUAL, DROP = 1, 2
FAILED, EPOCH, STUCK, EXPELLED = range(1, 5)
ONCE, RECURRENT, TRANSITION = range(1, 4)


class Column(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("count", c_uint32), ("offset", c_uint32),
                ("flags", c_uint32)]


class News(Structure):
    _fields_ = [("kind", c_int), ("row", c_uint32), ("member", c_uint64), ("epoch", c_uint64),
                ("name", c_char_p), ("nsec", c_int64)]


UPCALL = CFUNCTYPE(None, c_void_p, POINTER(News), c_void_p)
HOLDS = CFUNCTYPE(c_bool, c_void_p, c_void_p)
FIRE = CFUNCTYPE(None, c_void_p, c_void_p)


class Config(Structure):
    _fields_ = [
        ("table", c_uint64), ("columns", POINTER(Column)), ("column_count", c_uint32),
        ("row_size", c_uint32), ("member", c_uint64), ("design", c_int), ("flags", c_uint32),
        ("rows_max", c_uint32), ("rows_wanted", c_uint32), ("deadline", c_int64),
        ("spin_nsec", c_int64), ("yield_nsec", c_int64), ("refresh_nsec", c_int64),
        ("trigger_nsec", c_int64), ("upcall", UPCALL), ("argument", c_void_p),
        ("reason", c_void_p),
    ]


class Range(Structure):
    _fields_ = [("column", c_uint32), ("first", c_uint32), ("count", c_uint32)]


class Rows(Structure):
    _fields_ = [("bits", c_uint64 * (ROWS_MAX // 64))]


class Predicate(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("holds", HOLDS), ("fire", FIRE),
                ("argument", c_void_p), ("columns", POINTER(c_uint32)), ("column_count", c_uint32)]


class Stats(Structure):
    _fields_ = [(name, c_uint64) for name in (
        "passes", "evaluations", "fires", "puts", "put_bytes", "fetches", "retries", "blocks",
        "wakes", "failures", "refused", "strange")]


# The structures by their names in C, for the test of their layout.
STRUCTURES = {
    "sst_column": Column, "sst_news": News, "sst_config": Config, "sst_range": Range,
    "sst_rows": Rows, "sst_predicate": Predicate, "sst_stats": Stats,
}

_NUMBERS = {"u64": c_uint64, "i64": c_int64, "f64": c_double}

_PROTOTYPES = {
    # name: (result, arguments)
    "sst_open": (c_int, [c_void_p, POINTER(Config), POINTER(c_void_p)]),
    "sst_close": (c_int, [c_void_p, c_int64]),
    "sst_epoch": (c_uint64, [c_void_p]),
    "sst_row_own": (c_uint32, [c_void_p]),
    "sst_row_count": (c_uint32, [c_void_p]),
    "sst_live_count": (c_uint32, [c_void_p]),
    "sst_is_live": (c_bool, [c_void_p, c_uint32]),
    "sst_member": (c_uint64, [c_void_p, c_uint32]),
    "sst_row_of": (c_int, [c_void_p, c_uint64]),
    "sst_freeze": (c_int, [c_void_p, c_uint32]),
    "sst_own": (c_void_p, [c_void_p]),
    "sst_put": (c_int, [c_void_p, POINTER(Range), c_uint, POINTER(Rows)]),
    "sst_publish": (c_int, [c_void_p, POINTER(Range), c_uint, c_uint32, c_uint64, POINTER(Rows)]),
    "sst_flush": (c_int, [c_void_p, c_int64]),
    "sst_barrier": (c_int, [c_void_p, c_int64]),
    "sst_get": (c_int, [c_void_p, c_uint32, POINTER(Range), c_void_p]),
    "sst_row": (c_int, [c_void_p, c_uint32, c_void_p]),
    "sst_snapshot_take": (c_int, [c_void_p, POINTER(c_void_p)]),
    "sst_snapshot_free": (None, [c_void_p]),
    "sst_snapshot_epoch": (c_uint64, [c_void_p]),
    "sst_snapshot_is_live": (c_bool, [c_void_p, c_uint32]),
    "sst_snapshot_row": (c_void_p, [c_void_p, c_uint32]),
    "sst_all_equal": (c_bool, [c_void_p, c_uint32]),
    "sst_predicate_add": (c_int, [c_void_p, POINTER(Predicate), POINTER(c_uint64)]),
    "sst_predicate_remove": (c_int, [c_void_p, c_uint64]),
    "sst_wait": (c_int, [c_void_p, HOLDS, c_void_p, POINTER(c_uint32), c_uint32, c_int64]),
    "sst_step": (c_int, [c_void_p, c_int64]),
    "sst_stats": (c_int, [c_void_p, POINTER(Stats)]),
}
for _kind, _number in _NUMBERS.items():
    _PROTOTYPES[f"sst_set_{_kind}"] = (c_int, [c_void_p, c_uint32, _number])
    _PROTOTYPES[f"sst_get_{_kind}"] = (_number, [c_void_p, c_uint32, c_uint32])
    for _what in ("minimum", "maximum", "sum"):
        _PROTOTYPES[f"sst_{_what}_{_kind}"] = (_number, [c_void_p, c_uint32])
    _PROTOTYPES[f"sst_all_at_least_{_kind}"] = (c_bool, [c_void_p, c_uint32, _number])
    _PROTOTYPES[f"sst_count_{_kind}"] = (c_uint32, [c_void_p, c_uint32, _number])

_library.declare(_PROTOTYPES)
