#pragma once
/* sst_look: looks at a table from outside, again and again, and makes pictures of it that can
 * be shown. */

#include <weft/ripc.h>

#include "base/err.h"
#include "cli/sst/sst_view.h"

struct sst_look;

/* Fails with a reason if nobody has the table. */
MUST_CHECK enum err sst_look_open(struct ripc *ripc, ripc_id table, int64_t deadline,
                                  struct sst_look **look, struct why *why);
void sst_look_close(struct sst_look *look); /* NULL: nothing */

/* The table as it is now; the picture is good until the next look. 0, or a negative errno:
 * -ENOENT if nobody has it any more, -ESTALE if it is another one by now, with other columns:
 * open it again. */
MUST_CHECK int sst_look_take(struct sst_look *look, int64_t deadline, struct sst_picture *picture);
