"""Messages between services named by 64-bit ids, wherever they run.

    from weft import ripc

    with ripc.Context() as context, context.bind(42) as service:
        for message in service:
            message.reply(message.data)

Timeouts are in seconds: None waits for ever, 0 does not wait. Errors are
ripc.Error, an OSError, with a subclass for each that a program reacts to.
A context's objects may be used from any thread; the interpreter's lock is
released while a call waits. `man 7 weft-ripc` explains the ideas.

Memory that peers reach without a copy comes from Context.alloc and is seen
through Buffer.view, a memoryview. It dies with Buffer.free or the context:
slices of a view must not be used after that."""

import asyncio
import collections
import ctypes
import errno
import weakref

from weft import _library as c
from weft._library import library as lib

SHORT_MAX = c.SHORT_MAX
READ, WRITE = c.READ, c.WRITE
DONE, CREDIT, UP, MOVED, DOWN = range(1, 6)

_TURN_NSEC = 200_000_000  # a wait in C hears Ctrl-C only between its turns

Event = collections.namedtuple("Event", "kind status operation user id")
Name = collections.namedtuple("Name", "id member context incarnation group local pid address")


class Error(OSError):
    """A refusal of ripc; errno is positive, as everywhere in Python."""


class UnknownService(Error):
    """Nobody has that id."""


class WouldBlock(Error, BlockingIOError):
    """Nothing to take, or no credit, just now."""


class Timeout(Error, TimeoutError):
    """The deadline has passed."""


class PeerGone(Error, BrokenPipeError):
    """The peer's process died."""


class Rejected(Error):
    """The receiver refused a long item."""


class InUse(Error):
    """Somebody alive has that id."""


class Denied(Error, PermissionError):
    """No such grant for us, or revoked, or without that right."""


_CLASSES = {
    errno.ENOENT: UnknownService, errno.EAGAIN: WouldBlock, errno.ETIMEDOUT: Timeout,
    errno.EPIPE: PeerGone, errno.ENOBUFS: Rejected, errno.EADDRINUSE: InUse,
    errno.EACCES: Denied,
}


def _check(result, reason=None):
    if result >= 0:
        return result
    text = reason or lib.ripc_strerror(int(result)).decode()
    raise _CLASSES.get(-result, Error)(int(-result), text)


def _deadline(timeout):
    if timeout is None:
        return c.FOREVER
    return lib.ripc_after(int(timeout * 1e9)) if timeout > 0 else c.NOW


def _wait(call, timeout):
    """call(deadline) until it has something or the timeout has passed, in turns."""
    deadline = _deadline(timeout)
    while True:
        result = call(min(deadline, lib.ripc_after(_TURN_NSEC)))
        if result != -errno.ETIMEDOUT or lib.ripc_now() >= deadline:
            return _check(result)


def _address(memory):
    """Where writable memory (a Buffer, a bytearray, a memoryview) is, and its size."""
    view = memory.view if isinstance(memory, Buffer) else memoryview(memory).cast("B")
    return ctypes.addressof(ctypes.c_char.from_buffer(view)) if view.nbytes else 0, view.nbytes


def _view(address, size):
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _iovecs(pairs):
    return (c.Iovec * max(len(pairs), 1))(*(c.Iovec(base, size) for base, size in pairs))


def _encoded(text):
    return text.encode() if isinstance(text, str) else text


class _Closing:
    """Something of the library's with a handle, closed once, by `with` if one likes."""

    _handle = None

    def _open(self):
        if self._handle is None:
            raise ValueError(f"{type(self).__name__.lower()} is closed")
        return self._handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Context(_Closing):
    """A process's door to the others. What is not given is the environment's
    (WEFT_DOMAIN, WEFT_NAMES, WEFT_TRANSPORTS, ...) or the default."""

    def __init__(self, domain=None, names=None, transports=None, address=None, provider=None,
                 secret=None, manual=False, ring_slots=0, ring_bytes=0, spin_nsec=0, yield_nsec=0,
                 node=None):
        reason = ctypes.create_string_buffer(c.REASON_MAX)
        config = c.Config(
            domain=_encoded(domain), names=_encoded(names), transports=_encoded(transports),
            address=_encoded(address), provider=_encoded(provider), node=_encoded(node),
            flags=c.MANUAL if manual else 0, ring_slots=ring_slots, ring_bytes=ring_bytes,
            spin_nsec=spin_nsec, yield_nsec=yield_nsec, reason=ctypes.addressof(reason))
        key = ctypes.create_string_buffer(secret, len(secret)) if secret else None
        if key:
            config.secret, config.secret_size = ctypes.addressof(key), len(secret)
        handle = ctypes.c_void_p()
        _check(lib.ripc_open(ctypes.byref(config), ctypes.byref(handle)),
               reason.value.decode(errors="replace"))
        self._handle = handle
        self._children = weakref.WeakSet()
        self._callbacks = []  # that the library may call: they live until it no longer can

    def close(self, timeout=1):
        """Waits for operations under way and for what was sent to arrive, then ends
        everything of this context. False says that something had to be cancelled, or
        may not have arrived. Closing twice is harmless."""
        if self._handle is None:
            return True
        handle, self._handle = self._handle, None
        for child in list(self._children):
            child._orphan()
        closed = lib.ripc_close(handle, _deadline(timeout)) >= 0
        self._callbacks.clear()
        return closed

    def __del__(self):
        self.close(0)

    def progress(self):
        return _check(lib.ripc_progress(self._open()))

    def bind(self, id=0):
        """A service with that id; 0 chooses a random one."""
        return Service(self, id)

    def alloc(self, size):
        return Buffer(self, size)

    def register(self, memory):
        """Lets peers reach foreign memory (a bytearray, an array): the caller
        keeps it alive and where it is until unregister."""
        _check(lib.ripc_register(self._open(), *_address(memory)))

    def unregister(self, memory):
        _check(lib.ripc_unregister(self._open(), _address(memory)[0]))

    def window_add(self, memory, service=None):
        """Long items that fit go there; the window is used once. The caller
        keeps the memory alive until then."""
        _check(lib.ripc_window_add(self._open(), service and service._open(), *_address(memory)))

    def window_remove(self, memory, service=None):
        _check(lib.ripc_window_remove(self._open(), service and service._open(),
                                      _address(memory)[0]))

    def notice(self, callback=None):
        """Somewhere that notifications arrive: callback(count, value) on a
        thread of the library's, or Notice.wait and Notice.fileno."""
        return Notice(self, callback)

    def names(self):
        found = []

        def add(_, name):
            name = name.contents
            found.append(Name(name.id, name.member, name.context, name.incarnation, name.group,
                              name.local, name.pid, name.address.decode(errors="replace")))

        _check(lib.ripc_list(self._open(), c.LIST_CALLBACK(add), None))
        return found

    def stats(self):
        stats = c.Stats()
        _check(lib.ripc_stats(self._open(), ctypes.byref(stats)))
        return {name: getattr(stats, name) for name, _ in c.Stats._fields_}


class Buffer(_Closing):
    """Memory that peers can reach without a copy; `view` is what Python sees."""

    def __init__(self, context, size, address=None):
        self._handle = address or lib.ripc_alloc(context._open(), size)
        if not self._handle:
            raise MemoryError(f"{size} bytes")
        self._context = context
        self.view = _view(self._handle, size)
        context._children.add(self)

    def __len__(self):
        return self.view.nbytes

    def free(self):
        """Refused while a send, a window or a view made from ours uses it."""
        if self._handle is None:
            return
        size = len(self)
        self.view.release()  # BufferError if somebody else looks through it
        result = lib.ripc_free(self._context._open(), self._handle)
        if result < 0:
            self.view = _view(self._handle, size)
            _check(result)
        self._handle = None

    close = free

    def _orphan(self):
        self._handle = None
        try:
            self.view.release()
        except BufferError:  # somebody holds it, and was told not to
            pass

    def __del__(self):
        if self._handle is not None and self._context._handle is not None:
            lib.ripc_free(self._context._handle, self._handle)


class Operation:
    """A send that is not complete: its long items belong to it until it is."""

    def __init__(self, service, number):
        self.service, self.number = service, number

    def wait(self, timeout=None):
        """Returns when the receiver has all long items; raises if it never will."""
        try:
            _wait(lambda deadline: lib.ripc_wait(self.service._open(), self.number, deadline),
                  timeout)
        except (Timeout, WouldBlock):
            raise  # it is still under way
        except Error:
            self.service._memory.pop(self.number, None)
            raise
        self.service._memory.pop(self.number, None)

    def cancel(self, timeout=None):
        _check(lib.ripc_cancel(self.service._open(), self.number, _deadline(timeout)))
        self.service._memory.pop(self.number, None)


class Service(_Closing):
    """A bound name that sends and receives. Iterating over it receives for ever."""

    def __init__(self, context, id):
        handle = ctypes.c_void_p()
        _check(lib.ripc_bind(context._open(), id, 0, ctypes.byref(handle)))
        self._handle = handle
        self._context = context
        self._memory = {}  # operation: what it keeps alive
        self.id = lib.ripc_service_id(handle)
        context._children.add(self)

    def close(self):
        """Waits for what was sent to arrive, and unbinds. Messages not yet released
        become invalid. False says that some may not have arrived."""
        if self._handle is None:
            return True
        handle, self._handle = self._handle, None
        self._memory.clear()
        return lib.ripc_unbind(handle) >= 0

    def _orphan(self):
        self._handle = None
        self._memory.clear()

    def fileno(self):
        """Readable when there is something to take, once arm() has said True."""
        return _check(lib.ripc_fd(self._open()))

    def arm(self):
        """True: nothing waits, and the descriptor tells when something does."""
        result = lib.ripc_arm(self._open())
        return result != -errno.EAGAIN and _check(result) >= 0

    def send(self, to, *pieces, longs=(), returns=(), user=0, timeout=None):
        """A message of short pieces (bytes), long items and return buffers.

        Long items are Buffers, views of them or registered memory; a return
        buffer may also be a number: the library allocates one of that size.
        Returns None, or the Operation that completes when the receiver has the
        long items."""
        copies = [bytes(piece) for piece in pieces]
        shorts = _iovecs([(ctypes.cast(ctypes.c_char_p(copy), ctypes.c_void_p).value, len(copy))
                          for copy in copies])
        items = _iovecs([_address(memory) for memory in longs])
        offers = _iovecs([(None, memory) if isinstance(memory, int) else _address(memory)
                          for memory in returns])
        message = c.Send(to=to, shorts=shorts, longs=items, returns=offers,
                         short_count=len(copies), long_count=len(longs),
                         return_count=len(returns), user=user)

        def attempt(deadline):
            message.deadline = deadline
            return lib.ripc_send_message(self._open(), ctypes.byref(message))

        number = _wait(attempt, timeout)
        if number == 0:
            return None
        self._memory[number] = (longs, returns)
        return Operation(self, number)

    def transport(self, to):
        """What carries messages to that id now, "shm" or another; None before the first."""
        name = lib.ripc_transport(self._open(), to)
        return name and name.decode()

    def withdraw(self, memory, timeout=None):
        """Takes a return buffer back; refused if it was used just now."""
        base = _address(memory)[0]
        _wait(lambda deadline: lib.ripc_withdraw(self._open(), base, deadline), timeout)

    def receive(self, timeout=None):
        """The next message. Timeout or WouldBlock if there is none in time."""
        raw = c.Message()
        _wait(lambda deadline: lib.ripc_receive(self._open(), ctypes.byref(raw), 1, deadline),
              timeout)
        return Message(self, raw)

    async def receive_async(self):
        """The next message, in an asyncio loop."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return self.receive(0)
            except WouldBlock:
                if not self.arm():
                    continue
            ready = loop.create_future()
            loop.add_reader(self.fileno(), lambda: ready.done() or ready.set_result(None))
            try:
                await ready
            finally:
                loop.remove_reader(self.fileno())

    def __iter__(self):
        while True:
            yield self.receive()

    def poll(self, max=64, timeout=None):
        """Completions and other news, as Events; waits for the first."""
        events = (c.Event * max)()
        count = _wait(lambda deadline: lib.ripc_poll(self._open(), events, max, deadline), timeout)
        news = [Event(event.kind, event.status, event.operation, event.user, event.id)
                for event in events[:count]]
        for event in news:
            if event.kind == DONE:
                self._memory.pop(event.operation, None)
        return news

    def watch(self, id):
        """UP, MOVED and DOWN events for an id, from now on."""
        _check(lib.ripc_watch(self._open(), id))

    def unwatch(self, id):
        _check(lib.ripc_unwatch(self._open(), id))

    def join(self, group):
        _check(lib.ripc_join(self._open(), group))

    def leave(self, group):
        _check(lib.ripc_leave(self._open(), group))

    def notify(self, handle, value=0, timeout=None):
        """Rings a Notice, by the handle that its owner sent (as bytes, too)."""
        handle = handle if isinstance(handle, c.Handle) else c.Handle.from_buffer_copy(handle)
        _wait(lambda deadline: lib.ripc_notify(self._open(), ctypes.byref(handle), value, deadline),
              timeout)

    def grant(self, peer, memory, rights=READ):
        """The right of one peer to reach our memory, as bytes to be sent to it."""
        grant = c.Grant()
        _check(lib.ripc_grant(self._open(), peer, *_address(memory), rights, ctypes.byref(grant)))
        return bytes(grant)

    def revoke(self, grant, timeout=None):
        grant = c.Grant.from_buffer_copy(grant)
        _wait(lambda deadline: lib.ripc_revoke(self._open(), ctypes.byref(grant), deadline),
              timeout)

    def read(self, grant, offset=0, size=None, timeout=None):
        """Bytes of the memory that was granted to us; all of it without a size."""
        grant = c.Grant.from_buffer_copy(grant)
        size = grant.size - offset if size is None else size
        into = ctypes.create_string_buffer(max(size, 1))
        _wait(lambda deadline: lib.ripc_read(self._open(), ctypes.byref(grant), offset, into, size,
                                             deadline), timeout)
        return into.raw[:size]

    def write(self, grant, data, offset=0, timeout=None):
        grant, data = c.Grant.from_buffer_copy(grant), bytes(data)
        _wait(lambda deadline: lib.ripc_write(self._open(), ctypes.byref(grant), offset, data,
                                              len(data), deadline), timeout)


class LongItem:
    """A long item of a message. `view` is its memory, None while it is pending."""

    def __init__(self, message, index):
        item = message._raw.longs[index]
        self._message, self._index = message, index
        self.size, self.status, self.returned = item.size, item.status, item.returned
        self._buffer = None
        self.view = None
        if item.data and item.owned:
            self._buffer = Buffer(message.service._context, item.size, item.data)
            self.view = self._buffer.view
        elif item.data:
            self.view = _view(item.data, item.size)

    @property
    def pending(self):
        return self.status == -errno.EINPROGRESS

    def fetch(self, into=None, timeout=None):
        """Copies a pending item into memory, allocated if none is given; its view."""
        memory = into if into is not None else Buffer(self._message.service._context, self.size)
        base, size = _address(memory)
        _wait(lambda deadline: lib.ripc_fetch(self._message._open(), self._index, base, size,
                                              deadline), timeout)
        self._buffer, self.status = memory, 0
        self.view = (memory.view if isinstance(memory, Buffer) else
                     memoryview(memory).cast("B"))[:self.size]
        return self.view

    def reject(self):
        _check(lib.ripc_reject(self._message._open(), self._index))
        self.status = -errno.ENOBUFS


class Message:
    """What was received. Short items are copied out at once, so most messages
    hold nothing; one with long items or return buffers is held until release,
    the end of a `with`, or the garbage collector."""

    def __init__(self, service, raw):
        self.service, self._raw, self._held = service, raw, True
        self.sender, self.to = getattr(raw, "from"), raw.to
        self.data = ctypes.string_at(raw.data, raw.size) if raw.size else b""
        self.shorts = [self._short(index) for index in range(raw.short_count)]
        self.longs = [LongItem(self, index) for index in range(raw.long_count)]
        self.return_count = raw.return_count
        if not self.longs and not self.return_count:
            self.release()

    def _short(self, index):
        size = ctypes.c_size_t()
        data = lib.ripc_short(ctypes.byref(self._raw), index, ctypes.byref(size))
        return ctypes.string_at(data, size.value) if data and size.value else b""

    def _open(self):
        if not self._held or self.service._handle is None:
            raise ValueError("message was released")
        return ctypes.byref(self._raw)

    def reply(self, *pieces, **options):
        """Service.send to whom it came from."""
        return self.service.send(self.sender, *pieces, **options)

    def release(self):
        """Gives it back; pending items are rejected. Twice is harmless."""
        if self._held and self.service._handle is not None:
            lib.ripc_release(ctypes.byref(self._raw))
        self._held = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()

    def __del__(self):
        if getattr(self, "_held", False):
            self.release()


class Notice(_Closing):
    """Somewhere that notifications arrive. bytes(notice.handle) is what to send
    to whoever shall notify us."""

    def __init__(self, context, callback=None):
        handle = ctypes.c_void_p()
        self.handle = c.Handle()
        self._callback = (c.NOTICE_CALLBACK(lambda _, count, value: callback(count, value))
                          if callback else c.NOTICE_CALLBACK())
        _check(lib.ripc_notice_open(context._open(), self._callback, None, ctypes.byref(handle),
                                    ctypes.byref(self.handle)))
        self._handle = handle
        self._context = context
        context._children.add(self)
        context._callbacks.append(self._callback)

    def wait(self, timeout=None):
        """(how many came since the last call, the last value)."""
        value = ctypes.c_uint64()
        count = _wait(lambda deadline: lib.ripc_notice_wait(self._open(), ctypes.byref(value),
                                                            deadline), timeout)
        return count, value.value

    def fileno(self):
        """Readable while some wait."""
        return _check(lib.ripc_notice_fd(self._open()))

    def close(self):
        if self._handle is not None:
            handle, self._handle = self._handle, None
            _check(lib.ripc_notice_close(handle))
            self._context._callbacks.remove(self._callback)

    def _orphan(self):
        self._handle = None


def clean(domain=None):
    """Removes what killed processes of the domain left behind; how many files."""
    return _check(lib.ripc_clean(_encoded(domain)))
