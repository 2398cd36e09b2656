#pragma once
/* descriptor: sockets, TAP devices and pipes of a service, watched by the server.
 *
 * A service that uses descriptors declares that in its struct weft_service: `descriptors` is the
 * number that it may have open at once on a server. The server watches them together with all other
 * sources of its work, and calls the service when one of them can be used:
 *
 *     static void on_readable(struct weft_self *self, weft_descriptor descriptor, void *user)
 *     {
 *         char bytes[4096];
 *         int64_t size = weft_descriptor_read(self, descriptor, bytes, sizeof bytes);
 *         if (size > 0)
 *             ... use them
 *         else if (size != -EAGAIN)
 *             weft_descriptor_close(self, descriptor); // 0: the peer has sent all; or an error
 *     }
 *     static const struct weft_descriptor_ops ops = {.accepted = on_accepted,
 *                                                    .readable = on_readable};
 *     ...
 *     weft_descriptor_listen(self, NULL, 7400, &ops, NULL, &listener); // in start()
 *
 * No call waits. All functions are called by the node's thread, like all functions of a service.
 *
 * NUMBERS. A descriptor has a number that no other descriptor of this instance ever gets. Suppose
 * that a service sends a packet for a client, and the answer arrives when the client has gone, or
 * after the service's own server was restarted. The service may then use the number as before: the
 * call returns -EBADF, and no other client gets the answer. 0 is no descriptor: a call with 0, or
 * with a value that cannot be the number of a descriptor, is a mistake (-EINVAL).
 *
 * READING. readable() is called again and again while there is something to read: bytes, the end,
 * or an error. The service reads, or pauses the descriptor (weft_descriptor_pause), or closes it;
 * if it does none of these, that is a mistake, and the descriptor is paused. After the end or an
 * error readable() is not called any more.
 *
 * WRITING. A write takes as many bytes as there is room for. If it takes fewer bytes than offered,
 * or none (-EAGAIN), writable() is called once when there is room again. A client that does not
 * read takes a bounded amount of the kernel's memory. The service decides what happens to further
 * bytes: it may keep a bounded amount and pause reading, or close the descriptor.
 *
 * ENDS. weft_descriptor_finish ends the bytes that the service sends; the peer may go on sending.
 * When the peer ends its bytes in the same way, a read returns 0, and the peer may still read. A
 * reset, or a connection that failed, is an error of the next read or write. A service learns of
 * the error by readable() or writable(). If the service has paused the descriptor and does not wait
 * for room, it learns of the error when it ends the pause. Nothing but weft_descriptor_close, and
 * the end of the server, closes a descriptor.
 *
 * FAIRNESS. Events are handled in turns, a few in each pass of the server, so that thousands of
 * busy clients do not delay the packets that the server forwards. In one turn a descriptor reads
 * and writes at most WEFT_DESCRIPTOR_TURN bytes: then the calls behave as if there were no more
 * (-EAGAIN, or fewer bytes), and the next turn comes soon.
 *
 * LIMITS. A client that connects when all `descriptors` of the service are in use, or too few are
 * left in the process, is disconnected at once; this is counted. A server keeps descriptors for its
 * links, files and programs: all services of a process have at most three quarters of what `ulimit
 * -n` allows beyond 256. `weft nodes --json` shows for each such service descriptors_open,
 * descriptors_accepted, descriptors_refused, descriptors_bytes_in and descriptors_bytes_out.
 *
 * WORLDS. In the simulator the same calls reach simulated clients and listeners, which a test or a
 * load generator makes (src/sim/engine/sim_socket.h): bytes arrive late and in pieces, writes are
 * short, connections are reset, all by the seed. Each simulated server has its own ports. An
 * address other than a loopback one belongs to a listener of the test. Descriptors of the operating
 * system do not exist there: weft_descriptor_adopt returns -EOPNOTSUPP. Where a world has no
 * descriptors at all, every call that opens one returns -ENODEV, as for a service that declares no
 * `descriptors`.
 *
 * docs/guide/descriptor.md explains examples/lines.c, a server for lines of text. */

#include <weft/service.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_DESCRIPTORS_MAX 65536        /* largest `descriptors` of a service */
#define WEFT_DESCRIPTOR_TURN (256 * 1024) /* bytes in each direction in one turn */

typedef uint64_t weft_descriptor; /* never given to another one; 0: none */

/* The functions that the server calls for a descriptor. `user` is the pointer that the service gave
 * to the descriptor. Any function may call any function of this header, also
 * weft_descriptor_close. */
struct weft_descriptor_ops {
    /* For a listener: a client has connected. The connection `client` has these functions, too, and
     * no user pointer yet. */
    void (*accepted)(struct weft_self *self, weft_descriptor listener, void *user,
                     weft_descriptor client);
    /* The connection attempt of weft_descriptor_connect has ended. `result` is 0, or a negative
     * errno, after which only weft_descriptor_close makes sense. */
    void (*connected)(struct weft_self *self, weft_descriptor descriptor, void *user, int result);
    /* There is something to read. NULL: the descriptor is only written to. */
    void (*readable)(struct weft_self *self, weft_descriptor descriptor, void *user);
    /* A write took fewer bytes than offered, and now there is room. */
    void (*writable)(struct weft_self *self, weft_descriptor descriptor, void *user);
};

/* ---- opening ----
 *
 * These calls set *descriptor and return 0, or a negative errno: -ENFILE (the service has all its
 * descriptors open), -EMFILE (the process has), -EINVAL (a mistake, which is counted, and of which
 * the first is in the log), -ENODEV (see WORLDS), -ESHUTDOWN (the server stops), or an errno of the
 * system. weft keeps a pointer to `ops`. */

/* Listens for TCP connections. An address is a number such as "0.0.0.0" or "fe80::1"; NULL is
 * 127.0.0.1, which only programs of this machine reach. Port 0: any free one
 * (weft_descriptor_port). -EADDRINUSE: another socket listens there; note that several servers of a
 * cluster may run on one machine. -EADDRNOTAVAIL: not an address of this machine. -EACCES: a port
 * below 1024. */
WEFT_API int weft_descriptor_listen(struct weft_self *self, const char *address, uint16_t port,
                                    const struct weft_descriptor_ops *ops, void *user,
                                    weft_descriptor *descriptor);
/* Connects to a TCP listener. connected() is called when this has succeeded or failed, never from
 * inside this function; before that the descriptor cannot be used, except to close it. */
WEFT_API int weft_descriptor_connect(struct weft_self *self, const char *address, uint16_t port,
                                     const struct weft_descriptor_ops *ops, void *user,
                                     weft_descriptor *descriptor);
/* Takes a descriptor of the operating system that the service has opened: a TAP device, a pipe, a
 * socket. It becomes non-blocking. On success weft owns it and closes it, and the service must not
 * close it or read it by its number any more; on failure the service still owns it. If each read
 * returns one message, as with a TAP device, a message that is larger than the bytes asked for is
 * cut. -EOPNOTSUPP: this is the simulator. -EPERM: a file or a folder, which cannot be watched.
 * -EBADF: not open. -EEXIST: already watched. */
WEFT_API int weft_descriptor_adopt(struct weft_self *self, int fd,
                                   const struct weft_descriptor_ops *ops, void *user,
                                   weft_descriptor *descriptor);

/* ---- using ----
 *
 * All return -EBADF for a descriptor that the service has closed, and -EINVAL for a mistake. */

/* Returns how many bytes were read, at most `size`; 0: the peer has sent all; -EAGAIN: nothing is
 * there now, readable() follows; -ENOTCONN: not connected yet; -ECONNRESET or another error: the
 * connection has failed. `size` is at least 1. */
WEFT_API int64_t weft_descriptor_read(struct weft_self *self, weft_descriptor descriptor,
                                      void *bytes, uint32_t size);
/* Returns how many bytes were taken; fewer than `size`, or -EAGAIN for none: writable() follows, if
 * the service has one. -EPIPE, -ECONNRESET or another error: the peer reads no more. -ENOTCONN: not
 * connected yet. `size` is at least 1. */
WEFT_API int64_t weft_descriptor_write(struct weft_self *self, weft_descriptor descriptor,
                                       const void *bytes, uint32_t size);
/* While a descriptor is paused, readable() is not called for it, nor accepted() for a listener:
 * bytes and clients wait in the kernel, and then at the peer. A pause costs no system call. */
WEFT_API int weft_descriptor_pause(struct weft_self *self, weft_descriptor descriptor, bool paused);
/* Sends the end after all that was written. -ENOTSOCK: not a socket. */
WEFT_API int weft_descriptor_finish(struct weft_self *self, weft_descriptor descriptor);
/* Closes the descriptor. The bytes that were written still go to the peer, unless there are bytes
 * that the service did not read: then the peer may see a reset. No function is called for the
 * descriptor any more. */
WEFT_API int weft_descriptor_close(struct weft_self *self, weft_descriptor descriptor);

/* The user pointer; NULL for a closed descriptor. */
WEFT_API void *weft_descriptor_user(struct weft_self *self, weft_descriptor descriptor);
WEFT_API int weft_descriptor_set_user(struct weft_self *self, weft_descriptor descriptor,
                                      void *user);
/* The port on this machine of a listener or of a connection. -ENOTSOCK: it has none. */
WEFT_API int weft_descriptor_port(struct weft_self *self, weft_descriptor descriptor);

#ifdef __cplusplus
}
#endif
