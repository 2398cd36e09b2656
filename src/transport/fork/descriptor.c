#include "transport/fork/descriptor.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor_set.h"

/* The kernel's default limit for descriptor numbers (fs.nr_open). Larger numbers, which only a
 * system with a raised limit has, are not recorded. */
#define DESCRIPTOR_MAX (1u << 20)
#define WORD_BITS      64u
#define WORD_COUNT     (DESCRIPTOR_MAX / WORD_BITS)

/* A bit for each descriptor. Pages that are never touched cost no memory. */
struct bits {
    uint64_t words[WORD_COUNT];
    unsigned used; /* words from here on are 0 */
};

/* All of this is read and written only under `guard`; in the child of a fork, by its only thread.
 */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct bits kept;    /* descriptors of this library */
static struct bits adopted; /* epoll descriptors of other libraries */

static void bits_set(struct bits *bits, int fd)
{
    unsigned word = (unsigned)fd / WORD_BITS;
    if (fd < 0 || word >= WORD_COUNT)
        return;
    bits->words[word] |= 1ULL << (unsigned)fd % WORD_BITS;
    if (bits->used <= word)
        bits->used = word + 1;
}

static void bits_clear(struct bits *bits, int fd)
{
    unsigned word = (unsigned)fd / WORD_BITS;
    if (fd >= 0 && word < WORD_COUNT)
        bits->words[word] &= ~(1ULL << (unsigned)fd % WORD_BITS);
}

/* Calls back for every set bit, and clears it. */
static void bits_drain(struct bits *bits, void (*act)(int fd))
{
    for (unsigned word = 0; word < bits->used; word++)
        while (bits->words[word]) {
            unsigned bit = (unsigned)__builtin_ctzll(bits->words[word]);
            bits->words[word] &= bits->words[word] - 1;
            act((int)(word * WORD_BITS + bit));
        }
    bits->used = 0;
}

void descriptor_begin(void)
{
    int result = pthread_mutex_lock(&guard);
    assert(result == 0);
}

void descriptor_keep(int fd)
{
    bits_set(&kept, fd);
}

int descriptor_end(int fd)
{
    descriptor_keep(fd);
    int result = pthread_mutex_unlock(&guard); /* does not change errno */
    assert(result == 0);
    return fd;
}

int descriptor_pair(int type, int fds[2])
{
    descriptor_begin();
    int result = socketpair(AF_UNIX, type, 0, fds);
    if (result == 0)
        descriptor_keep(fds[0]);
    descriptor_end(result == 0 ? fds[1] : -1);
    return result;
}

ssize_t descriptor_receive(int socket, struct msghdr *message, int flags)
{
    descriptor_begin();
    ssize_t got = recvmsg(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | flags);
    for (struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(message); header;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = CMSG_LEN(0); at < header->cmsg_len; at += sizeof(int)) {
            int fd;
            memcpy(&fd, (const char *)header + at, sizeof fd);
            descriptor_keep(fd);
        }
    }
    descriptor_end(-1);
    return got;
}

/* Under the guard: otherwise another thread could get the same number for a descriptor that it
 * records, or fork when the number is forgotten and still open. */
void descriptor_close(int fd)
{
    int error = errno;
    descriptor_begin();
    bits_clear(&kept, fd);
    close(fd);
    descriptor_end(-1);
    errno = error;
}

/* These functions use the heap and the list of open streams. No thread waits for the guard
 * while it has the locks of those: a fork takes the guard first, because the C library locks them
 * after all fork handlers. */
DIR *descriptor_folder(const char *path)
{
    descriptor_begin();
    DIR *folder = opendir(path);
    descriptor_end(folder ? dirfd(folder) : -1);
    return folder;
}

void descriptor_folder_close(DIR *folder)
{
    descriptor_begin();
    bits_clear(&kept, dirfd(folder));
    closedir(folder);
    descriptor_end(-1);
}

FILE *descriptor_file(const char *path)
{
    descriptor_begin();
    FILE *file = fopen(path, "re");
    descriptor_end(file ? fileno(file) : -1);
    return file;
}

void descriptor_file_close(FILE *file)
{
    descriptor_begin();
    bits_clear(&kept, fileno(file));
    fclose(file);
    descriptor_end(-1);
}

void descriptor_adopt(int epoll_fd)
{
    descriptor_begin();
    bits_set(&adopted, epoll_fd);
    descriptor_set_walk(epoll_fd, descriptor_set_seal);
    descriptor_end(-1);
}

void descriptor_forget(int epoll_fd)
{
    descriptor_begin();
    bits_clear(&adopted, epoll_fd);
    descriptor_end(-1);
}

/* ---- forks ---- */

static void adopted_seal(int fd)
{
    descriptor_set_walk(fd, descriptor_set_seal);
}

static void adopted_close(int fd)
{
    descriptor_set_walk(fd, descriptor_set_close);
}

static void kept_close(int fd)
{
    close(fd);
}

/* Other libraries may not have set close-on-exec, which a child that executes a program needs. */
void descriptors_hold(void)
{
    int error = errno;
    descriptor_begin();
    struct bits *bits = &adopted;
    for (unsigned word = 0; word < bits->used; word++)
        for (uint64_t left = bits->words[word]; left; left &= left - 1)
            adopted_seal((int)(word * WORD_BITS + (unsigned)__builtin_ctzll(left)));
    errno = error;
}

/* A thread that is not in the child may have held the guard. */
void descriptors_hold_anew(void)
{
    guard = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    descriptor_begin();
}

void descriptors_resume(void)
{
    descriptor_end(-1);
}

void descriptors_inherit(bool drop)
{
    int error = errno;
    if (drop) {
        bits_drain(&adopted, adopted_close);
        bits_drain(&kept, kept_close);
    }
    errno = error;
}
