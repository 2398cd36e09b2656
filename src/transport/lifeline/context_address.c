/* context_address: identifies this boot of this machine. Two processes on the same kernel get the
 * same answer even in two containers. Whether they can connect on this host depends on the domain's
 * folder, which they find out when they try. */
#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/fork/descriptor.h"
#include "transport/lifeline/lifeline.h"
#include "wire/relay.h"

static uint8_t host_here[16]; /* written once, by host_find, under pthread_once */
static pthread_once_t host_once = PTHREAD_ONCE_INIT;

static unsigned hex_value(char digit)
{
    return isdigit((unsigned char)digit) ? (unsigned)(digit - '0')
                                         : (unsigned)(tolower((unsigned char)digit) - 'a' + 10);
}

/* Without the file all hosts look like one. The only consequence is a futile attempt on the Unix
 * socket before TCP. */
static void host_find(void)
{
    char text[64];
    unsigned digits = 0;
    int fd = DESCRIPTOR_OPEN(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (fd < 0)
        return;
    ssize_t size = read(fd, text, sizeof text);
    descriptor_close(fd);
    for (ssize_t i = 0; i < size && digits < 32; i++) {
        if (!isxdigit((unsigned char)text[i]))
            continue;
        host_here[digits / 2] = (uint8_t)(host_here[digits / 2] << 4 | hex_value(text[i]));
        digits++;
    }
}

void context_address_host(uint8_t host[16])
{
    pthread_once(&host_once, host_find);
    memcpy(host, host_here, sizeof host_here);
}

bool context_address_is_here(const struct context_address *address)
{
    pthread_once(&host_once, host_find);
    return memcmp(address->host, host_here, sizeof host_here) == 0;
}

void context_address_text(const struct context_address *address, char *out, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    struct relay_address program;
    relay_address_read(&program, address->address);
    if (address->family == ADDRESS_FABRIC)
        snprintf(out, size, "server %u/%u", program.server, program.program);
    else if ((address->family != AF_INET && address->family != AF_INET6) ||
             !inet_ntop(address->family, address->address, text, sizeof text))
        snprintf(out, size, "host");
    else
        snprintf(out, size, address->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text,
                 (unsigned)address->port);
}
