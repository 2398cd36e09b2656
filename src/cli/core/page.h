#pragma once
/* page: a result as text.
 *
 * A page is the text as it looks, with tags in braces where the values of a result stand:
 *
 *   {name}            the value; {servers.live} is in an object of the result
 *   {name%-8s}        the same by a printf conversion: s, u, x, f, g with flags, width, precision;
 *                     t shows nanoseconds, b bytes a second, each with the unit that suits
 *   {name*100%.1f}    times 100; {name/1000%.2f} is a thousandth
 *   {name|hop|hops}   the count and its word: "1 hop", "2 hops"
 *   {?name}A{:}B{/}   A if there is such a value and it is not null, false, 0, "" or empty; else B
 *   {#name|, }A{/}    A for every item of an array or object, here with ", " between them
 *   {=<>}A{/}         A as a table: a tab ends a cell, a line ends a row, the first row is the
 *                     titles; < stands at the left of its column, > at the right
 *
 * Within {#name} a name is first looked up in the item, then outside it; {.} is the item itself.
 * {:}B and the separator may be left out. A null prints as "-". A name that the result does not
 * have is a bug and asserts, except in {?name}. */

#include "base/text.h"
#include "cli/core/result.h"

void page_print(struct result *result, struct text *out);
