#pragma once
/* page: a result as text.
 *
 * A page is the text with tags in braces, which are replaced by values of a result:
 *
 *   {name}            the value; {servers.live} is a value in an object of the result
 *   {name%-8s}        the same with a printf conversion: s, u, x, f or g, with flags, width and
 *                     precision; t shows nanoseconds, b bytes a second, in a suitable unit
 *   {name*100%.1f}    the value times 100
 *   {name/1000%.2f}   a thousandth of the value
 *   {name|hop|hops}   the count and its word: "1 hop", "2 hops"
 *   {?name}A{:}B{/}   A if the value exists and is not null, false, 0, "" or empty; else B
 *   {#name|, }A{/}    A for every item of an array or object, here with ", " between them
 *   {=<>}A{/}         A as a table: a tab ends a cell, a newline ends a row, and the first row has
 *                     the titles; < aligns a column left, > right
 *
 * Within {#name} a name is first looked up in the item, then outside it; {.} is the item itself.
 * {:}B and the separator are optional. A null is printed as "-". A name that the result does not
 * have is a bug and asserts, except in {?name}. */

#include "base/text.h"
#include "cli/core/result.h"

void page_print(struct result *result, struct text *out);
