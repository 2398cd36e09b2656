"""Keys of the cluster's store, whose values survive the end of servers.

    from weft import store

    with store.Store() as keys:
        keys.put("colour", b"blue", timeout=1)
        print(keys.get("colour", timeout=1))
        for key, value in keys.get_many(["colour", "shape"], timeout=1):
            print(key, value)
        for key in keys.keys("user/", timeout=1):
            print(key)

The store runs where the cluster was started with it (weft up --service store). Keys are bytes, or
str, which is encoded as UTF-8; values are bytes. Each key has a value and a version, a number that
grows with every change of the key and is never used again.

Timeouts are in seconds, and end each request by itself; None waits for ever. A request without an
answer is sent again until then, also to another server, and takes effect at most once. Errors are
raised as store.Error, an OSError, with subclasses for those that programs handle. Timeout says that
a change may have happened or may still happen; after any other error nothing has.

A store may be used from any thread, but threads that are not to wait for each other open one each;
none may be in a call when the store is closed. In a child of os.fork, calls on stores of the parent
raise Inherited. `<weft/store.h>` explains the rest."""

import asyncio
import collections
import ctypes
import errno
import os
import threading
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32
from ctypes import c_ubyte, c_uint64, c_void_p

from weft import program
from weft._library import declare
from weft._library import library as lib
from weft.program import Absent, Error, Inherited, Refused, Timeout, WouldBlock

KEY_MAX = 250
VALUE_MAX = 64 << 20
_ROOM = 64 << 10  # bytes for a value, before it is known that it is larger
UNDER_WAY = 64
TTL_MAX = 3153600000000000000  # nanoseconds
GET, PUT, DELETE, INCR, DECR, APPEND, PREPEND, TOUCH = range(1, 9)
SCAN = 16
ALWAYS, IF_ABSENT, IF_PRESENT, IF_VERSION = range(4)
_AFTER, _HERE = 1, 2

__all__ = ["Absent", "Answer", "Answers", "Busy", "Conflict", "Entry", "Error", "Exists", "Full",
           "Idle", "Inherited", "Item", "Missing", "NotNumber", "Refused", "Stale", "Store", "Timeout",
           "TooLarge", "Unreachable", "Unsupported", "WouldBlock"]


class _Request(Structure):
    _fields_ = [("op", c_uint32), ("condition", c_uint32), ("key", c_char_p), ("value", c_char_p),
                ("key_size", c_size_t), ("value_size", c_size_t), ("version", c_uint64),
                ("delta", c_uint64), ("flags", c_uint32), ("zero", c_uint32), ("ttl", c_int64)]


class _Answer(Structure):
    _fields_ = [("result", c_int32), ("flags", c_uint32), ("ticket", c_uint64),
                ("version", c_uint64), ("number", c_uint64), ("value_size", c_uint32),
                ("zero", c_uint32), ("ttl", c_int64)]


class _Page(Structure):
    _fields_ = [("count", c_uint32), ("more", c_uint32), ("until_size", c_uint32),
                ("zero", c_uint32), ("until", c_void_p), ("next", c_void_p), ("left", c_size_t)]


class _Item(Structure):
    _fields_ = [("key", c_void_p), ("key_size", c_uint32), ("zero", c_uint32),
                ("version", c_uint64), ("value_size", c_uint64), ("ttl", c_int64)]


class _Cursor(Structure):  # of weft_store_scan, for which `pages` stands here
    _fields_ = [("prefix", c_void_p), ("prefix_size", c_size_t), ("flags", c_uint32),
                ("most", c_uint32), ("over", c_uint32), ("after_size", c_uint32),
                ("after", c_ubyte * 256), ("page", _Page)]


# The structures by their names in C, for the test of their layout.
STRUCTURES = {"weft_store_request": _Request, "weft_store_answer": _Answer,
              "weft_store_page": _Page, "weft_store_item": _Item, "weft_store_scan": _Cursor}

_PROTOTYPES = {
    "weft_store_open": (c_int, [c_char_p, c_uint32, POINTER(c_void_p)]),
    "weft_store_close": (c_int, [c_void_p]),
    "weft_store_strerror": (c_char_p, [c_int]),
    "weft_store_post": (c_int, [c_void_p, POINTER(_Request), POINTER(c_uint64), c_int64]),
    "weft_store_take": (c_int, [c_void_p, POINTER(_Answer), c_void_p, c_size_t, c_int64]),
    "weft_store_page_open": (c_int, [c_char_p, c_size_t, POINTER(_Page)]),
    "weft_store_page_next": (c_int, [POINTER(_Page), POINTER(_Item)]),
    "weft_store_fd": (c_int, [c_void_p]),
    "weft_store_arm": (c_int, [c_void_p]),
}
declare(_PROTOTYPES)


class Missing(Error):
    """There is no such key."""


class Conflict(Error):
    """The key does not have the version that the request names. `version` is the one that it has,
    or 0: it does not exist."""

    version = 0


class Exists(Conflict):
    """The key exists already."""


class Stale(Conflict):
    """The key has another version."""


class Unreachable(Error, ConnectionError):
    """Until the timeout no server could be reached, or too few servers of the store are there."""


class Busy(Error):
    """The servers have too many requests under way."""


class Full(Error):
    """The disks or memories of the servers are full."""


class TooLarge(Error):
    """The key or the value is too large, or would become so."""


class NotNumber(Error):
    """The value is not a number below 2^64, or would be none."""


class Unsupported(Error):
    """The server does not run the store."""


class Idle(Error):
    """No posted request is under way, and no answer is left to take."""


_CLASSES = {
    errno.ENOENT: Missing, errno.EEXIST: Exists, errno.ESTALE: Stale, errno.ETIMEDOUT: Timeout,
    errno.ENOTCONN: Unreachable, errno.EHOSTUNREACH: Unreachable, errno.EBUSY: Busy,
    errno.ENOSPC: Full, errno.EFBIG: TooLarge, errno.ERANGE: NotNumber, errno.ENOSYS: Unsupported,
    errno.ENODATA: Idle, errno.EAGAIN: WouldBlock, errno.ECHILD: Inherited,
}


def _error(result):
    text = lib.weft_store_strerror(int(result)).decode()
    return _CLASSES.get(-result, Error)(int(-result), text)


def _check(result):
    if result < 0:
        raise _error(result)
    return result


# ---- requests and answers ----

Answer = collections.namedtuple("Answer", "ticket error value version number flags ttl")
Answer.__doc__ = """The answer to the posted request with that ticket.

`error` is None or the exception that says why the request failed. `value` and `flags` are those that
GET has read, and `ttl` how many seconds later its key expires, None: never; `number` is the new one
of INCR and DECR; `version` is that of the value that was read, or of the change."""

Entry = collections.namedtuple("Entry", "value version flags ttl")
Entry.__doc__ = "What the store keeps of a key. It expires in `ttl` seconds; None: never."

Item = collections.namedtuple("Item", "key version size ttl")
Item.__doc__ = """What a scan tells of a key; `size` is that of its value. It expires in `ttl` seconds; None:
never."""


def _key(key):
    return key.encode() if isinstance(key, str) else bytes(memoryview(key))


def _below(value, bits, what):
    """ctypes would cut off what C cannot represent."""
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{what} {value} is not a number of {bits} bits")
    return value


def _condition(if_absent=False, if_present=False, if_version=None):
    """Returns the condition and the version of a request."""
    if bool(if_absent) + bool(if_present) + (if_version is not None) > 1:
        raise ValueError("if_absent, if_present and if_version exclude each other")
    if if_version is None:
        return (IF_ABSENT if if_absent else IF_PRESENT if if_present else ALWAYS), 0
    if if_version == 0:
        raise ValueError("no key has the version 0")
    return IF_VERSION, _below(if_version, 64, "version")


def _ttl(seconds):
    """Returns a time to live in nanoseconds."""
    if seconds is None:
        return 0
    if not 0 < seconds <= TTL_MAX / 1e9:
        raise ValueError(f"a key cannot expire after {seconds} seconds")
    return min(max(round(seconds * 1e9), 1), TTL_MAX)


def _request(op, key, value=b"", delta=0, flags=0, ttl=None, conditions=None):
    key, value = _key(key), bytes(memoryview(value))
    condition, version = _condition(**(conditions or {}))
    return _Request(op=op, condition=condition, key=key, value=value, key_size=len(key),
                    value_size=len(value), version=version, delta=_below(delta, 64, "delta"),
                    flags=_below(flags, 32, "flags"), ttl=_ttl(ttl))


def _scan(prefix, after, most, here):
    prefix, value = _key(prefix), b"" if after is None else _key(after)
    flags = (0 if after is None else _AFTER) | (_HERE if here else 0)
    return _Request(op=SCAN, key=prefix, value=value, key_size=len(prefix), value_size=len(value),
                    delta=_below(most, 64, "most"), flags=flags)


def _page(value):
    """Returns the items of a page, and the key after which the next one begins, or None."""
    page, item, items = _Page(), _Item(), []
    _check(lib.weft_store_page_open(value, len(value), ctypes.byref(page)))
    while lib.weft_store_page_next(ctypes.byref(page), ctypes.byref(item)):
        key = ctypes.string_at(item.key, item.key_size)
        items.append(Item(key, item.version, item.value_size, item.ttl / 1e9 if item.ttl else None))
    return items, ctypes.string_at(page.until, page.until_size) if page.more else None


def _answer(answer, data):
    error = None
    if answer.result < 0:
        error = _error(answer.result)
        if isinstance(error, Conflict):
            error.version = answer.version
    value = ctypes.string_at(data, answer.value_size) if answer.result >= 0 else None
    return Answer(answer.ticket, error, value, answer.version, answer.number, answer.flags,
                  answer.ttl / 1e9 if answer.ttl else None)


def _take(handle, deadline):
    answer, data = _Answer(), ctypes.create_string_buffer(_ROOM)
    result = lib.weft_store_take(handle, ctypes.byref(answer), data, _ROOM, deadline)
    if result == -errno.EMSGSIZE:  # the answer stays
        data = ctypes.create_string_buffer(answer.value_size)
        result = lib.weft_store_take(handle, ctypes.byref(answer), data, answer.value_size, deadline)
    _check(result)
    return _answer(answer, data)


class Answers:
    """An iterator over the answers to posted requests, for `for` and for `async for` in an asyncio
    event loop. It ends when no posted request is under way."""

    def __init__(self, store):
        self._store = store

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._store.take()
        except Idle:
            raise StopIteration from None

    def __aiter__(self):
        return self

    async def __anext__(self):
        while True:
            try:
                return self._store.take(timeout=0)
            except Idle:
                raise StopAsyncIteration from None
            except WouldBlock:
                pass
            if self._store.arm():
                await self._sleep()

    async def _sleep(self):
        loop, descriptor = asyncio.get_running_loop(), self._store.fileno()
        ready = loop.create_future()
        loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)


class Store:
    """The store of a cluster, by way of a server of this machine. Without arguments it is the one
    that the command weft would use; without `server`, calls change to another server of this
    machine when theirs ends or does not answer."""

    def __init__(self, directory=None, server=None):
        self._handle = None
        self._process = os.getpid()
        # Protects what follows. It is held while a request is posted, so that no answer comes before
        # its box is known.
        self._changed = threading.Condition()
        self._receiving = False  # a thread receives
        self._boxes = {}  # ticket of a request under way: where its answer goes; abandoned ones stay
        self._answers = collections.deque()  # the box of take()
        handle = c_void_p()
        folder = None if directory is None else program._text(directory, "the directory")
        number = program.ANY if server is None else program._unsigned(server, "server")
        result = lib.weft_store_open(folder, number, ctypes.byref(handle))
        if result == -errno.ENOSYS:
            raise _error(result)
        program._check(result)
        self._handle = handle

    def close(self):
        """Requests under way may still happen."""
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.weft_store_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __del__(self):
        self.close()

    def _open(self):
        if self._handle is None:
            raise ValueError("the store is closed")
        if self._process != os.getpid():  # another thread may have held the lock during the fork
            raise _error(-errno.ECHILD)
        return self._handle

    # ---- one request ----

    def get(self, key, default=None, timeout=None):
        """Returns the value, or `default` if there is no such key."""
        entry = self.get_entry(key, timeout)
        return default if entry is None else entry.value

    def get_entry(self, key, timeout=None):
        """Returns the Entry of a key, which has its version, or None if there is no such key."""
        try:
            answer = self._ask(_request(GET, key), timeout)
        except Missing:
            return None
        return Entry(answer.value, answer.version, answer.flags, answer.ttl)

    def put(self, key, value, timeout=None, *, flags=0, ttl=None, **conditions):
        """Puts a value and returns its version. At most one of these conditions may be given, and
        must hold, or nothing changes: if_absent=True, else Exists is raised; if_present=True, else
        Missing; if_version=N, else Stale. The flags, a number of 32 bits, are kept with the value.
        The servers remove the key after `ttl` seconds; with None it never expires, also if its
        former value did."""
        request = _request(PUT, key, value, flags=flags, ttl=ttl, conditions=conditions)
        return self._ask(request, timeout).version

    def touch(self, key, ttl=None, timeout=None, **conditions):
        """The key expires after `ttl` seconds from now on; with None, it never does. Its value stays.
        Returns the new version. Raises Missing. Conditions as for put."""
        return self._ask(_request(TOUCH, key, ttl=ttl, conditions=conditions), timeout).version

    def exchange(self, key, value, version, timeout=None):
        """Puts a value if the key still has that version, or if that is 0, does not exist. Returns
        the new version. Raises Stale or Exists, whose `version` is what the key has."""
        condition = {"if_version": version} if version else {"if_absent": True}
        return self.put(key, value, timeout, **condition)

    def delete(self, key, timeout=None, **conditions):
        """Deletes a key. Raises Missing. Conditions as for put."""
        self._ask(_request(DELETE, key, conditions=conditions), timeout)

    def add(self, key, delta=1, timeout=None, *, initial=None):
        """Adds to the decimal number that is the key's value, and returns the new number, which is
        0 if it would be less. If there is no such key, the number becomes `initial`; with None
        Missing is raised."""
        request = _request(DECR if delta < 0 else INCR, key, delta=abs(delta))
        if initial is not None:
            _below(initial, 64, "initial")
        while True:
            try:
                return self._ask(request, timeout).number
            except Missing:
                if initial is None:
                    raise
            try:
                self.put(key, b"%d" % initial, timeout, if_absent=True)
                return initial
            except Exists:  # another program was first
                pass

    def append(self, key, value, timeout=None, **conditions):
        """Writes these bytes behind the value of a key that exists, and returns its new version.
        Raises Missing. Conditions as for put."""
        return self._ask(_request(APPEND, key, value, conditions=conditions), timeout).version

    def prepend(self, key, value, timeout=None, **conditions):
        """The same before the value."""
        return self._ask(_request(PREPEND, key, value, conditions=conditions), timeout).version

    def _ask(self, request, timeout):
        """Sends a request and returns its good answer."""
        box = collections.deque()
        deadline = program._deadline(timeout)
        while self._post(request, deadline, box) is None:
            self._turn(box, deadline)  # answers to others make room
        answer = self._collect(box)
        if answer.error:
            raise answer.error
        return answer

    # ---- the keys in order ----

    def pages(self, prefix=b"", timeout=None, *, after=None, most=0, here=False):
        """Yields lists of the Items of all keys that begin with the prefix, in the order of their
        bytes: page by page, of at most `most` keys, 0 for as many as one message can carry. Only
        keys after `after`, if it is given. A key that exists while its page is fetched is in it.
        The timeout is that of each page. With here=True the pages have what the server of this
        store holds itself, which may be old."""
        while True:
            items, after = _page(self._ask(_scan(prefix, after, most, here), timeout).value)
            if items:
                yield items
            if after is None:
                return

    def scan(self, prefix=b"", timeout=None, **options):
        """Yields the Item of each key that begins with the prefix, in the order of their bytes.
        Options as for pages."""
        for page in self.pages(prefix, timeout, **options):
            yield from page

    def keys(self, prefix=b"", timeout=None, **options):
        """Yields the keys that begin with the prefix, in the order of their bytes."""
        for item in self.scan(prefix, timeout, **options):
            yield item.key

    def items(self, prefix=b"", timeout=None, **options):
        """Yields (key, value) for each key that begins with the prefix, in the order of the keys.
        A key that is deleted before its value was read is left out. The timeout is that of each
        page, and of each value."""
        for page in self.pages(prefix, timeout, **options):
            values = dict(self.get_many([item.key for item in page], timeout=timeout))
            for item in page:
                if values[item.key] is not None:
                    yield item.key, values[item.key]

    # ---- many requests at once ----

    def get_many(self, keys, default=None, timeout=None):
        """Yields (key, value) for each key in the order of the answers, with up to 64 requests
        under way; `default` instead of the values of keys that do not exist. Any other error is
        raised; its `key` says for which one. The timeout is that of each request."""
        for key, answer in self._many(((key, _request(GET, key)) for key in keys), timeout):
            absent = isinstance(answer.error, Missing)
            if answer.error and not absent:
                raise answer.error
            yield key, default if absent else answer.value

    def put_many(self, items, timeout=None):
        """Puts the values of a mapping, or of pairs, and yields (key, version) in the order of the
        answers, with up to 64 requests under way. An error is raised; its `key` says for which one,
        and others may have been put or not. The timeout is that of each request.

        As with every generator, nothing is put before the program asks for the first pair, and all
        is only after the last one."""
        pairs = items.items() if hasattr(items, "items") else items
        requests = ((key, _request(PUT, key, value)) for key, value in pairs)
        for key, answer in self._many(requests, timeout):
            if answer.error:
                raise answer.error
            yield key, answer.version

    def _many(self, requests, timeout):
        """Yields (key, answer) for (key, request)."""
        requests = iter(requests)
        box, keys = collections.deque(), {}  # ticket: key
        key, request = next(requests, (None, None))
        while request or keys:
            ticket = None
            if request and len(keys) < UNDER_WAY:
                ticket = self._post_for(key, request, program._deadline(timeout), box)
            if ticket is not None:
                keys[ticket] = key
                key, request = next(requests, (None, None))
            elif not keys:  # answers to others make room
                self._turn(box, program._FOREVER)
            else:
                answer = self._collect(box)
                answered = keys.pop(answer.ticket)
                if answer.error:
                    answer.error.key = answered
                yield answered, answer

    def _post_for(self, key, request, deadline, box):
        try:
            return self._post(request, deadline, box)
        except Error as error:
            error.key = key
            raise

    def post(self, op, key, value=b"", timeout=None, *, delta=0, flags=0, ttl=None, **conditions):
        """Begins a request (GET, PUT, DELETE, INCR, DECR, APPEND, PREPEND or TOUCH) without waiting
        for its answer. Returns its ticket. Raises WouldBlock while too many are under way: take answers
        first."""
        request = _request(op, key, value, delta, flags, ttl, conditions)
        ticket = self._post(request, program._deadline(timeout), self._answers)
        if ticket is None:
            raise _error(-errno.EAGAIN)
        return ticket

    def take(self, timeout=None):
        """Returns the next Answer to a posted request. Raises Idle if none is under way, WouldBlock
        or Timeout if there is no answer yet."""
        deadline = program._deadline_or_now(timeout)
        while not self._answers:
            self._turn(self._answers, deadline)
        return self._answers.popleft()

    def answers(self):
        """Returns an iterator over the answers to all requests that were posted."""
        return Answers(self)

    # ---- where answers go ----

    def _post(self, request, deadline, box):
        """Returns the ticket of the request, whose answer goes into the box, or None if too many
        requests are under way."""
        ticket = c_uint64()
        handle = self._open()
        with self._changed:
            result = lib.weft_store_post(handle, ctypes.byref(request), ctypes.byref(ticket),
                                         deadline)
            if result == -errno.EAGAIN:
                return None
            _check(result)
            self._boxes[ticket.value] = box
        return ticket.value

    def _turn(self, box, deadline):
        """Unless there is an answer in the box, waits for any one, or for a moment. One thread
        receives for all."""
        handle = self._open()
        with self._changed:
            if box:
                return
            if self._receiving:
                self._watch(deadline)
                return
            self._receiving = True
        received = None
        try:
            received = _take(handle, min(deadline, lib.weft_deadline(program._TURN_NSEC)))
        except Timeout:
            if lib.weft_deadline(0) >= deadline:
                raise
        finally:
            with self._changed:
                self._receiving = False
                self._changed.notify_all()
                if received:
                    self._boxes.pop(received.ticket, []).append(received)

    def _watch(self, deadline):
        """Another thread receives: waits until it has done a turn."""
        left = deadline - lib.weft_deadline(0)
        if left <= 0:
            raise _error(-errno.EAGAIN if deadline == program._NOW else -errno.ETIMEDOUT)
        self._changed.wait(min(left, program._TURN_NSEC) / 1e9)

    def _collect(self, box):
        """Returns the next answer in the box of requests that are under way."""
        while not box:
            self._turn(box, program._FOREVER)
        return box.popleft()

    # ---- event loops ----

    def fileno(self):
        """A descriptor for event loops: see weft_store_fd in weft/store.h."""
        return _check(lib.weft_store_fd(self._open()))

    def arm(self):
        """False: there is something to take already, so do not sleep."""
        handle = self._open()
        with self._changed:
            while self._receiving:
                self._watch(program._FOREVER)
            if self._answers:
                return False
            result = lib.weft_store_arm(handle)
        if result == -errno.EAGAIN:
            return False
        _check(result)
        return True
