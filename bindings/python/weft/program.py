"""Requests to the services of a cluster, through a server that runs on this machine.

    from weft import program

    with program.Attachment() as attachment:
        print(attachment.ask("counter", b"+visits", timeout=1))

An attachment connects to a server, and attaches again when a server that was gone is back.
Services are named by their names or numbers. ask() waits for the answer. post() returns a
ticket; take() returns its answer later, and events, for which the program did not ask.

Timeouts are in seconds: None waits for ever, 0 does not wait. Errors are raised as
program.Error, an OSError, with subclasses for those that programs handle. An attachment may be used
from any thread; the interpreter's lock is released while a call waits. In a child of os.fork,
calls on attachments of the parent raise Inherited. `man 7 weft-attach` explains the concepts."""

import asyncio
import collections
import ctypes
import errno
import os
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint
from ctypes import c_uint32, c_uint64, c_void_p

from weft._library import declare
from weft._library import library as lib

ANY = 2**32 - 1
MESSAGE_MAX = 65536
BY_SOCKET = 1
ANSWER, EVENT, ENDED, LOST, BACK = range(1, 6)

_NOW, _FOREVER = 0, 2**63 - 1
_TURN_NSEC = 200_000_000  # Ctrl-C is noticed only between calls of C, so long waits are split


class _Message(Structure):
    _fields_ = [("kind", c_uint32), ("result", c_int32), ("ticket", c_uint64),
                ("service", c_uint32), ("size", c_uint32)]


class _State(Structure):
    _fields_ = [("server", c_uint32), ("up", c_uint32), ("memory", c_uint32),
                ("under_way", c_uint32), ("reattached", c_uint64), ("dropped", c_uint64)]


# The structures by their names in C, for the test of their layout.
STRUCTURES = {"weft_message": _Message, "weft_attachment_state": _State}

_PROTOTYPES = {
    "weft_deadline": (c_int64, [c_int64]),
    "weft_strerror": (c_char_p, [c_int]),
    "weft_attach": (c_int, [c_char_p, c_uint32, c_uint, POINTER(c_void_p)]),
    "weft_detach": (c_int, [c_void_p]),
    "weft_attachment_state": (c_int, [c_void_p, POINTER(_State)]),
    "weft_find": (c_int, [c_void_p, c_char_p, c_int64]),
    "weft_ask": (c_int, [c_void_p, c_uint32, c_char_p, c_size_t, c_void_p, c_size_t, c_int64]),
    "weft_post": (c_int, [c_void_p, c_uint32, c_char_p, c_size_t, POINTER(c_uint64), c_int64]),
    "weft_take": (c_int, [c_void_p, POINTER(_Message), c_void_p, c_size_t, c_int64]),
    "weft_attachment_fd": (c_int, [c_void_p]),
    "weft_attachment_arm": (c_int, [c_void_p]),
}
declare(_PROTOTYPES)

Message = collections.namedtuple("Message", "kind result ticket service data")
State = collections.namedtuple("State", "server up memory under_way reattached dropped")


class Error(OSError):
    """An error of weft. As usual in Python, errno is positive."""


class Absent(Error):
    """No server runs there, or the server does not run that service."""


class WouldBlock(Error, BlockingIOError):
    """Nothing has arrived, or there is no room at the moment."""


class Timeout(Error, TimeoutError):
    """The deadline has passed."""


class ServerGone(Error, ConnectionError):
    """The server ended before it answered, or it is not back yet."""


class Refused(Error):
    """Too many programs are attached to the server, or it runs another version of weft."""


class Inherited(Error, ChildProcessError):
    """The parent of this process attached; a child of fork cannot use its attachment."""


_CLASSES = {
    errno.ENOENT: Absent, errno.ECONNREFUSED: Absent, errno.EAGAIN: WouldBlock,
    errno.ETIMEDOUT: Timeout, errno.ECONNRESET: ServerGone, errno.ENOTCONN: ServerGone,
    errno.EUSERS: Refused, errno.EPROTONOSUPPORT: Refused, errno.ECHILD: Inherited,
}


def _error(result):
    text = lib.weft_strerror(int(result)).decode()
    return _CLASSES.get(-result, Error)(int(-result), text)


def _check(result):
    if result < 0:
        raise _error(result)
    return result


# ctypes would cut off what C cannot represent, and reach another server or service.

def _unsigned(value, what):
    if not 0 <= value < 1 << 32:
        raise ValueError(f"{what} {value} is not a number of 32 bits")
    return value


def _text(value, what):
    text = os.fsencode(value)
    if b"\0" in text:
        raise ValueError(f"{what} has a zero byte")
    return text


def _deadline(timeout):
    """The deadline of a call that waits for so many seconds; None: for ever."""
    if timeout is None or timeout * 1e9 >= _FOREVER:
        return _FOREVER
    return lib.weft_deadline(int(timeout * 1e9))


def _deadline_or_now(timeout):
    return _deadline(timeout) if timeout is None or timeout > 0 else _NOW


class Attachment:
    """A connection to a server of this machine. Without arguments it is the server that the
    command weft would use; `socket_only` shares no memory with the server."""

    def __init__(self, directory=None, server=None, socket_only=False):
        self._handle = None
        self._numbers = {}
        handle = c_void_p()
        folder = None if directory is None else _text(directory, "the directory")
        number = ANY if server is None else _unsigned(server, "server")
        _check(lib.weft_attach(folder, number, BY_SOCKET if socket_only else 0,
                               ctypes.byref(handle)))
        self._handle = handle

    def close(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.weft_detach(handle)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def __del__(self):
        self.close()

    def _open(self):
        if self._handle is None:
            raise ValueError("the attachment is closed")
        return self._handle

    def _number(self, service, timeout):
        """Returns the number of a service that is given by name or number."""
        if isinstance(service, int):
            return _unsigned(service, "service")
        return self._numbers[service] if service in self._numbers else self.find(service, timeout)

    @property
    def state(self):
        state = _State()
        _check(lib.weft_attachment_state(self._open(), ctypes.byref(state)))
        return State(state.server, bool(state.up), bool(state.memory), state.under_way,
                     state.reattached, state.dropped)

    def find(self, name, timeout=None):
        """Returns the number of the service with that name."""
        number = _check(lib.weft_find(self._open(), _text(name, "the name"), _deadline(timeout)))
        self._numbers[name] = number
        return number

    def ask(self, service, request=b"", timeout=None):
        """Sends a request and returns the answer."""
        number = self._number(service, timeout)
        answer = ctypes.create_string_buffer(MESSAGE_MAX)
        size = _check(lib.weft_ask(self._open(), number, request, len(request), answer,
                                   MESSAGE_MAX, _deadline(timeout)))
        return answer.raw[:size]

    def post(self, service, request=b"", timeout=None, answer=True):
        """Sends a request without waiting for its answer. Returns its ticket, or None without an
        answer."""
        number = self._number(service, timeout)
        ticket = c_uint64()
        _check(lib.weft_post(self._open(), number, request, len(request),
                             ctypes.byref(ticket) if answer else None,
                             _deadline_or_now(timeout)))
        return ticket.value if answer else None

    def take(self, timeout=None):
        """Returns the next Message: an answer to a post, an event, or news about the server."""
        message, data = _Message(), ctypes.create_string_buffer(MESSAGE_MAX)
        deadline = _deadline_or_now(timeout)
        while True:
            turn = min(deadline, lib.weft_deadline(_TURN_NSEC))
            result = lib.weft_take(self._open(), ctypes.byref(message), data, MESSAGE_MAX, turn)
            if result != -errno.ETIMEDOUT or turn == deadline:
                break
        _check(result)
        return Message(message.kind, message.result, message.ticket, message.service,
                       data.raw[:message.size])

    def fileno(self):
        """A descriptor for event loops: see weft_attachment_fd in weft/weft.h."""
        return _check(lib.weft_attachment_fd(self._open()))

    def arm(self):
        """False: a message has come in the meantime, so do not sleep."""
        result = lib.weft_attachment_arm(self._open())
        if result == -errno.EAGAIN:
            return False
        _check(result)
        return True

    async def messages(self):
        """Yields messages in an asyncio event loop."""
        loop, descriptor = asyncio.get_running_loop(), self.fileno()
        while True:
            try:
                yield self.take(timeout=0)
                continue
            except WouldBlock:
                pass
            if self.arm():
                ready = loop.create_future()
                loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
                try:
                    await ready
                finally:
                    loop.remove_reader(descriptor)
