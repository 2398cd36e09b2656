#include "topology/cabling/neighbour_report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/check.h"
#include "base/json_reader.h"
#include "base/name_index.h"
#include "base/text.h"
#include "topology/cabling/port_label.h"

enum field { FIELD_NODE, FIELD_PORT, FIELD_NEIGHBOUR, FIELD_NEIGHBOUR_PORT, FIELD_COUNT };

static const char *const field_keys[] = {"node", "port", "neighbour", "neighbour_port"};

#define FIELD_SHOWN 60 /* letters of a bad word that an error repeats */

struct reader {
    struct neighbour_reports *reports;
    const struct topology *plan;
    const char *name;
    struct why *why;
    struct name_index names;         /* the names of the plan, if it has any */
    uint32_t *name_node;             /* per number in the index: its node */
    struct text fields[FIELD_COUNT]; /* of the report being read */
};

static int shown(const struct text *text)
{
    return (int)(text->size < FIELD_SHOWN ? text->size : FIELD_SHOWN);
}

static enum err names_collect(struct reader *reader)
{
    const struct topology *plan = reader->plan;
    if (!plan->names)
        return OK;
    reader->name_node = array_new(plan->graph.node_count, sizeof *reader->name_node);
    if (!reader->name_node)
        return why_memory(reader->why);
    for (uint32_t v = plan->graph.node_count; v-- > 0;) {
        uint32_t number;
        if (!name_index_add(&reader->names, plan->names[v], strlen(plan->names[v]), &number))
            return why_memory(reader->why);
        reader->name_node[number] = v;
    }
    return OK;
}

static enum err node_find(struct reader *reader, const struct text *text, uint32_t line,
                          uint32_t *node)
{
    uint64_t number = 0;
    size_t digits = 0;
    if (reader->plan->names) {
        uint32_t known = name_index_find(&reader->names, text->data, text->size);
        if (known != NAME_NONE) {
            *node = reader->name_node[known];
            return OK;
        }
    }
    while (digits < text->size && digits < 10 && isdigit((unsigned char)text->data[digits]))
        number = 10 * number + (uint64_t)(text->data[digits++] - '0');
    if (digits == 0 || digits < text->size || number >= reader->plan->graph.node_count)
        return why_fail_line(reader->why, reader->name, line, "the plan has no node '%.*s'",
                             shown(text), text->data);
    *node = (uint32_t)number;
    return OK;
}

static enum err port_find(struct reader *reader, const struct text *text, uint32_t line,
                          uint32_t node, uint32_t *port)
{
    char buffer[NODE_NAME_SIZE];
    uint32_t limit = port_label_limit(reader->plan, node);
    *port = port_label_find(reader->plan, text->data, text->size);
    if (*port == PORT_ANY)
        return why_fail_line(reader->why, reader->name, line, "'%.*s' is not a port number",
                             shown(text), text->data);
    if (*port >= limit)
        return why_fail_line(reader->why, reader->name, line,
                             "there is no port %u: node %.60s has %u ports, numbered from 0", *port,
                             topology_name(reader->plan, node, buffer), limit);
    return OK;
}

/* Makes a report of the four fields. */
static enum err report_add(struct reader *reader, uint32_t line)
{
    struct neighbour_report report = {.line = line};
    struct neighbour_reports *reports = reader->reports;
    for (int i = 0; i < FIELD_COUNT; i++)
        if (!text_ok(&reader->fields[i]))
            return why_memory(reader->why);
    enum err err = node_find(reader, &reader->fields[FIELD_NODE], line, &report.node);
    if (!err)
        err = node_find(reader, &reader->fields[FIELD_NEIGHBOUR], line, &report.neighbour);
    if (!err)
        err = port_find(reader, &reader->fields[FIELD_PORT], line, report.node, &report.port);
    if (!err)
        err = port_find(reader, &reader->fields[FIELD_NEIGHBOUR_PORT], line, report.neighbour,
                        &report.neighbour_port);
    if (err)
        return err;
    if (report.node == report.neighbour && report.port == report.neighbour_port)
        return why_fail_line(reader->why, reader->name, line,
                             "a port is reported as its own neighbour");
    if (reports->count == GRAPH_LINK_MAX)
        return why_fail_line(reader->why, reader->name, line, "more than %u reports",
                             GRAPH_LINK_MAX);
    if (!array_reserve(&reports->items, &reports->capacity, (size_t)reports->count + 1,
                       sizeof *reports->items))
        return why_memory(reader->why);
    reports->items[reports->count++] = report;
    return OK;
}

/* Reads one CSV field at *at; leaves *at after the comma, or at the end. */
static enum err field_read(struct reader *reader, const char **at, const char *end, uint32_t line,
                           struct text *field)
{
    const char *from = *at, *to;
    field->size = 0;
    while (from < end && isspace((unsigned char)*from))
        from++;
    if (from < end && *from == '"') {
        for (to = from + 1; to < end && (*to != '"' || (to + 1 < end && to[1] == '"')); to++) {
            to += *to == '"';
            text_add(field, to, 1);
        }
        if (to == end)
            return why_fail_line(reader->why, reader->name, line, "a closing quote is missing");
        for (to++; to < end && isspace((unsigned char)*to);)
            to++;
        if (to < end && *to != ',')
            return why_fail_line(reader->why, reader->name, line,
                                 "expected a comma after the quoted name");
    } else {
        for (to = from; to < end && *to != ',';)
            to++;
        const char *stop = to;
        while (stop > from && isspace((unsigned char)stop[-1]))
            stop--;
        text_add(field, from, (size_t)(stop - from));
    }
    text_add(field, "", 0); /* makes it a string even if it is empty */
    *at = to < end ? to + 1 : NULL;
    return OK;
}

static bool line_is_header(const struct reader *reader)
{
    const struct text *fields = reader->fields;
    return text_ok(&fields[FIELD_NODE]) && text_ok(&fields[FIELD_PORT]) &&
           strcasecmp(fields[FIELD_NODE].data, "node") == 0 &&
           strcasecmp(fields[FIELD_PORT].data, "port") == 0;
}

static enum err line_read(struct reader *reader, const char *at, const char *end, uint32_t line,
                          bool *first)
{
    int count = 0;
    for (; at; count++) {
        if (count == FIELD_COUNT)
            return why_fail_line(reader->why, reader->name, line,
                                 "expected only the four fields node,port,neighbour,port");
        enum err err = field_read(reader, &at, end, line, &reader->fields[count]);
        if (err)
            return err;
    }
    if (count < FIELD_COUNT)
        return why_fail_line(reader->why, reader->name, line,
                             "expected the four fields node,port,neighbour,port");
    bool header = *first && line_is_header(reader);
    *first = false;
    return header ? OK : report_add(reader, line);
}

/* The start of a comment outside quotes, or the end. */
static const char *comment_find(const char *at, const char *end)
{
    bool quoted = false;
    for (; at < end && (quoted || *at != '#'); at++)
        quoted ^= *at == '"';
    return at;
}

static enum err csv_read(struct reader *reader, const char *data, size_t size)
{
    const char *at = data, *end = data + size;
    bool first = true;
    for (uint32_t line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = comment_find(at, stop ? stop : end);
        while (at < line_end && isspace((unsigned char)*at))
            at++;
        if (at < line_end) {
            enum err err = line_read(reader, at, line_end, line, &first);
            if (err)
                return err;
        }
        at = stop ? stop + 1 : end;
    }
    return OK;
}

/* Reads one object, whose opening bracket was just read. */
static enum err object_read(struct reader *reader, struct json_reader *json)
{
    uint32_t line = (uint32_t)json->line;
    unsigned seen = 0;
    enum err err = OK;
    while (json_reader_more(json, &err)) {
        int field = 0;
        while (field < FIELD_COUNT && !json_reader_is(json, field_keys[field]))
            field++;
        err = json_reader_next(json);
        if (err)
            return err;
        if (field == FIELD_COUNT) {
            err = json_reader_skip(json);
            continue;
        }
        if (json->event != JSON_STRING && json->event != JSON_NUMBER)
            return json_reader_fail(json, "%s must be a name or a number", field_keys[field]);
        reader->fields[field].size = 0;
        text_add(&reader->fields[field], json->text.data, json->text.size);
        seen |= 1u << field;
    }
    for (int field = 0; !err && field < FIELD_COUNT; field++)
        if (!(seen >> field & 1))
            return why_fail_line(reader->why, reader->name, line, "the report has no %s",
                                 field_keys[field]);
    return err ? err : report_add(reader, line);
}

static enum err json_read(struct reader *reader, const char *data, size_t size)
{
    struct json_reader json;
    json_reader_init(&json, reader->name, data, size, reader->why);
    enum err err = json_reader_expect(&json, JSON_ARRAY, "the file");
    while (json_reader_more(&json, &err)) {
        if (json.event == JSON_OBJECT)
            err = object_read(reader, &json);
        else
            err = json_reader_fail(&json, "expected an object: a report");
    }
    if (!err)
        err = json_reader_next(&json); /* refuses anything after the array */
    json_reader_fini(&json);
    return err;
}

static int report_by_port(const void *left, const void *right)
{
    const struct neighbour_report *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    return 0;
}

static int report_by_port_and_line(const void *left, const void *right)
{
    const struct neighbour_report *a = left, *b = right;
    int order = report_by_port(left, right);
    return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

/* Keeps one report per port; if two differ, the error names both lines. */
static enum err reports_settle(struct reader *reader)
{
    struct neighbour_reports *reports = reader->reports;
    uint32_t kept = 0;
    if (reports->count)
        qsort(reports->items, reports->count, sizeof *reports->items, report_by_port_and_line);
    for (uint32_t i = 0; i < reports->count; i++) {
        const struct neighbour_report *report = &reports->items[i];
        const struct neighbour_report *last = kept ? &reports->items[kept - 1] : NULL;
        if (!last || report_by_port(last, report) != 0) {
            reports->items[kept++] = *report;
            continue;
        }
        char node[NODE_NAME_SIZE], label[PORT_LABEL_SIZE];
        if (last->neighbour != report->neighbour || last->neighbour_port != report->neighbour_port)
            return why_fail_line(reader->why, reader->name, report->line,
                                 "port %s of node %.60s has another neighbour on line %u",
                                 port_label(reader->plan, report->port, label),
                                 topology_name(reader->plan, report->node, node), last->line);
    }
    reports->count = kept;
    return OK;
}

enum err neighbour_reports_read(struct neighbour_reports *reports, const struct topology *plan,
                                const char *data, size_t size, const char *name, struct why *why)
{
    struct reader reader = {.reports = reports, .plan = plan, .name = name, .why = why};
    size_t blank = 0;
    *reports = (struct neighbour_reports){0};
    while (blank < size && isspace((unsigned char)data[blank]))
        blank++;
    enum err err = names_collect(&reader);
    if (!err && blank < size && (data[blank] == '[' || data[blank] == '{'))
        err = json_read(&reader, data, size);
    else if (!err)
        err = csv_read(&reader, data, size);
    if (!err)
        err = reports_settle(&reader);
    name_index_fini(&reader.names);
    free(reader.name_node);
    for (int i = 0; i < FIELD_COUNT; i++)
        text_fini(&reader.fields[i]);
    if (err)
        neighbour_reports_fini(reports);
    return err;
}

void neighbour_reports_fini(struct neighbour_reports *reports)
{
    free(reports->items);
    *reports = (struct neighbour_reports){0};
}

const struct neighbour_report *neighbour_reports_find(const struct neighbour_reports *reports,
                                                      uint32_t node, uint32_t port)
{
    struct neighbour_report wanted = {.node = node, .port = port};
    if (reports->count == 0)
        return NULL;
    return bsearch(&wanted, reports->items, reports->count, sizeof *reports->items, report_by_port);
}
