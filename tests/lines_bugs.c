/* examples/lines.c with a bug, as LINES_BUG says:
 *
 *   1  an answer for which there is no room is forgotten
 *   2  a write that took only some bytes counts as complete
 *   3  a line that arrives in two pieces is taken for two lines */
#include <errno.h>
#include <string.h>
#include <weft/descriptor.h>

#if LINES_BUG == 1

static int64_t write_or_forget(struct weft_self *self, weft_descriptor descriptor,
                               const void *bytes, uint32_t size)
{
    int64_t sent = weft_descriptor_write(self, descriptor, bytes, size);
    return sent == -EAGAIN ? size : sent;
}

#define weft_descriptor_write write_or_forget

#elif LINES_BUG == 2

static int64_t write_all(struct weft_self *self, weft_descriptor descriptor, const void *bytes,
                         uint32_t size)
{
    int64_t sent = weft_descriptor_write(self, descriptor, bytes, size);
    return sent > 0 ? size : sent;
}

#define weft_descriptor_write write_all

#else

static int64_t read_line(struct weft_self *self, weft_descriptor descriptor, void *bytes,
                         uint32_t size)
{
    int64_t count = weft_descriptor_read(self, descriptor, bytes, size - 1);
    if (count > 0 && !memchr(bytes, '\n', (size_t)count))
        ((char *)bytes)[count++] = '\n';
    return count;
}

#define weft_descriptor_read read_line

#endif

#include "../examples/lines.c" /* NOLINT(bugprone-suspicious-include) */
