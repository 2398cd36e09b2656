#include "topology/generate/jellyfish_words.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "topology/generate/two_layer.h"
#include "topology/spec.h"

#define DIGITS_MAX   9 /* of a share, after the decimal point */
#define SEED_DEFAULT 1

enum field {
    FIELD_N,
    FIELD_DEGREE,
    FIELD_SERVERS,
    FIELD_SWITCHES,
    FIELD_PORTS,
    FIELD_BARE,
    FIELD_CONTAINERS,
    FIELD_LOCAL,
    FIELD_SEED,
    FIELD_COUNT,
};

/* Reads a number; false if there are no digits or it exceeds `most`. */
static bool digits_read(const char **at, uint64_t most, uint64_t *value)
{
    const char *begin = *at;
    for (*value = 0; **at >= '0' && **at <= '9'; (*at)++) {
        *value = 10 * *value + (uint64_t)(**at - '0');
        if (*value > most)
            return false;
    }
    return *at > begin;
}

/* Reads a number from 0 to 1, such as "0.6", into *share, in billionths. */
static bool share_read(const char *text, uint32_t *share)
{
    uint64_t whole, fraction = 0;
    if (!digits_read(&text, 1, &whole))
        return false;
    if (*text == '.') {
        const char *begin = ++text;
        if (!digits_read(&text, SHARE_ONE - 1, &fraction) || text - begin > DIGITS_MAX)
            return false;
        for (long digits = text - begin; digits < DIGITS_MAX; digits++)
            fraction *= 10;
    }
    uint64_t value = whole * SHARE_ONE + fraction;
    *share = (uint32_t)value;
    return *text == '\0' && value <= SHARE_ONE;
}

static enum err containers_read(struct jellyfish_words *words, const struct spec_field *fields,
                                struct why *why)
{
    const struct spec_field *containers = &fields[FIELD_CONTAINERS], *local = &fields[FIELD_LOCAL];
    if (!containers->given && !local->given)
        return OK;
    uint64_t count = 0;
    enum err err = spec_required(words->spec, containers, why);
    if (!err)
        err = spec_required(words->spec, local, why);
    if (!err)
        err = spec_uint(words->spec, containers, 1, GRAPH_NODE_MAX, &count, why);
    if (err)
        return err;
    if (!share_read(local->value, &words->share))
        return why_fail(why, ERR_USAGE,
                        "%s: local must be a number from 0 to 1, of at most %d decimals",
                        words->spec, DIGITS_MAX);
    words->containers = (uint32_t)count;
    return OK;
}

static enum err direct_read(struct jellyfish_words *words, const struct spec_field *fields,
                            struct why *why)
{
    const char *spec = words->spec;
    uint64_t n = 0, degree = 0;
    for (enum field field = FIELD_SERVERS; field <= FIELD_BARE; field++)
        if (fields[field].given)
            return why_fail(why, ERR_USAGE, "%s: n and degree cannot be combined with %s", spec,
                            fields[field].key);
    enum err err = spec_required(spec, &fields[FIELD_N], why);
    if (!err)
        err = spec_required(spec, &fields[FIELD_DEGREE], why);
    if (!err)
        err = spec_uint(spec, &fields[FIELD_N], 1, GRAPH_NODE_MAX, &n, why);
    if (!err)
        err = spec_uint(spec, &fields[FIELD_DEGREE], 0, GRAPH_NODE_MAX, &degree, why);
    if (err)
        return err;
    if (degree >= n)
        return why_fail(why, ERR_USAGE, "%s: degree must be less than n", spec);
    if (n % 2 && degree % 2)
        return why_fail(why, ERR_USAGE, "%s: n times degree is odd, but it must be even", spec);
    words->direct = true;
    words->node_count = (uint32_t)n;
    words->runs[0] = (struct jellyfish_run){.count = (uint32_t)n, .ports = (uint32_t)degree};
    words->run_count = 1;
    return OK;
}

/* Reads "10x24+5x48"; consecutive equal sizes become one run. */
static enum err runs_read(struct jellyfish_words *words, const char *text, struct why *why)
{
    uint64_t nodes = 0;
    for (const char *at = text;; at++) {
        uint64_t count, ports;
        if (!digits_read(&at, GRAPH_NODE_MAX, &count) || *at++ != 'x' ||
            !digits_read(&at, GRAPH_NODE_MAX, &ports) || (*at && *at != '+') || !count || !ports)
            return why_fail(why, ERR_USAGE,
                            "%s: ports must be a number such as 24, or switches by size such as "
                            "10x24+5x48",
                            words->spec);
        nodes += count;
        if (nodes > GRAPH_NODE_MAX)
            return why_fail(why, ERR_USAGE, "%s: there are more than %u switches, the maximum",
                            words->spec, GRAPH_NODE_MAX);
        struct jellyfish_run *last = &words->runs[words->run_count];
        if (words->run_count > 0 && last[-1].ports == ports)
            last[-1].count += (uint32_t)count;
        else if (words->run_count < JELLYFISH_RUN_MAX)
            words->runs[words->run_count++] =
                (struct jellyfish_run){.count = (uint32_t)count, .ports = (uint32_t)ports};
        else
            return why_fail(why, ERR_USAGE,
                            "%s: there are more than %d sizes of switches, the maximum",
                            words->spec, JELLYFISH_RUN_MAX);
        if (!*at)
            break;
    }
    words->node_count = (uint32_t)nodes;
    return OK;
}

static enum err switches_read(struct jellyfish_words *words, const struct spec_field *fields,
                              struct why *why)
{
    const char *spec = words->spec;
    const struct spec_field *switches = &fields[FIELD_SWITCHES], *ports = &fields[FIELD_PORTS];
    uint64_t count = 0, size = 0;
    enum err err = spec_required(spec, ports, why);
    if (!err)
        err = spec_uint(spec, switches, 1, GRAPH_NODE_MAX, &count, why);
    if (err)
        return err;
    if (strpbrk(ports->value, "x+")) {
        err = runs_read(words, ports->value, why);
        if (err)
            return err;
        if (switches->given && count != words->node_count)
            return why_fail(why, ERR_USAGE, "%s: switches is %llu, but ports lists %u switches",
                            spec, (unsigned long long)count, words->node_count);
        return OK;
    }
    err = spec_required(spec, switches, why);
    if (!err)
        err = spec_uint(spec, ports, 1, GRAPH_NODE_MAX, &size, why);
    if (err)
        return err;
    words->node_count = (uint32_t)count;
    words->runs[0] = (struct jellyfish_run){.count = (uint32_t)count, .ports = (uint32_t)size};
    words->run_count = 1;
    return OK;
}

static enum err switched_read(struct jellyfish_words *words, const struct spec_field *fields,
                              struct why *why)
{
    const char *spec = words->spec;
    uint64_t bare = 0;
    enum err err = spec_required(spec, &fields[FIELD_SERVERS], why);
    if (!err)
        err = spec_uint(spec, &fields[FIELD_SERVERS], 0, UINT32_MAX, &words->server_count, why);
    if (!err)
        err = switches_read(words, fields, why);
    if (!err)
        err = spec_uint(spec, &fields[FIELD_BARE], 0, words->node_count, &bare, why);
    words->bare = (uint32_t)bare;
    return err;
}

enum err jellyfish_words_read(struct jellyfish_words *words, const char *spec, struct why *why)
{
    struct spec_field fields[FIELD_COUNT] = {
        [FIELD_N] = {.key = "n"},
        [FIELD_DEGREE] = {.key = "degree"},
        [FIELD_SERVERS] = {.key = "servers"},
        [FIELD_SWITCHES] = {.key = "switches"},
        [FIELD_PORTS] = {.key = "ports"},
        [FIELD_BARE] = {.key = "bare"},
        [FIELD_CONTAINERS] = {.key = "containers"},
        [FIELD_LOCAL] = {.key = "local"},
        [FIELD_SEED] = {.key = "seed"},
    };
    *words = (struct jellyfish_words){.spec = spec, .seed = SEED_DEFAULT};
    enum err err = spec_fields(spec, fields, FIELD_COUNT, why);
    if (err)
        return err;
    if (fields[FIELD_N].given || fields[FIELD_DEGREE].given)
        err = direct_read(words, fields, why);
    else
        err = switched_read(words, fields, why);
    if (!err)
        err = containers_read(words, fields, why);
    if (!err)
        err = spec_uint(spec, &fields[FIELD_SEED], 0, UINT64_MAX, &words->seed, why);
    return err;
}

static void share_write(struct text *out, uint32_t share)
{
    uint32_t fraction = share % SHARE_ONE;
    text_printf(out, "%u", share / SHARE_ONE);
    if (fraction == 0)
        return;
    int digits = DIGITS_MAX;
    for (; fraction % 10 == 0; fraction /= 10)
        digits--;
    text_printf(out, ".%0*u", digits, fraction);
}

static void equipment_write(struct text *out, const struct jellyfish_words *words)
{
    const struct jellyfish_run *runs = words->runs;
    if (words->direct) {
        text_printf(out, "n=%u,degree=%u", words->node_count, runs[0].ports);
        return;
    }
    text_printf(out, "servers=%llu", (unsigned long long)words->server_count);
    if (words->run_count == 1)
        text_printf(out, ",switches=%u,ports=%u", runs[0].count, runs[0].ports);
    else
        for (uint32_t r = 0; r < words->run_count; r++)
            text_printf(out, "%s%ux%u", r ? "+" : ",ports=", runs[r].count, runs[r].ports);
    if (words->bare)
        text_printf(out, ",bare=%u", words->bare);
}

enum err jellyfish_words_write(const struct jellyfish_words *words, char spec[SPEC_SIZE],
                               struct why *why)
{
    struct text out = {0};
    text_puts(&out, "jellyfish:");
    equipment_write(&out, words);
    if (words->containers) {
        text_printf(&out, ",containers=%u,local=", words->containers);
        share_write(&out, words->share);
    }
    text_printf(&out, ",seed=%llu", (unsigned long long)words->seed);
    enum err err = text_ok(&out) ? OK : why_memory(why);
    if (!err) {
        /* The value of ports is shorter than SPEC_VALUE_SIZE, and the rest is a few numbers. */
        assert(out.size < SPEC_SIZE);
        memcpy(spec, out.data, out.size + 1);
    }
    text_fini(&out);
    return err;
}
