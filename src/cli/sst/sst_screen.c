#include "cli/sst/sst_screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/core/terminal.h"

#define WIDTH_DEFAULT  80
#define HEIGHT_DEFAULT 24

static struct winsize screen_size(void)
{
    struct winsize size = {0};
    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    size.ws_col = size.ws_col ? size.ws_col : WIDTH_DEFAULT;
    size.ws_row = size.ws_row ? size.ws_row : HEIGHT_DEFAULT;
    return size;
}

struct sst_screen sst_screen_make(void)
{
    const char *kind = getenv("TERM"), *colourless = getenv("NO_COLOR");
    bool live = isatty(STDOUT_FILENO) && terminal_is_ours(STDOUT_FILENO) && kind &&
                strcmp(kind, "dumb") != 0;
    return (struct sst_screen){.live = live, .colour = live && !(colourless && *colourless)};
}

struct table_text_style sst_screen_style(const struct sst_screen *screen)
{
    return (struct table_text_style){.width = screen->live ? screen_size().ws_col : 0,
                                     .colour = screen->colour};
}

enum err sst_screen_show(struct sst_screen *screen, struct call *call, const struct text *lines,
                         struct why *why)
{
    if (!text_ok(lines))
        return why_memory(why);
    if (screen->live && !terminal_is_ours(STDOUT_FILENO))
        return OK; /* it was sent to the background; what it draws is for the foreground */
    if (screen->live) {
        terminal_hold(STDOUT_FILENO);
        screen->drawn =
            table_text_redraw(&call->out, lines->data, screen->drawn, screen_size().ws_row);
    } else {
        text_printf(&call->out, "%s%s", screen->frames ? "\n" : "", lines->data);
    }
    screen->frames++;
    return call_flush(call, why);
}

void sst_screen_leave(struct sst_screen *screen)
{
    screen->drawn = 0;
}
