#include "os/data/data_owner.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_reader.h"

#define FILE_VERSION 1

void data_owner_write(const struct data_owner *owner, struct text *out)
{
    char cluster[17];
    struct json json = json_make(out, true);
    snprintf(cluster, sizeof cluster, "%016" PRIx64, owner->cluster);
    json_object(&json);
    json_put_uint(&json, "version", FILE_VERSION);
    json_put_string(&json, "cluster", cluster);
    json_put_string(&json, "topology", owner->topology);
    json_put_uint(&json, "servers", owner->server_count);
    json_put_uint(&json, "server", owner->server);
    json_end(&json, '}');
}

static enum err number_parse(struct json_reader *reader, const char *what, uint32_t *value)
{
    enum err err = json_reader_expect(reader, JSON_NUMBER, what);
    if (err)
        return err;
    char *end;
    const char *text = reader->text.data;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text == '-' || *end || errno || number > UINT32_MAX)
        return json_reader_fail(reader, "%s: expected a whole number", what);
    *value = (uint32_t)number;
    return OK;
}

static enum err cluster_parse(struct json_reader *reader, struct data_owner *owner)
{
    enum err err = json_reader_expect(reader, JSON_STRING, "cluster");
    if (err)
        return err;
    const char *text = reader->text.data;
    if (reader->text.size != 16 || strspn(text, "0123456789abcdef") != 16)
        return json_reader_fail(reader, "cluster: expected 16 hexadecimal digits");
    owner->cluster = strtoull(text, NULL, 16);
    return OK;
}

static enum err topology_parse(struct json_reader *reader, struct data_owner *owner)
{
    enum err err = json_reader_expect(reader, JSON_STRING, "topology");
    if (err)
        return err;
    if (reader->text.size >= sizeof owner->topology)
        return json_reader_fail(reader, "topology: too long");
    snprintf(owner->topology, sizeof owner->topology, "%s",
             reader->text.size ? reader->text.data : "");
    return OK;
}

static enum err field_parse(struct json_reader *reader, struct data_owner *owner, uint32_t *version)
{
    if (json_reader_is(reader, "version"))
        return number_parse(reader, "version", version);
    if (json_reader_is(reader, "cluster"))
        return cluster_parse(reader, owner);
    if (json_reader_is(reader, "topology"))
        return topology_parse(reader, owner);
    if (json_reader_is(reader, "servers"))
        return number_parse(reader, "servers", &owner->server_count);
    if (json_reader_is(reader, "server"))
        return number_parse(reader, "server", &owner->server);
    enum err err = json_reader_next(reader); /* a field of a later version */
    return err ? err : json_reader_skip(reader);
}

enum err data_owner_parse(struct data_owner *owner, const char *name, const char *data, size_t size,
                          struct why *why)
{
    struct json_reader reader;
    uint32_t version = 0;
    *owner = (struct data_owner){0};
    json_reader_init(&reader, name, data, size, why);
    enum err err = json_reader_expect(&reader, JSON_OBJECT, "the owner of a folder");
    while (json_reader_more(&reader, &err))
        err = field_parse(&reader, owner, &version);
    if (!err)
        err = json_reader_next(&reader); /* expect the end */
    if (!err && version != FILE_VERSION)
        err = json_reader_fail(&reader, "written by another version of weft");
    json_reader_fini(&reader);
    return err;
}
