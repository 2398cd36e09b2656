#pragma once
/* fuzz_line: a peer at the other end of a lifeline that sends what a script requires: whole
 * messages of any kind with descriptors, raw bytes, and the hello in order or out of order. It also
 * has what targets with files and descriptors share: a folder of their own, and a count of open
 * descriptors.
 *
 * Nothing here waits: on one machine, what was sent has arrived, and the peer's end does not
 * block. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/lifeline/lifeline.h"
#include "transport/lifeline/lifeline_wire.h"
#include "transport/memfile.h"
#include "transport/socket.h"

/* ---- files and descriptors ---- */

struct fuzz_folder {
    char path[32]; /* short, because sockets are in it */
};

static inline struct fuzz_folder fuzz_folder_open(void)
{
    struct fuzz_folder folder = {"/dev/shm/weft-fuzz-XXXXXX"};
    assert(mkdtemp(folder.path));
    return folder;
}

/* Asserts that the folder is empty, and removes it. */
static inline void fuzz_folder_close(const struct fuzz_folder *folder)
{
    int result = rmdir(folder->path);
    assert(result == 0);
}

static inline unsigned fuzz_descriptors(void)
{
    unsigned count = 0;
    DIR *entries = opendir("/proc/self/fd");
    assert(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

/* Makes a descriptor to send: a memory file of some pages, sealed or not, or one end of a pipe. */
static inline int fuzz_file(unsigned how)
{
    struct memfile file;
    int ends[2];
    if (how % 4 == 3) {
        assert(pipe2(ends, O_CLOEXEC) == 0);
        close(ends[0]);
        return ends[1];
    }
    if (how % 4 == 2) { /* too small, and without a seal */
        int fd = memfd_create("weft-fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert(fd >= 0 && ftruncate(fd, how >> 2) == 0);
        return fd;
    }
    int result = memfile_open(&file, "weft-fuzz", (size_t)4096 << (how >> 2) % 8);
    assert(result == 0);
    int fd = memfile_share(&file, how % 4 == 0);
    assert(fd >= 0);
    memfile_close(&file);
    return fd;
}

/* ---- the peer ---- */

struct fuzz_peer {
    int fd; /* -1: closed */
    enum hello_role role;
    const uint8_t *key;               /* or NULL */
    uint8_t digests[2][HELLO_DIGEST]; /* of the two greetings, by role */
    struct control_head heard;        /* the last message that arrived, and its body */
    uint8_t body[LIFELINE_FRAME_MAX];
};

static inline void fuzz_unix_address(struct sockaddr_un *address, const char *folder,
                                     uint64_t context)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof address->sun_path, "%s/socket.%016llx", folder,
             (unsigned long long)context);
}

/* Connects to the lifelines at that address, by the socket in the folder or (NULL) over TCP. */
static inline struct fuzz_peer fuzz_peer_call(const struct context_address *address,
                                              const char *folder)
{
    struct fuzz_peer peer = {.role = HELLO_CONNECTS};
    struct sockaddr_un local;
    struct socket_address remote;
    int result;
    if (folder) {
        fuzz_unix_address(&local, folder, address->context);
        peer.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        result = connect(peer.fd, (struct sockaddr *)&local, sizeof local);
    } else {
        result = socket_of_address(address, &remote);
        assert(result == 0);
        peer.fd = socket(remote.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        result = connect(peer.fd, (struct sockaddr *)&remote.storage, remote.size);
    }
    assert(peer.fd >= 0 && result == 0);
    return peer;
}

/* Listens in that folder; fuzz_peer_answer accepts the connection. */
static inline int fuzz_peer_listen(const char *folder, uint64_t context)
{
    struct sockaddr_un address;
    fuzz_unix_address(&address, folder, context);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    assert(listen(fd, 4) == 0);
    return fd;
}

static inline void fuzz_peer_unlisten(int fd, const char *folder, uint64_t context)
{
    struct sockaddr_un address;
    fuzz_unix_address(&address, folder, context);
    unlink(address.sun_path);
    close(fd);
}

static inline struct fuzz_peer fuzz_peer_answer(int fd)
{
    return (struct fuzz_peer){.role = HELLO_LISTENS, .fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC)};
}

static inline void fuzz_peer_close(struct fuzz_peer *peer)
{
    if (peer->fd >= 0)
        close(peer->fd);
    peer->fd = -1;
}

/* Sends raw bytes, whether the other end takes them or not. */
static inline void fuzz_peer_bytes(struct fuzz_peer *peer, const void *bytes, size_t size,
                                   const int *fds, unsigned fd_count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 16)];
    } room;
    struct iovec piece = {(void *)(uintptr_t)bytes, size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (fd_count && fd_count <= 16) {
        memset(&room, 0, sizeof room);
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
    }
    (void)!sendmsg(peer->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends a whole message. */
static inline void fuzz_peer_say(struct fuzz_peer *peer, uint16_t kind, const void *body,
                                 size_t size, const int *fds, unsigned fd_count)
{
    uint8_t bytes[LIFELINE_FRAME_MAX];
    struct control_head head = {
        .kind = kind, .size = (uint16_t)size, .fd_count = (uint8_t)fd_count};
    assert(size <= CONTROL_BODY_MAX && fd_count <= CONTROL_FD_MAX);
    control_head_write(bytes, &head);
    if (size)
        memcpy(bytes + CONTROL_HEAD_SIZE, body, size);
    fuzz_peer_bytes(peer, bytes, CONTROL_HEAD_SIZE + size, fds, fd_count);
}

/* Receives one message, if there is one, and closes its descriptors. */
static inline bool fuzz_peer_hear(struct fuzz_peer *peer)
{
    uint8_t bytes[CONTROL_HEAD_SIZE];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * 16)];
    } room;
    int type;
    socklen_t type_size = sizeof type;
    struct iovec pieces[2] = {{bytes, sizeof bytes}, {peer->body, sizeof peer->body}};
    struct msghdr message = {.msg_iov = pieces,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    if (getsockopt(peer->fd, SOL_SOCKET, SO_TYPE, &type, &type_size))
        return false;
    message.msg_iovlen = type == SOCK_STREAM ? 1 : 2;
    if (recvmsg(peer->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < CONTROL_HEAD_SIZE)
        return false;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
        int fds[16];
        size_t size = at->cmsg_len - CMSG_LEN(0);
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS || size > sizeof fds)
            continue;
        memcpy(fds, CMSG_DATA(at), size);
        for (size_t i = 0; i < size / sizeof *fds; i++)
            close(fds[i]);
    }
    assert(control_head_read(&peer->heard, bytes) == 0); /* our own messages are valid */
    if (type == SOCK_STREAM && peer->heard.size)
        assert(recv(peer->fd, peer->body, peer->heard.size, MSG_DONTWAIT) == peer->heard.size);
    if (peer->heard.kind == HELLO_GREETING)
        hello_digest(peer->digests[2 - peer->role], peer->body, peer->heard.size);
    return true;
}

static inline void fuzz_peer_greet(struct fuzz_peer *peer, const struct lifeline_hello *hello)
{
    uint8_t bytes[HELLO_SIZE_MAX];
    size_t size = greeting_write(hello, bytes);
    hello_digest(peer->digests[peer->role - 1], bytes, size);
    fuzz_peer_say(peer, HELLO_GREETING, bytes, size, NULL, 0);
}

static inline void fuzz_peer_prove(struct fuzz_peer *peer)
{
    uint8_t proof[HELLO_DIGEST];
    hello_proof(proof, peer->key, peer->role, peer->digests[0], peer->digests[1]);
    fuzz_peer_say(peer, HELLO_PROOF, proof, sizeof proof, NULL, 0);
}

static inline struct lifeline_hello fuzz_hello(const struct fuzz_peer *peer, uint64_t context,
                                               const uint8_t *card, size_t card_size)
{
    struct lifeline_hello hello = {.role = peer->role,
                                   .keyed = peer->key != NULL,
                                   .address.context = context,
                                   .card_size = (uint16_t)card_size};
    assert(card_size <= sizeof hello.card);
    context_address_host(hello.address.host);
    if (card_size)
        memcpy(hello.card, card, card_size);
    return hello;
}

/* Runs all that is due at the other end. */
static inline void fuzz_settle(struct poller *poller)
{
    for (unsigned i = 0; i < 64 && poller_step(poller, 0) > 0; i++)
        ;
}

/* The whole hello of a connecting peer, in order. */
static inline void fuzz_peer_hello(struct fuzz_peer *peer, struct poller *poller, uint64_t context,
                                   const uint8_t *card, size_t card_size)
{
    struct lifeline_hello hello = fuzz_hello(peer, context, card, card_size);
    fuzz_peer_greet(peer, &hello);
    fuzz_settle(poller);
    while (fuzz_peer_hear(peer))
        ;
    fuzz_peer_prove(peer);
    fuzz_settle(poller);
}
