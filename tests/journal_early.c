/* examples/journal.c with a bug: it acknowledges a record before the record is durable. In place of
 * the sync it makes a call that ends as well, but moves nothing to the disk. */
#include <weft/disk.h>

#define weft_disk_sync(self, file, call) weft_disk_read(self, file, call, NULL, 0, 0)

#include "../examples/journal.c" /* NOLINT(bugprone-suspicious-include) */
