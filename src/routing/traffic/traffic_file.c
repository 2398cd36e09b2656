/* traffic_file: reads the demands from a file; weft-traffic(5).
 *
 * Names are looked up in an index, and parts of the network are labelled once, so reading a file
 * takes time in proportion to its size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/name_index.h"
#include "base/text.h"
#include "routing/traffic/traffic.h"
#include "topology/measure/parts.h"

/* Sums of 2^32 amounts within these limits are finite, and so are the reciprocals of the sums. */
#define AMOUNT_MIN 1e-100
#define AMOUNT_MAX 1e100

#define WORD_MAX 3

struct word {
    const char *at;
    size_t size;
};

struct traffic_input {
    const struct topology *topology;
    const char *name;
    uint32_t line;
    struct name_index nodes; /* the index of a name is the number of its node */
    uint32_t *part;          /* per node: two nodes are connected if their parts are equal */
    struct demand *demands;
    size_t count, capacity;
    struct text number; /* the current word, ended by a zero byte */
    struct why *why;
};

#define input_fail(input, ...)                                                                     \
    why_fail_line((input)->why, (input)->name, (input)->line, __VA_ARGS__)

/* A word in an error: at most its first 60 letters. */
#define WORD_ARGS(word) (int)((word).size < 60 ? (word).size : 60), (word).at

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Splits a line into words; *count is more than WORD_MAX if the line has more. False if a comma has
 * no word before or after it. */
static bool line_split(const char *at, const char *end, struct word words[WORD_MAX],
                       uint32_t *count)
{
    bool wanted = false; /* after a comma a word must follow */
    *count = 0;
    for (;;) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            return !wanted;
        if (*at == ',') {
            if (wanted || *count == 0)
                return false;
            wanted = true;
            at++;
            continue;
        }
        const char *first = at;
        while (at < end && !is_blank(*at) && *at != ',')
            at++;
        if (*count < WORD_MAX)
            words[*count] = (struct word){first, (size_t)(at - first)};
        wanted = false;
        ++*count;
    }
}

/* Reads the decimal number after the slash of NODE/INDEX; false if it is not a number. */
static bool index_read(const char *at, const char *end, uint64_t *index)
{
    *index = 0;
    if (at == end || end - at > 10)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *index = 10 * *index + (uint64_t)(*at - '0');
    }
    return true;
}

/* A node's own name may contain slashes. So the whole word is looked up as a name first; only if
 * there is no such node, it is split at the last slash into a name and an index. */
static enum err server_read(struct traffic_input *input, struct word word, uint32_t *node)
{
    const struct topology *topology = input->topology;
    const char *slash = topology->direct ? NULL : memrchr(word.at, '/', word.size);
    uint64_t index = 0;
    *node = name_index_find(&input->nodes, word.at, word.size);
    if (*node == NAME_NONE && slash && index_read(slash + 1, word.at + word.size, &index))
        *node = name_index_find(&input->nodes, word.at, (size_t)(slash - word.at));
    if (*node == NAME_NONE)
        return input_fail(input, "there is no server '%.*s'", WORD_ARGS(word));
    uint32_t servers = topology->sites[*node].servers;
    if (servers == 0)
        return input_fail(input, "switch '%.*s' has no servers", WORD_ARGS(word));
    if (index >= servers)
        return input_fail(input,
                          "there is no server '%.*s': this switch has %u servers, numbered from 0",
                          WORD_ARGS(word), servers);
    return OK;
}

/* strtod also accepts hexadecimal numbers, such as 0x10, which a traffic file may not contain. */
static bool is_hexadecimal(struct word word)
{
    return memchr(word.at, 'x', word.size) || memchr(word.at, 'X', word.size);
}

static enum err amount_read(struct traffic_input *input, struct word word, double *amount)
{
    char *end = NULL;
    input->number.size = 0;
    text_add(&input->number, word.at, word.size);
    if (!text_ok(&input->number))
        return why_memory(input->why);
    *amount = strtod(input->number.data, &end);
    if (end != input->number.data + word.size || is_hexadecimal(word))
        return input_fail(input, "the amount '%.*s' is not a number", WORD_ARGS(word));
    if (!isfinite(*amount) || *amount < 0)
        return input_fail(input, "the amount '%.*s' is not a finite number of at least 0",
                          WORD_ARGS(word));
    if (*amount > AMOUNT_MAX || (*amount > 0 && *amount < AMOUNT_MIN))
        return input_fail(input, "the amount '%.*s' is neither 0 nor from %g to %g",
                          WORD_ARGS(word), AMOUNT_MIN, AMOUNT_MAX);
    return OK;
}

static enum err line_read(struct traffic_input *input, const char *at, const char *end)
{
    struct word words[WORD_MAX] = {{0}};
    uint32_t count;
    struct demand demand = {.amount = 1};
    if (!line_split(at, end, words, &count))
        return input_fail(input, "a comma needs a field before and after it");
    if (count == 0)
        return OK;
    if (count == 1 || count > WORD_MAX)
        return input_fail(input, "expected 'FROM TO' or 'FROM TO AMOUNT', found %u field%s", count,
                          count == 1 ? "" : "s");
    enum err err = server_read(input, words[0], &demand.from);
    if (!err)
        err = server_read(input, words[1], &demand.to);
    if (!err && count == 3)
        err = amount_read(input, words[2], &demand.amount);
    if (err)
        return err;
    if (input->part[demand.from] != input->part[demand.to]) {
        (void)input_fail(input, "no path leads from '%.*s' to '%.*s'", WORD_ARGS(words[0]),
                         WORD_ARGS(words[1]));
        return ERR_NO; /* the line is well-formed; the network has no such path */
    }
    if (demand.amount <= 0)
        return OK;
    if (!array_reserve(&input->demands, &input->capacity, input->count + 1, sizeof demand))
        return why_memory(input->why);
    input->demands[input->count++] = demand;
    return OK;
}

static enum err lines_read(struct traffic_input *input, const char *data, size_t size)
{
    const char *at = data, *end = data + size;
    enum err err = OK;
    while (at < end && !err) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = stop ? stop : end;
        const char *hash = memchr(at, '#', (size_t)(line_end - at));
        if (input->line == UINT32_MAX)
            return why_fail(input->why, ERR_INPUT, "%s: too many lines", input->name);
        input->line++;
        err = line_read(input, at, hash ? hash : line_end);
        at = stop ? stop + 1 : end;
    }
    if (!err && input->count == 0)
        err = why_fail(input->why, ERR_INPUT,
                       "%s: no server sends anything; the file needs a line with an amount above 0",
                       input->name);
    return err;
}

static enum err input_open(struct traffic_input *input)
{
    const struct topology *topology = input->topology;
    char buffer[NODE_NAME_SIZE];
    enum err err = parts_label(&topology->graph, &input->part, input->why);
    for (uint32_t v = 0; !err && v < topology->graph.node_count; v++) {
        const char *name = topology_name(topology, v, buffer);
        uint32_t number = v;
        if (!name_index_add(&input->nodes, name, strlen(name), &number))
            err = why_memory(input->why);
        assert(err || number == v); /* names are unique in a topology */
    }
    return err;
}

enum err traffic_read(struct traffic *traffic, const struct topology *topology, const char *name,
                      const char *data, size_t size, struct why *why)
{
    struct traffic_input input = {.topology = topology, .name = name, .why = why};
    enum err err = input_open(&input);
    if (!err)
        err = lines_read(&input, data, size);
    if (!err) {
        err = traffic_make(traffic, input.demands, input.count, why);
        input.demands = NULL; /* traffic_make owns them, even if it failed */
    }
    if (!err) {
        traffic->lines = input.line;
        traffic->name = name;
    }
    free(input.demands);
    free(input.part);
    name_index_fini(&input.nodes);
    text_fini(&input.number);
    return err;
}
