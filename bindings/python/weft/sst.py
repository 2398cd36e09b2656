"""Tables of state that the members of a group share, with predicates.

    from weft import ripc, sst

    with ripc.Context() as context, sst.Table(context, 7, {"step": ("u64", "grows")}) as table:
        table.predicate(lambda t: t.minimum("step") >= 1, lambda t: print("all have begun"),
                        columns=["step"], kind=sst.ONCE)
        table.set("step", 1)

Every member owns one row, which only this member writes. Every member reads all
rows from its own memory. A column is given by its name or by its number, from 0.
Timeouts are in seconds: None waits for ever, 0 does not wait. Errors are raised as
ripc.Error, an OSError.

Predicates, triggers and upcalls are called with the table, on a thread of the
library (with `manual`, in Table.step). If one of them raises an exception, the next
call of a table method from outside these callbacks raises it, at the latest
Table.close. `man 7 weft-sst` explains the concepts."""

import atexit
import collections
import ctypes
import dataclasses
import errno
import itertools
import operator
import os
import threading
import weakref

from weft import _sst as c
from weft import ripc
from weft._library import REASON_MAX, library as lib

ROWS_MAX, COLUMNS_MAX, NAME_MAX = c.ROWS_MAX, c.COLUMNS_MAX, c.NAME_MAX
WRITES, READS = c.WRITES, c.READS
FAILED, EPOCH, STUCK, EXPELLED = c.FAILED, c.EPOCH, c.STUCK, c.EXPELLED
ONCE, RECURRENT, TRANSITION = c.ONCE, c.RECURRENT, c.TRANSITION

News = collections.namedtuple("News", "kind row member epoch name nsec")


class Mismatch(ripc.Error):
    """The members use a different row layout or design."""


class Full(ripc.Error):
    """The table has no free row."""


# name: number in the library, type in a struct, type in which it is read
_TYPES = {
    "bool": (c.BOOL, ctypes.c_bool, "u64"), "bytes": (c.BYTES, ctypes.c_ubyte, None),
    "u8": (c.U8, ctypes.c_uint8, "u64"), "i8": (c.I8, ctypes.c_int8, "i64"),
    "u16": (c.U16, ctypes.c_uint16, "u64"), "i16": (c.I16, ctypes.c_int16, "i64"),
    "u32": (c.U32, ctypes.c_uint32, "u64"), "i32": (c.I32, ctypes.c_int32, "i64"),
    "f32": (c.F32, ctypes.c_float, "f64"), "u64": (c.U64, ctypes.c_uint64, "u64"),
    "i64": (c.I64, ctypes.c_int64, "i64"), "f64": (c.F64, ctypes.c_double, "f64"),
}


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of `count` elements: "bool", "bytes", "u8" to "u64", "i8" to "i64",
    "f32" or "f64". A guard tells that other columns are ready. A column that grows
    never decreases."""

    name: str
    type: str = "u64"
    count: int = 1
    guard: bool = False
    grows: bool = False

    def __post_init__(self):
        if self.type not in _TYPES:
            raise ValueError(f"column {self.name}: no type {self.type!r}")
        if not 0 < self.count < 2**32:
            raise ValueError(f"column {self.name}: {self.count} elements")

    @classmethod
    def of(cls, name, words):
        """Makes a column from a type, or from a type with a count, "guard" or "grows"."""
        type, *rest = (words,) if isinstance(words, str) else words
        counts = [word for word in rest if isinstance(word, int)]
        flags = {word: True for word in rest if word in ("guard", "grows")}
        if len(counts) > 1 or len(counts) + len(flags) != len(rest):
            raise ValueError(f"column {name}: {words!r}")
        return cls(name, type, *counts, **flags)

    @property
    def kind(self):
        """The type in which its numbers are read: "u64", "i64" or "f64"; None for bytes."""
        return _TYPES[self.type][2]

    @property
    def element(self):
        return _TYPES[self.type][1]

    @property
    def single(self):
        return self.count == 1 and self.kind is not None

    def value(self, field):
        """The Python value of the column's field in a struct."""
        if self.single:
            return field
        return bytes(field) if self.kind is None else list(field)

    def raw(self):
        number = _TYPES[self.type][0]
        flags = (c.GUARD if self.guard else 0) | (c.GROWS if self.grows else 0)
        return {"name": self.name.encode(), "type": number, "count": self.count, "flags": flags}


def _check(result, reason=None):
    """As ripc._check, with the errors of this module."""
    text = reason or lib.ripc_strerror(result).decode()
    if result == -errno.EPROTO:
        raise Mismatch(errno.EPROTO, text)
    if result == -errno.ENOSPC:
        raise Full(errno.ENOSPC, text)
    return ripc._check(result, reason)


def _read(call):
    """Retries a read for a moment: an owner that puts all the time disturbs readers."""
    for _ in range(100):
        result = call()
        if result != -errno.EAGAIN:
            break
    return _check(result)


# ---- what the library calls ----

# Objects with callbacks, by number; tables keep them alive. The library has only the number,
# and the three C callbacks below exist for ever: a late call at worst finds no object.
_called = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
_inside = threading.local()  # depth: number of callbacks that this thread is inside


def _number_for(called):
    number = next(_numbers)
    _called[number] = called
    return number


@c.HOLDS
def _holds(_, number):
    called = _called.get(number)
    return called is not None and called._holds()


@c.FIRE
def _fire(_, number):
    called = _called.get(number)
    if called is not None:
        called._fire()


@c.UPCALL
def _upcall(handle, news, number):
    called = _called.get(number)
    if called is not None:
        called._tell(handle, news.contents)


class Predicate:
    """A predicate of a table, as returned by Table.predicate."""

    def __init__(self, table, holds, triggers, columns, kind, name):
        self._table, self._function, self._triggers = table, holds, list(triggers)
        self._once, self._gone = kind == ONCE, False
        self._handle, self._number = ctypes.c_uint64(), _number_for(self)
        raw = c.Predicate(name=ripc._encoded(name), kind=kind, holds=_holds, fire=_fire,
                          argument=self._number, columns=table._indices(columns),
                          column_count=len(columns))
        table._predicates[self._number] = self
        try:
            _check(lib.sst_predicate_add(table._handle, ctypes.byref(raw),
                                         ctypes.byref(self._handle)))
        except BaseException:
            self._forget()
            raise

    def _forget(self):
        self._gone = True
        self._table._predicates.pop(self._number, None)

    def _holds(self):
        return self._table._guarded(lambda table: bool(self._function(table)), self._function,
                                    otherwise=False)

    def _fire(self):
        for trigger in list(self._triggers):
            if self._gone:  # an earlier trigger removed the predicate
                return
            self._table._guarded(trigger, trigger)
        if self._once:
            self._forget()

    def trigger(self, fire):
        """Adds a trigger, which runs last. Returns it, so this can be used as a decorator."""
        if self._gone:
            raise ValueError("the predicate was removed")
        self._triggers.append(fire)
        return fire

    def remove(self):
        """Removes the predicate. Afterwards it is not evaluated any more and none of its
        triggers runs, except the one that made this call. Returns False if the predicate
        was already removed."""
        result = lib.sst_predicate_remove(self._table._open(), self._handle.value)
        self._forget()
        return result != -errno.ENOENT and _check(result) >= 0


class _Waiting:
    """A call of Table.wait."""

    def __init__(self, table, holds):
        self._table, self._function = table, holds

    def _holds(self):
        """An exception in the function ends the wait."""
        return self._table._guarded(lambda table: bool(self._function(table)), self._function,
                                    otherwise=True)


# ---- tables ----

_tables = weakref.WeakSet()  # open tables


def _unlock_all():
    """In a child of fork: the thread that held a lock may not exist there."""
    for table in list(_tables):
        table._lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock_all)


@atexit.register
def _close_all():
    """The library's threads must not call into an interpreter that is exiting."""
    for table in list(_tables):
        table._shut(1)


class Snapshot:
    """A copy of the table: snapshot[row] is a row. It is `consistent` if no row changed
    while it was taken. Each single row is always as one put left it."""

    def __init__(self, table):
        self._handle, self._table = ctypes.c_void_p(), table
        self.consistent = _read(lambda: lib.sst_snapshot_take(
            table._open(), ctypes.byref(self._handle))) == 0
        self.epoch = lib.sst_snapshot_epoch(self._handle)
        self.live = [row for row in range(ROWS_MAX) if lib.sst_snapshot_is_live(self._handle, row)]

    def __getitem__(self, row):
        data = lib.sst_snapshot_row(self._handle, _row(row))
        if not data:
            raise IndexError(row)
        return self._table._record(self._table._struct.from_address(data))

    def __iter__(self):
        """The live rows."""
        return (self[row] for row in self.live)

    def __len__(self):
        return len(self.live)

    def __del__(self):
        if self._handle:
            lib.sst_snapshot_free(self._handle)


def _row(row):
    row = operator.index(row)
    if not 0 <= row < ROWS_MAX:
        raise IndexError(row)
    return row


def _rows(to):
    if to is None:
        return None
    rows = c.Rows()
    for row in to:
        rows.bits[_row(row) // 64] |= 1 << row % 64
    return ctypes.byref(rows)


class Table(ripc._Closing):
    """The table of that name (a number); joins it, or creates it.

    `columns` is a list of Columns, or a dictionary from names to types, each with an
    optional count, "guard" or "grows" ({"load": ("f64", 4)}). `upcall` is called with
    the table and News. With `drop`, failed members are dropped at once, in a new epoch;
    else when a member joins or leaves. All other arguments default to the library's
    values."""

    def __init__(self, context, name, columns, *, member=0, design=WRITES, manual=False,
                 drop=False, rows_max=0, rows_wanted=0, timeout=10, spin_nsec=0, yield_nsec=0,
                 refresh_nsec=0, trigger_nsec=0, upcall=None):
        if hasattr(columns, "items"):
            columns = [Column.of(name, words) for name, words in columns.items()]
        self.columns = tuple(columns)
        self._places = {column.name: i for i, column in enumerate(self.columns)}
        self._struct = type("Image", (ctypes.Structure,), {"_fields_": [
            (column.name, column.element if column.single else column.element * column.count)
            for column in self.columns]})
        self.own = self._struct()  # private image of the own row: change it, then put
        self._record_type = collections.namedtuple("Row", [*self._places], rename=True)
        self._predicates, self._kept = {}, {}
        self._lock = threading.Lock()  # protects _kept and the library's image of the own row
        self._context, self._told = context, upcall
        self._number = _number_for(self)
        reason = ctypes.create_string_buffer(REASON_MAX)
        config = c.Config(
            table=name, columns=self._raw_columns(), column_count=len(self.columns),
            row_size=ctypes.sizeof(self._struct), member=member, design=design,
            flags=(c.MANUAL if manual else 0) | (c.DROP if drop else 0), rows_max=rows_max,
            rows_wanted=rows_wanted,
            deadline=ripc._deadline(timeout), spin_nsec=spin_nsec, yield_nsec=yield_nsec,
            refresh_nsec=refresh_nsec, trigger_nsec=trigger_nsec, argument=self._number,
            reason=ctypes.addressof(reason))
        if upcall:
            config.upcall = _upcall
        handle = ctypes.c_void_p()
        result = lib.sst_open(context._open(), ctypes.byref(config), ctypes.byref(handle))
        self._handle = handle if result >= 0 else None
        _check(result, reason.value.decode(errors="replace"))
        context._children.add(self)
        _tables.add(self)

    def _raw_columns(self):
        raw = (c.Column * max(len(self.columns), 1))()
        for into, column in zip(raw, self.columns):
            for name, value in column.raw().items():
                setattr(into, name, value)
            into.offset = getattr(self._struct, column.name).offset
        return raw

    # ---- closing ----

    def close(self, timeout=1):
        """Leaves the table in a new epoch. Returns False if that took too long; the other
        members then see a failure. Not from a trigger. Closing twice is harmless."""
        result = self._shut(timeout)
        self._raise_kept()
        return ripc._closed(result)

    def _shut(self, timeout):
        if self._handle is None:
            return 0
        result = lib.sst_close(self._handle, ripc._deadline(timeout))
        if result == -errno.EDEADLK:
            _check(result)
        self._handle = None
        self._predicates.clear()
        _tables.discard(self)
        return result

    def _orphan(self):
        self._shut(0)

    def __del__(self):
        self._shut(0)

    # ---- what callbacks raise ----

    def _guarded(self, call, function, *arguments, otherwise=None):
        """Calls call(table, ...) for C code, which cannot take exceptions: keeps them."""
        _inside.depth = getattr(_inside, "depth", 0) + 1
        try:
            return call(self, *arguments)
        except BaseException as error:
            with self._lock:
                kept = self._kept.setdefault(id(function), [error, function, 0])
                kept[2] += 1
            return otherwise
        finally:
            _inside.depth -= 1

    def _raise_kept(self):
        if not self._kept or getattr(_inside, "depth", 0):
            return
        with self._lock:
            if not self._kept:
                return
            error, _, count = self._kept.pop(next(iter(self._kept)))
        if count > 1:
            error.add_note(f"raised {count - 1} more times since")
        raise error

    def _tell(self, handle, news):
        if self._handle is None:  # called while sst_open runs
            self._handle = ctypes.c_void_p(handle)
        name = news.name and news.name.decode(errors="replace")
        self._guarded(self._told, self._told,
                      News(news.kind, news.row, news.member, news.epoch, name, news.nsec))

    def _open(self):
        self._raise_kept()
        return super()._open()

    # ---- columns ----

    def _index(self, column):
        if isinstance(column, str):
            return self._places[column]
        column = operator.index(column)
        if not 0 <= column < len(self.columns):
            raise IndexError(column)
        return column

    def _indices(self, columns):
        return (ctypes.c_uint32 * max(len(columns), 1))(*map(self._index, columns))

    def _range(self, words):
        """Makes a range from a column, or from (column, first element, count)."""
        column, first, count = (*((words,) if isinstance(words, (str, int)) else words), 0, 0)[:3]
        return c.Range(self._index(column), first, count)

    def _single(self, column):
        index = self._index(column)
        if not self.columns[index].single:
            raise TypeError(f"column {self.columns[index].name} is not one number")
        return index, self.columns[index].kind

    def _record(self, struct):
        return self._record_type(*(column.value(getattr(struct, column.name))
                                   for column in self.columns))

    # ---- members ----

    @property
    def epoch(self):
        return lib.sst_epoch(self._open())

    @property
    def row_own(self):
        return lib.sst_row_own(self._open())

    @property
    def live(self):
        """The rows of live members."""
        handle = self._open()
        return [row for row in range(lib.sst_row_count(handle)) if lib.sst_is_live(handle, row)]

    @property
    def members(self):
        """The ids of the members by row; includes dead members until the next epoch."""
        handle = self._open()
        names = ((row, lib.sst_member(handle, row)) for row in range(lib.sst_row_count(handle)))
        return {row: name for row, name in names if name}

    def row_of(self, member):
        """Returns the row of a member, or None if there is no such member."""
        result = lib.sst_row_of(self._open(), member)
        return None if result == -errno.ENOENT else _check(result)

    def freeze(self, row):
        """Declares a member dead, for programs that know it earlier than the library."""
        _check(lib.sst_freeze(self._open(), _row(row)))

    # ---- the own row ----

    def set(self, column, value):
        """Sets a column of the own row and puts it."""
        index = self._index(column)
        column = self.columns[index]
        if not column.single:
            field = getattr(self.own, column.name)
            if len(value) != column.count:
                raise ValueError(f"column {column.name}: {len(value)} elements")
            field[:] = value if column.kind is None else type(field)(*value)[:]
            return self.put(index)
        kind, value = _fitting(column, value)
        handle = self._open()
        with self._lock:
            _check(getattr(lib, "sst_set_" + kind)(handle, index, value))
            setattr(self.own, column.name, value)

    def put(self, *parts, to=None):
        """Puts parts of `own`, each a column or (column, first, count), to all members or
        only to those of the rows `to`."""
        self._put(parts, to, lib.sst_put)

    def publish(self, *parts, guard, value, to=None):
        """As put; afterwards sets the column `guard` to `value` and puts it."""
        index = self._index(guard)
        if not 0 <= operator.index(value) < 2**64:
            raise _misfit(self.columns[index], value)
        self._put(parts, to, lib.sst_publish, index, value)
        setattr(self.own, self.columns[index].name, value)

    def _put(self, parts, to, call, *guard):
        handle = self._open()
        ranges = (c.Range * max(len(parts), 1))(*map(self._range, parts))
        with self._lock:
            image = lib.sst_own(handle)
            for part in ranges[:len(parts)]:
                field = getattr(self._struct, self.columns[part.column].name)
                ctypes.memmove(image + field.offset, ctypes.addressof(self.own) + field.offset,
                               field.size)
            _check(call(handle, ranges, len(parts), *guard, _rows(to)))

    def flush(self, timeout=None):
        """Waits until everything put before is in the memory of every live member."""
        ripc._wait(lambda deadline: lib.sst_flush(self._open(), deadline), timeout)

    def barrier(self, timeout=None):
        """Waits until every live member has called barrier as often as this one. A call
        that timed out does not count: the next call waits for the same barrier."""
        ripc._wait(lambda deadline: lib.sst_barrier(self._open(), deadline), timeout)

    # ---- reading ----

    def get(self, row, column):
        """Returns a column as one put left it: a number, a list of numbers, or bytes."""
        index, row = self._index(column), _row(row)
        column = self.columns[index]
        if column.single:
            value = getattr(lib, "sst_get_" + column.kind)(self._open(), row, index)
            return bool(value) if column.type == "bool" else value
        into = (column.element * column.count)()
        whole = c.Range(index, 0, 0)
        _read(lambda: lib.sst_get(self._open(), row, ctypes.byref(whole), into))
        return column.value(into)

    def row(self, row):
        """Returns a whole row as one put left it, a namedtuple of its columns."""
        struct = self._struct()
        _read(lambda: lib.sst_row(self._open(), _row(row), ctypes.byref(struct)))
        return self._record(struct)

    def snapshot(self):
        return Snapshot(self)

    # ---- aggregates over the live rows ----

    def _aggregate(self, what, column):
        index, kind = self._single(column)
        return getattr(lib, f"sst_{what}_{kind}")(self._open(), index)

    def _compared(self, what, column, value):
        index, kind = self._single(column)
        if isinstance(value, float):
            kind = "f64"
        elif kind != "f64":
            kind = _fitting(self.columns[index], value)[0]
        return getattr(lib, f"sst_{what}_{kind}")(self._open(), index, value)

    def minimum(self, column):
        return self._aggregate("minimum", column)

    def maximum(self, column):
        return self._aggregate("maximum", column)

    def sum(self, column):
        """Modulo 2**64."""
        return self._aggregate("sum", column)

    def all_at_least(self, column, value):
        return self._compared("all_at_least", column, value)

    def count(self, column, value):
        """Returns the number of rows with at least that value."""
        return self._compared("count", column, value)

    def all_equal(self, column):
        return lib.sst_all_equal(self._open(), self._single(column)[0])

    # ---- predicates ----

    def predicate(self, holds, *triggers, columns=(), kind=RECURRENT, name=None):
        """Runs the triggers when holds(table) is true. `columns` are the columns that it
        reads; a predicate without columns is evaluated on every pass."""
        self._open()
        return Predicate(self, holds, triggers, columns, kind, name)

    def wait(self, holds, columns=(), timeout=None):
        """Waits until holds(table) is true. Not from a trigger."""
        waiting = _Waiting(self, holds)
        number, indices = _number_for(waiting), self._indices(columns)
        ripc._wait(lambda deadline: lib.sst_wait(self._open(), _holds, number, indices,
                                                 len(columns), deadline), timeout)
        self._raise_kept()

    def step(self, timeout=0):
        """For `manual`: handles what has arrived, evaluates predicates and runs triggers;
        waits until there is something to do. Returns the number of triggers run, 0 after
        a timeout."""
        try:
            fired = ripc._wait(lambda deadline: lib.sst_step(self._open(), deadline), timeout)
        except (ripc.WouldBlock, ripc.Timeout):
            fired = 0
        self._raise_kept()
        return fired

    def stats(self):
        stats = c.Stats()
        _check(lib.sst_stats(self._open(), ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in c.Stats._fields_}


def _fitting(column, value):
    """Returns the number type that holds the value and compares correctly with the column."""
    if column.kind == "f64":
        return "f64", float(value)
    value = operator.index(value)
    if -2**63 <= value < 0 or (column.kind == "i64" and 0 <= value < 2**63):
        return "i64", value
    if 0 <= value < 2**64:
        return "u64", value
    raise _misfit(column, value)


def _misfit(column, value):
    return ripc.Error(errno.ERANGE, f"{value} does not fit column {column.name}")
