/* The switches of the bugs that the tests of the store plant. */
#include "services/store/planted.h"

uint64_t store_bugs;
