/* The switches of the bugs that sim-log_planted plants. */
#include "services/store/planted.h"

uint64_t store_bugs;
