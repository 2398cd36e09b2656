/* checker: the function that all checkers call. checkers.c, which lists them, is the layer
 * above. */

#include "sim/checkers/checker.h"

#include <stdarg.h>
#include <stdio.h>

void checker_fail(struct checker *checker, const char *format, ...)
{
    struct checkers *all = checker->all;
    if (all->failures++)
        return;
    all->failed = checker->ops->name;
    all->failed_at = all->view.now(all->view.context);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(all->text, sizeof all->text, format, arguments);
    va_end(arguments);
}
