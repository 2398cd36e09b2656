#include "cli/core/manual.h"

#include <ctype.h>
#include <string.h>

/* Escapes text for roff: a backslash would start an escape, a dash would become a
 * hyphen that cannot be copied into a shell, and a dot or quote at the start of a
 * line would be a request. */
static void roff_text(struct text *out, const char *text, size_t size, bool verbatim)
{
    for (size_t i = 0; i < size; i++) {
        bool starts = i == 0 || text[i - 1] == '\n';
        if (starts && (text[i] == '.' || text[i] == '\''))
            text_puts(out, "\\&");
        if (text[i] == '\\')
            text_puts(out, "\\e");
        else if (text[i] == '-' && (verbatim || (i + 1 < size && text[i + 1] == '-') ||
                                    (i > 0 && text[i - 1] == '-')))
            text_puts(out, "\\-");
        else if (text[i] == '\'' && verbatim)
            text_puts(out, "\\(aq");
        else if (text[i] == '"' && verbatim)
            text_puts(out, "\\(dq");
        else
            text_add(out, text + i, 1);
    }
}

static void roff_verbatim(struct text *out, const char *text)
{
    roff_text(out, text, strlen(text), true);
}

/* Writes a line without the two spaces that mark an example. Returns the next line. */
static const char *roff_line(struct text *out, const char *line, bool verbatim)
{
    size_t size = strcspn(line, "\n"), skip = strncmp(line, "  ", 2) == 0 ? 2 : 0;
    roff_text(out, line + skip, size - skip, verbatim);
    text_puts(out, "\n");
    return line + size + (line[size] == '\n');
}

/* Writes a description: paragraphs between blank lines; lines that begin with two
 * spaces are not filled. */
static void roff_description(struct text *out, const char *text)
{
    bool first = true;
    while (*text) {
        if (*text == '\n') {
            text++;
            continue;
        }
        bool verbatim = strncmp(text, "  ", 2) == 0;
        text_puts(out, first ? "" : ".PP\n");
        text_puts(out, verbatim ? ".RS 4\n.nf\n" : "");
        while (*text && *text != '\n' && (strncmp(text, "  ", 2) == 0) == verbatim)
            text = roff_line(out, text, verbatim);
        text_puts(out, verbatim ? ".fi\n.RE\n" : "");
        first = false;
    }
}

static void roff_options(struct text *out, const struct option *options)
{
    for (; options && options->name; options++) {
        text_puts(out, ".TP\n.B \\-\\-");
        roff_verbatim(out, options->name);
        if (options->value) {
            text_puts(out, " \\fI");
            roff_verbatim(out, options->value);
            text_puts(out, "\\fR");
        }
        text_puts(out, "\n");
        roff_text(out, options->help, strlen(options->help), false);
        text_puts(out, "\n");
    }
}

static void roff_command(struct text *out, const struct command *command)
{
    text_puts(out, ".SS weft ");
    roff_verbatim(out, command->name);
    if (*command->arguments) {
        text_puts(out, " ");
        roff_verbatim(out, command->arguments);
    }
    text_puts(out, "\n");
    roff_description(out, command->description);
    roff_options(out, command->options);
    if (command->examples) {
        text_puts(out, ".PP\nExamples:\n.PP\n.RS 4\n.nf\n");
        for (const char *line = command->examples; *line;)
            line = roff_line(out, line, true);
        text_puts(out, ".fi\n.RE\n");
    }
}

static void roff_title(struct text *out, const struct command_group *group)
{
    text_puts(out, ".TH WEFT");
    text_puts(out, *group->name ? "\\-" : "");
    for (const char *at = group->name; *at; at++)
        text_printf(out, "%c", toupper((unsigned char)*at));
    text_printf(out, " 1 \"\" \"weft %s\" \"weft manual\"\n", WEFT_VERSION);
    text_printf(out, ".SH NAME\nweft%s%s \\- %s\n", *group->name ? "\\-" : "", group->name,
                group->summary);
}

static void roff_synopsis(struct text *out, const struct command_table *table,
                          const struct command_group *group)
{
    text_puts(out, ".SH SYNOPSIS\n.nf\n");
    for (int i = 0; table->commands[i]; i++) {
        if (!command_in_group(table->commands[i], group->name))
            continue;
        text_puts(out, "\\fBweft ");
        roff_verbatim(out, table->commands[i]->name);
        text_puts(out, "\\fR");
        if (*table->commands[i]->arguments) {
            text_puts(out, " \\fI");
            roff_verbatim(out, table->commands[i]->arguments);
            text_puts(out, "\\fR");
        }
        text_puts(out, table->commands[i]->options ? " [\\-\\-option ...]\n" : "\n");
    }
    if (!*group->name)
        for (const struct command_group *other = table->groups; other->name; other++)
            if (*other->name)
                text_printf(out, "\\fBweft%s%s\\fR \\fICOMMAND ...\\fR\n",
                            other->unspoken ? "" : " ", other->unspoken ? "" : other->name);
    text_puts(out, ".fi\n");
}

/* Writes one line for each command. */
static void roff_overview(struct text *out, const struct command_table *table)
{
    text_puts(out,
              ".SH DESCRIPTION\nweft plans and runs the network of a cluster whose servers forward "
              "packets for each other,\nand gives programs messages and shared tables of state.\n"
              "Its commands are:\n");
    for (const struct command_group *group = table->groups; group->name; group++) {
        for (int i = 0; table->commands[i]; i++) {
            if (!command_in_group(table->commands[i], group->name))
                continue;
            text_puts(out, ".TP\n.B weft ");
            roff_verbatim(out, table->commands[i]->name);
            text_puts(out, "\n");
            roff_text(out, table->commands[i]->summary, strlen(table->commands[i]->summary), false);
            text_puts(out, "\n");
        }
    }
}

static void roff_closing(struct text *out, const struct command_table *table,
                         const struct command_group *group)
{
    text_puts(out, ".SH COMMON OPTIONS\nEvery command takes these.\n");
    roff_options(out, common_options);
    text_puts(out, ".SH EXIT STATUS\n"
                   ".TP\n.B 0\n"
                   "The command has done what it was asked, or the answer is yes.\n"
                   ".TP\n.B 1\n"
                   "The answer is no: a cable is wrong, a routing is not free of deadlock, a gap\n"
                   "was not reached, there is no path, a cluster is not healthy, nothing was\n"
                   "found. The code is also 1 when the machine or a peer fails: a disk is full,\n"
                   "there is no memory, a server is dead.\n"
                   ".TP\n.B 2\n"
                   "The request is wrong, or its input cannot be read: no such command, option,\n"
                   "topology, file, server or cluster, or a malformed file. Nothing was done.\n"
                   ".TP\n.B 130\n"
                   "Ctrl-C (SIGINT) ended the command; after SIGTERM the code is 143. Commands\n"
                   "that wait clean up first, and print what they have found so far. A second\n"
                   "signal ends them at once.\n"
                   ".PP\n"
                   "With 1 and 2, one line on standard error gives the reason, in the form\n"
                   "\\(lqweft: what: why\\(rq, unless the printed result already shows it.\n"
                   ".SH SEE ALSO\n");
    const char *comma = "";
    if (*group->name) {
        text_puts(out, ".BR weft (1)");
        comma = ",\n";
    }
    for (const struct command_group *other = table->groups; other->name; other++) {
        if (!*other->name || other == group)
            continue;
        text_printf(out, "%s.BR weft\\-%s (1)", comma, other->name);
        comma = ",\n";
    }
    text_printf(out,
                "%s.BR weft\\-ripc (7),\n.BR weft\\-sst (7),\n.BR weft\\-topology (7),\n"
                ".BR weft\\-topology\\-file (5),\n"
                ".BR weft\\-traffic (5),\n.BR weft\\-flow\\-file (5),\n"
                ".BR weft\\-rules (5),\n.BR weft\\-cost (5),\n.BR weft\\-names (5),\n"
                ".BR weftd (8)\n",
                comma);
}

bool manual_page(struct text *out, const struct command_table *table, const char *name)
{
    const struct command_group *group = table->groups;
    while (group->name && strcmp(group->name, name) != 0)
        group++;
    if (!group->name)
        return false;
    text_puts(out, ".\\\" Made by weft help --man; the text is in src/cli/*/cmd_*.c.\n");
    roff_title(out, group);
    roff_synopsis(out, table, group);
    if (!*name)
        roff_overview(out, table);
    text_puts(out, ".SH COMMANDS\n");
    for (int i = 0; table->commands[i]; i++)
        if (command_in_group(table->commands[i], name))
            roff_command(out, table->commands[i]);
    roff_closing(out, table, group);
    return true;
}
