#include "cli/paper/figure_list.h"

#include <string.h>

#include "base/check.h"
#include "measured/figures.h"

const struct figure *figure_list_at(int index)
{
    int computed = 0;
    assert(index >= 0);
    while (figures[computed])
        computed++;
    if (index < computed)
        return figures[index];
    for (int i = 0; measured_figures[i]; i++)
        if (computed + i == index)
            return measured_figures[i];
    return NULL;
}

const struct figure *figure_list_find(const char *name)
{
    const struct figure *figure;
    for (int i = 0; (figure = figure_list_at(i)); i++)
        if (strcmp(figure->name, name) == 0)
            return figure;
    return NULL;
}
