/* descriptor_set: each line of fdinfo that describes a member of the set reads
 *
 *   tfd:       13 events:       19 data:     55b933262118  pos:0 ino:1a1f1b7 sdev:9
 *
 * with the inode in hexadecimal. After a fork both processes share the set, and the other process
 * may add a descriptor to it whose number means something else here; the inode tells. */
#include "transport/fork/descriptor_set.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SET_DEPTH_MAX 5 /* the kernel nests no deeper */
#define LINE_MAX_SIZE 160

static void path_make(char *out, int fd)
{
    static const char folder[] = "/proc/self/fdinfo/";
    char digits[12];
    unsigned count = 0;
    unsigned value = (unsigned)fd;
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(out, folder, sizeof folder - 1);
    out += sizeof folder - 1;
    while (count)
        *out++ = digits[--count];
    *out = '\0';
}

/* Reads the number after `label` in the line. False if there is none. */
static bool line_number(const char *line, const char *label, unsigned base, uint64_t *out)
{
    const char *at = strstr(line, label);
    if (!at)
        return false;
    at += strlen(label);
    while (*at == ' ' || *at == '\t')
        at++;
    const char *first = at;
    *out = 0;
    for (;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        if (digit >= base)
            return at != first;
        *out = *out * base + digit;
    }
}

static void set_walk(int set, void (*act)(int fd), unsigned depth);

static void line_read(const char *line, void (*act)(int fd), unsigned depth)
{
    uint64_t fd, inode;
    struct stat found;
    if (!line_number(line, "tfd:", 10, &fd) || !line_number(line, "ino:", 16, &inode) ||
        fd > INT32_MAX)
        return;
    if (fstat((int)fd, &found) || found.st_ino != inode)
        return;
    if (depth && !(found.st_mode & S_IFMT)) /* an anonymous file: perhaps a set */
        set_walk((int)fd, act, depth - 1);
    else
        act((int)fd);
}

static void set_walk(int set, void (*act)(int fd), unsigned depth)
{
    char path[40], line[LINE_MAX_SIZE], buffer[512];
    size_t length = 0;
    ssize_t got;
    path_make(path, set);
    int info = open(path, O_RDONLY | O_CLOEXEC);
    while (info >= 0 && (got = read(info, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < got; i++) {
            if (buffer[i] == '\n') {
                line[length] = '\0';
                line_read(line, act, depth);
                length = 0;
            } else if (length < sizeof line - 1) {
                line[length++] = buffer[i];
            }
        }
    if (info >= 0)
        close(info);
    act(set);
}

void descriptor_set_walk(int epoll_fd, void (*act)(int fd))
{
    set_walk(epoll_fd, act, SET_DEPTH_MAX);
}

void descriptor_set_seal(int fd)
{
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC))
        (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

void descriptor_set_close(int fd)
{
    close(fd);
}
