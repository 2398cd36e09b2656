#pragma once
/* wide: 128-bit integers, for which ISO C has no name. */

__extension__ typedef unsigned __int128 uint128;
