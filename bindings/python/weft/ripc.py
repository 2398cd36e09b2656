"""Messages between services that are named by 64-bit ids, on one host or on many.

    from weft import ripc

    with ripc.Context() as context, context.bind(42) as service:
        for message in service:
            message.reply(message.data)

Timeouts are in seconds: None waits for ever, 0 does not wait. Errors are raised
as ripc.Error, an OSError, with subclasses for those that programs handle.
A context and its objects may be used from any thread; the interpreter's lock is
released while a call waits. In a child of os.fork or multiprocessing, calls on objects
of the parent raise Inherited, and change nothing; the child opens its own. `man 7 weft-ripc` explains the concepts.

Context.alloc returns memory that peers can access without a copy. Buffer.view
is a memoryview of it. The memory is freed by Buffer.free or with the context:
do not use slices of the view after that."""

import asyncio
import collections
import ctypes
import errno
import weakref

from weft import _library as c
from weft._library import library as lib

SHORT_MAX = c.SHORT_MAX
READ, WRITE = c.READ, c.WRITE
DONE, CREDIT, UP, MOVED, DOWN, LOST = range(1, 7)

_TURN_NSEC = 200_000_000  # Ctrl-C is noticed only between calls of C, so long waits are split

Event = collections.namedtuple("Event", "kind status operation user id count since")
Name = collections.namedtuple("Name", "id member context incarnation group local pid address")


class Error(OSError):
    """An error of ripc. As usual in Python, errno is positive."""


class UnknownService(Error):
    """No process holds that id."""


class WouldBlock(Error, BlockingIOError):
    """Nothing has arrived, or there is no credit at the moment."""


class Timeout(Error, TimeoutError):
    """The deadline has passed."""


class PeerGone(Error, BrokenPipeError):
    """The peer's process died."""


class Rejected(Error):
    """The receiver rejected a long item."""


class InUse(Error):
    """A live process holds that id."""


class Retired(Error):
    """The service retires, and everything that was sent to it has been received."""


class Denied(Error, PermissionError):
    """There is no such grant for this process, it was revoked, or it lacks the right."""


class Inherited(Error, ChildProcessError):
    """The parent of this process opened the object; a child of fork cannot use it."""


_CLASSES = {
    errno.ENOENT: UnknownService, errno.EAGAIN: WouldBlock, errno.ETIMEDOUT: Timeout,
    errno.EPIPE: PeerGone, errno.ENOBUFS: Rejected, errno.EADDRINUSE: InUse,
    errno.EACCES: Denied, errno.ESHUTDOWN: Retired, errno.ECHILD: Inherited,
}


def _check(result, reason=None):
    if result >= 0:
        return result
    text = reason or lib.ripc_strerror(int(result)).decode()
    raise _CLASSES.get(-result, Error)(int(-result), text)


def _check_space(context, result):
    """For calls that write a file in the folder of the domain: a full folder is named."""
    reason = None
    if result == -errno.ENOSPC:
        folder = lib.ripc_folder(context._open()).decode()
        reason = f"cannot write a file in {folder}: {lib.ripc_strerror(result).decode()}"
    return _check(result, reason)


def _closed(result):
    """For calls that always close: True, or False if something may be lost."""
    if result == -errno.ECHILD:
        _check(result)
    return result >= 0


def _deadline(timeout):
    if timeout is None:
        return c.FOREVER
    return lib.ripc_after(int(timeout * 1e9)) if timeout > 0 else c.NOW


def _wait(call, timeout):
    """Repeats call(deadline) in short turns until it has a result or the timeout has passed."""
    deadline = _deadline(timeout)
    while True:
        result = call(min(deadline, lib.ripc_after(_TURN_NSEC)))
        if result != -errno.ETIMEDOUT or lib.ripc_now() >= deadline:
            return _check(result)


def _address(memory):
    """Returns the address and size of writable memory (Buffer, bytearray, memoryview)."""
    view = memory.view if isinstance(memory, Buffer) else memoryview(memory).cast("B")
    return ctypes.addressof(ctypes.c_char.from_buffer(view)) if view.nbytes else 0, view.nbytes


def _view(address, size):
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _iovecs(pairs):
    return (c.Iovec * max(len(pairs), 1))(*(c.Iovec(base, size) for base, size in pairs))


def _encoded(text):
    return text.encode() if isinstance(text, str) else text


class _Closing:
    """An object with a handle of the library. It is closed once; `with` closes it too."""

    _handle = None

    def _open(self):
        if self._handle is None:
            raise ValueError(f"{type(self).__name__.lower()} is closed")
        return self._handle

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.close()
        except Inherited:  # a child that leaves the block may have another reason to raise
            pass


class Context(_Closing):
    """One open instance of the library. Arguments that are not given come from the
    environment (WEFT_DOMAIN, WEFT_NAMES, WEFT_TRANSPORTS, ...), else from the defaults."""

    def __init__(self, domain=None, names=None, transports=None, address=None, provider=None,
                 secret=None, manual=False, ring_slots=0, ring_bytes=0, spin_nsec=0, yield_nsec=0,
                 node=None, port=0):
        reason = ctypes.create_string_buffer(c.REASON_MAX)
        config = c.Config(
            domain=_encoded(domain), names=_encoded(names), transports=_encoded(transports),
            address=_encoded(address), provider=_encoded(provider), node=_encoded(node), port=port,
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
        self._callbacks = []  # kept alive as long as the library may call them

    def close(self, timeout=1):
        """Waits for operations to complete and for sent messages to arrive, then closes
        all objects of this context. Returns False if an operation was cancelled or
        messages may not have arrived. Closing twice is harmless."""
        result = self._shut(timeout)
        return _closed(result)

    def _shut(self, timeout):
        if self._handle is None:
            return 0
        handle, self._handle = self._handle, None
        for child in list(self._children):
            child._orphan()
        result = lib.ripc_close(handle, _deadline(timeout))
        self._callbacks.clear()
        return result

    def __del__(self):
        self._shut(0)

    def progress(self):
        return _check(lib.ripc_progress(self._open()))

    def bind(self, id=0):
        """Binds and returns a service with that id; 0 chooses a random id."""
        return Service(self, id)

    def alloc(self, size):
        return Buffer(self, size)

    def register(self, memory):
        """Lets peers access memory of the program (a bytearray, an array). The caller
        must keep the memory alive and in place until unregister."""
        _check(lib.ripc_register(self._open(), *_address(memory)))

    def unregister(self, memory):
        _check(lib.ripc_unregister(self._open(), _address(memory)[0]))

    def window_add(self, memory, service=None):
        """Adds a window that receives one long item. The caller must keep the memory
        alive until then."""
        _check(lib.ripc_window_add(self._open(), service and service._open(), *_address(memory)))

    def window_remove(self, memory, service=None):
        _check(lib.ripc_window_remove(self._open(), service and service._open(),
                                      _address(memory)[0]))

    def notice(self, callback=None):
        """Opens a Notice, which receives notifications: by callback(count, value) on a
        thread of the library, or else by Notice.wait and Notice.fileno."""
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
    """Memory that peers can access without a copy; `view` is a memoryview of it."""

    def __init__(self, context, size, address=None):
        self._handle = address or lib.ripc_alloc(context._open(), size)
        if not self._handle:
            context.stats()  # raises in a child of fork
            raise MemoryError(f"{size} bytes")
        self._context = context
        self.view = _view(self._handle, size)
        context._children.add(self)

    def __len__(self):
        return self.view.nbytes

    def free(self):
        """Frees the memory. Raises while a send, a window or a slice of `view` uses it."""
        if self._handle is None:
            return
        size = len(self)
        self.view.release()  # BufferError while a slice of it is in use
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
        except BufferError:  # the program still holds a slice, against the rules
            pass

    def __del__(self):
        if self._handle is not None and self._context._handle is not None:
            lib.ripc_free(self._context._handle, self._handle)


class Operation:
    """A send that is not complete. Do not change its long items until it is."""

    def __init__(self, service, number):
        self.service, self.number = service, number

    def wait(self, timeout=None):
        """Waits until the receiver has all long items; raises if the operation fails."""
        try:
            _wait(lambda deadline: lib.ripc_wait(self.service._open(), self.number, deadline),
                  timeout)
        except (Timeout, WouldBlock):
            raise  # the operation is still under way
        except Error:
            self.service._memory.pop(self.number, None)
            raise
        self.service._memory.pop(self.number, None)

    def cancel(self, timeout=None):
        _check(lib.ripc_cancel(self.service._open(), self.number, _deadline(timeout)))
        self.service._memory.pop(self.number, None)


class Service(_Closing):
    """A bound id that sends and receives. Iterating over it receives until it has retired."""

    def __init__(self, context, id):
        handle = ctypes.c_void_p()
        _check_space(context, lib.ripc_bind(context._open(), id, 0, ctypes.byref(handle)))
        self._handle = handle
        self._context = context
        self._memory = {}  # operation: memory that must stay alive
        self.id = lib.ripc_service_id(handle)
        context._children.add(self)

    def close(self):
        """Waits for sent messages to arrive, then unbinds. Messages that were not
        released become invalid. Messages that were not received are lost, and their
        senders get LOST events. Returns False if sent messages may not have arrived."""
        if self._handle is None:
            return True
        handle, self._handle = self._handle, None
        self._memory.clear()
        return _closed(lib.ripc_unbind(handle))

    def retire(self, moves=False):
        """Asks all senders to send nothing more. Receive until Retired is raised, or the
        iteration ends, then close: no message is lost. With `moves`, sends to the id wait
        until it is bound again; otherwise they fail once it is closed."""
        _check(lib.ripc_retire(self._open(), c.MOVES if moves else 0))

    def _orphan(self):
        self._handle = None
        self._memory.clear()

    def fileno(self):
        """A descriptor that is readable when something has arrived after arm() returned True."""
        return _check(lib.ripc_fd(self._open()))

    def arm(self):
        """Arms the descriptor. Returns False if something has already arrived."""
        result = lib.ripc_arm(self._open())
        return result != -errno.EAGAIN and _check(result) >= 0

    def send(self, to, *pieces, longs=(), returns=(), user=0, timeout=None):
        """Sends a message of short pieces (bytes), long items and return buffers.

        Long items are Buffers, views of them or registered memory. A return buffer
        may also be a number: the library then allocates one of that size. Returns
        None, or an Operation that completes when the receiver has the long items."""
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
        """The transport that carries messages to that id, such as "shm"; None before the first."""
        name = lib.ripc_transport(self._open(), to)
        return name and name.decode()

    def withdraw(self, memory, timeout=None):
        """Takes a return buffer back; raises if the peer has just used it."""
        base = _address(memory)[0]
        _wait(lambda deadline: lib.ripc_withdraw(self._open(), base, deadline), timeout)

    def receive(self, timeout=None):
        """Returns the next message; raises Timeout or WouldBlock if none arrives in time,
        and Retired after the last one that was sent before retire()."""
        raw = c.Message()
        _wait(lambda deadline: lib.ripc_receive(self._open(), ctypes.byref(raw), 1, deadline),
              timeout)
        return Message(self, raw)

    async def receive_async(self):
        """Returns the next message, in an asyncio loop."""
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
            try:
                message = self.receive()
            except Retired:
                return
            yield message

    def poll(self, max=64, timeout=None):
        """Returns completions and other Events; waits for the first. LOST: of the messages
        that this service sent to `id`, the `count` before the last `since` are lost
        (status 0), or perhaps lost (negative status: the receiver died)."""
        events = (c.Event * max)()
        count = _wait(lambda deadline: lib.ripc_poll(self._open(), events, max, deadline), timeout)
        news = [Event(event.kind, event.status, event.operation, event.user, event.id,
                      event.count, event.since) for event in events[:count]]
        for event in news:
            if event.kind == DONE:
                self._memory.pop(event.operation, None)
        return news

    def watch(self, id):
        """From now on, reports UP, MOVED and DOWN events for the id."""
        _check(lib.ripc_watch(self._open(), id))

    def unwatch(self, id):
        _check(lib.ripc_unwatch(self._open(), id))

    def join(self, group):
        _check_space(self._context, lib.ripc_join(self._open(), group))

    def leave(self, group):
        _check(lib.ripc_leave(self._open(), group))

    def notify(self, handle, value=0, timeout=None):
        """Notifies a Notice by the handle, or its bytes, that its owner sent."""
        handle = handle if isinstance(handle, c.Handle) else c.Handle.from_buffer_copy(handle)
        _wait(lambda deadline: lib.ripc_notify(self._open(), ctypes.byref(handle), value, deadline),
              timeout)

    def grant(self, peer, memory, rights=READ):
        """Grants one peer access to memory; returns the grant as bytes to send to that peer."""
        grant = c.Grant()
        _check(lib.ripc_grant(self._open(), peer, *_address(memory), rights, ctypes.byref(grant)))
        return bytes(grant)

    def revoke(self, grant, timeout=None):
        grant = c.Grant.from_buffer_copy(grant)
        _wait(lambda deadline: lib.ripc_revoke(self._open(), ctypes.byref(grant), deadline),
              timeout)

    def read(self, grant, offset=0, size=None, timeout=None):
        """Returns bytes of granted memory; all of them if no size is given."""
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
    """A long item of a message. `view` is its memory; None while the item is pending."""

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
        """Copies a pending item into memory (allocated if not given); returns its view."""
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
    """A received message. Short items are copied out at once, so most messages hold
    no resources. A message with long items or return buffers is held until release(),
    the end of its `with`, or garbage collection."""

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
        """Calls Service.send with the sender of this message as the destination."""
        return self.service.send(self.sender, *pieces, **options)

    def release(self):
        """Releases the message; rejects pending items. Releasing twice is harmless."""
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
    """Receives notifications. Send bytes(notice.handle) to the peers that will notify
    this process."""

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
        """Returns (number of notifications since the last call, last value)."""
        value = ctypes.c_uint64()
        count = _wait(lambda deadline: lib.ripc_notice_wait(self._open(), ctypes.byref(value),
                                                            deadline), timeout)
        return count, value.value

    def fileno(self):
        """A descriptor that is readable while notifications are pending."""
        return _check(lib.ripc_notice_fd(self._open()))

    def close(self):
        if self._handle is not None:
            handle, self._handle = self._handle, None
            _check(lib.ripc_notice_close(handle))
            self._context._callbacks.remove(self._callback)

    def _orphan(self):
        self._handle = None


def clean(domain=None):
    """Removes files that killed processes of the domain left; returns their number."""
    return _check(lib.ripc_clean(_encoded(domain)))
