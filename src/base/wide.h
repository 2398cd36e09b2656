#pragma once
/* wide: 128-bit integers, which ISO C does not name. */

__extension__ typedef unsigned __int128 uint128;
