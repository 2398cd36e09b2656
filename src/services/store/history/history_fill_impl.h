#pragma once
/* history_fill: finds unknown operations that explain what the answers of a key leave open. A part
 * of history_check. */

#include "services/store/history/history_line_impl.h"

enum history_verdict fill_judge(const struct line *line, struct history_finding *finding);
