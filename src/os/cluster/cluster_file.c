#include "os/cluster/cluster_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "transport/clock.h"

#define FILE_VERSION  1
#define FILE_SIZE_MAX (1 << 20) /* 4,096 ids of at most six characters, and some names */
#define LOCK_TEXT_MAX 64

/* "/node-4095.socket" and its terminating zero. */
static_assert(CLUSTER_FOLDER_MAX + 18 < sizeof((struct sockaddr_un *)0)->sun_path,
              "every socket path in a checked folder fits");
static_assert(CLUSTER_FOLDER_MAX + 32 < CLUSTER_PATH_SIZE, "every file path fits");

const char *const cluster_transport_words[] = {"shm", "udp", NULL};

void cluster_file_fini(struct cluster_file *file)
{
    for (uint32_t i = 0; i < file->service_count; i++)
        free(file->services[i]);
    free(file->data);
    configuration_fini(&file->settings);
    free(file->process_of);
    *file = (struct cluster_file){0};
}

enum err cluster_file_deal(struct cluster_file *file, uint32_t server_count, uint32_t process_count,
                           struct why *why)
{
    assert(process_count >= 1 && process_count <= server_count);
    assert(server_count <= CLUSTER_SERVERS_MAX && !file->process_of);
    file->process_of = calloc(server_count, sizeof *file->process_of);
    if (!file->process_of)
        return why_memory(why);
    file->server_count = server_count;
    file->process_count = process_count;
    for (uint32_t v = 0; v < server_count; v++)
        file->process_of[v] = (uint32_t)((uint64_t)v * process_count / server_count);
    return OK;
}

node_id cluster_file_first(const struct cluster_file *file, node_id server)
{
    node_id first = 0;
    assert(server < file->server_count);
    while (file->process_of[first] != file->process_of[server])
        first++;
    return first;
}

/* ---- writing ---- */

static void processes_write(const struct cluster_file *file, struct json *json)
{
    json_key(json, "processes");
    json_array(json);
    for (uint32_t process = 0; process < file->process_count; process++) {
        json_array(json);
        json->indent = false; /* each process is one line */
        for (uint32_t v = 0; v < file->server_count; v++)
            if (file->process_of[v] == process)
                json_uint(json, v);
        json_end(json, ']');
        json->indent = true;
    }
    json_end(json, ']');
}

static void settings_write(const struct cluster_file *file, struct json *json)
{
    json_key(json, "settings");
    json_array(json);
    for (size_t i = 0; i < file->settings.count; i++) {
        const struct setting *setting = &file->settings.items[i];
        struct text word = {0};
        text_printf(&word, "%s.%s=%s", setting->service, setting->name, setting->value);
        if (text_ok(&word))
            json_string(json, word.data);
        json->out->failed |= !text_ok(&word);
        text_fini(&word);
    }
    json_end(json, ']');
}

void cluster_file_write(const struct cluster_file *file, struct text *out)
{
    char id[17], data_id[17];
    struct json json = json_make(out, true);
    snprintf(id, sizeof id, "%016" PRIx64, file->id);
    snprintf(data_id, sizeof data_id, "%016" PRIx64, file->data_id);
    json_object(&json);
    json_put_uint(&json, "version", FILE_VERSION);
    json_put_string(&json, "id", id);
    json_put_string(&json, "topology", file->topology);
    json_put_uint(&json, "servers", file->server_count);
    json_put_string(&json, "wire", cluster_transport_words[file->transport]);
    json_put_uint(&json, "rate", file->rate);
    json_put_uint(&json, "hello_ms", file->hello_ms);
    json_put_uint(&json, "silence_ms", file->silence_ms);
    json_put_uint(&json, "programs", file->programs);
    json_put_uint(&json, "seed", file->seed);
    json_put_bool(&json, "made_folder", file->made_folder);
    json_put_bool(&json, "pinned", file->pinned);
    json_put_bool(&json, "realtime", file->realtime);
    json_put_bool(&json, "commissioned", file->commissioned);
    if (file->data) {
        json_put_string(&json, "data", file->data);
        json_put_string(&json, "data_id", data_id);
    }
    json_key(&json, "services");
    json_array(&json);
    for (uint32_t i = 0; i < file->service_count; i++)
        json_string(&json, file->services[i]);
    json_end(&json, ']');
    settings_write(file, &json);
    processes_write(file, &json);
    json_end(&json, '}');
}

/* ---- reading ---- */

struct parse {
    struct json_reader reader;
    struct cluster_file *file;
    uint64_t version;
    bool has_processes;
};

/* Reads the number after a key. */
static enum err parse_uint(struct parse *parse, const char *what, uint64_t most, uint64_t *value)
{
    enum err err = json_reader_expect(&parse->reader, JSON_NUMBER, what);
    if (err)
        return err;
    char *end;
    const char *text = parse->reader.text.data;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text == '-' || *end || errno || *value > most)
        return json_reader_fail(&parse->reader, "%s: expected a whole number up to %" PRIu64, what,
                                most);
    return OK;
}

static enum err parse_uint32(struct parse *parse, const char *what, uint64_t most, uint32_t *value)
{
    uint64_t number = 0;
    enum err err = parse_uint(parse, what, most, &number);
    *value = (uint32_t)number;
    return err;
}

static enum err parse_id(struct parse *parse, const char *what, uint64_t *id)
{
    enum err err = json_reader_expect(&parse->reader, JSON_STRING, what);
    if (err)
        return err;
    const char *text = parse->reader.text.data;
    if (parse->reader.text.size != 16 || strspn(text, "0123456789abcdef") != 16)
        return json_reader_fail(&parse->reader, "%s: expected 16 hexadecimal digits", what);
    *id = strtoull(text, NULL, 16);
    return OK;
}

static enum err parse_data(struct parse *parse)
{
    enum err err = json_reader_expect(&parse->reader, JSON_STRING, "data");
    if (err)
        return err;
    if (parse->file->data || !parse->reader.text.size || parse->reader.text.data[0] != '/')
        return json_reader_fail(&parse->reader, "data: expected an absolute path, once");
    parse->file->data = strdup(parse->reader.text.data);
    return parse->file->data ? OK : why_memory(parse->reader.why);
}

static enum err parse_topology(struct parse *parse)
{
    enum err err = json_reader_expect(&parse->reader, JSON_STRING, "topology");
    if (err)
        return err;
    if (parse->reader.text.size >= sizeof parse->file->topology)
        return json_reader_fail(&parse->reader, "topology: too long");
    snprintf(parse->file->topology, sizeof parse->file->topology, "%s",
             parse->reader.text.size ? parse->reader.text.data : "");
    return OK;
}

static enum err parse_transport(struct parse *parse)
{
    enum err err = json_reader_expect(&parse->reader, JSON_STRING, "wire");
    if (err)
        return err;
    for (int i = 0; cluster_transport_words[i]; i++)
        if (json_reader_is(&parse->reader, cluster_transport_words[i])) {
            parse->file->transport = (enum cluster_transport)i;
            return OK;
        }
    return json_reader_fail(&parse->reader, "wire: expected shm or udp");
}

static bool is_service(const struct text *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    return word->size && (word->data[0] == '/' || !word->data[strspn(word->data, letters)]);
}

static enum err parse_services(struct parse *parse)
{
    struct cluster_file *file = parse->file;
    enum err err = json_reader_expect(&parse->reader, JSON_ARRAY, "services");
    while (json_reader_more(&parse->reader, &err)) {
        if (parse->reader.event != JSON_STRING || !is_service(&parse->reader.text))
            return json_reader_fail(&parse->reader,
                                    "services: expected absolute paths, or names of services");
        if (file->service_count == CLUSTER_SERVICES_MAX)
            return json_reader_fail(&parse->reader, "services: more than %d", CLUSTER_SERVICES_MAX);
        char *copy = strdup(parse->reader.text.data);
        if (!copy)
            return why_memory(parse->reader.why);
        file->services[file->service_count++] = copy;
    }
    return err;
}

static enum err parse_settings(struct parse *parse)
{
    enum err err = json_reader_expect(&parse->reader, JSON_ARRAY, "settings");
    while (json_reader_more(&parse->reader, &err)) {
        struct why reason = {0};
        if (parse->reader.event != JSON_STRING || !parse->reader.text.size)
            return json_reader_fail(&parse->reader, "settings: expected texts");
        if (parse->file->settings.count == CLUSTER_SETTINGS_MAX)
            return json_reader_fail(&parse->reader, "settings: more than %d", CLUSTER_SETTINGS_MAX);
        err = configuration_add(&parse->file->settings, CLUSTER_FILE_NAME, parse->reader.text.data,
                                &reason);
        if (err == ERR_USAGE)
            return json_reader_fail(&parse->reader, "settings: %s", reason.text);
    }
    return err;
}

/* Reads one process' ids; the beginning of the array was read. */
static enum err parse_process(struct parse *parse, uint32_t *dealt)
{
    struct cluster_file *file = parse->file;
    uint32_t before = *dealt;
    enum err err = OK;
    while (json_reader_more(&parse->reader, &err)) {
        char *end;
        unsigned long id;
        if (parse->reader.event != JSON_NUMBER)
            return json_reader_fail(&parse->reader, "processes: expected the ids of servers");
        id = strtoul(parse->reader.text.data, &end, 10);
        if (*end || id >= file->server_count)
            return json_reader_fail(&parse->reader, "processes: no server %s",
                                    parse->reader.text.data);
        if (file->process_of[id] != UINT32_MAX)
            return json_reader_fail(&parse->reader, "processes: server %lu is listed twice", id);
        file->process_of[id] = file->process_count;
        ++*dealt;
    }
    if (!err && *dealt == before)
        return json_reader_fail(&parse->reader, "processes: a process has no servers");
    file->process_count++;
    return err;
}

static enum err parse_processes(struct parse *parse)
{
    struct cluster_file *file = parse->file;
    uint32_t dealt = 0;
    if (parse->has_processes || !file->server_count)
        return json_reader_fail(&parse->reader, "processes: expected once, after servers");
    parse->has_processes = true;
    file->process_of = malloc(file->server_count * sizeof *file->process_of);
    if (!file->process_of)
        return why_memory(parse->reader.why);
    memset(file->process_of, 0xff, file->server_count * sizeof *file->process_of);
    enum err err = json_reader_expect(&parse->reader, JSON_ARRAY, "processes");
    while (json_reader_more(&parse->reader, &err)) {
        if (parse->reader.event != JSON_ARRAY)
            return json_reader_fail(&parse->reader, "processes: expected a list of lists");
        err = parse_process(parse, &dealt);
    }
    if (!err && dealt != file->server_count)
        return json_reader_fail(&parse->reader, "processes: only %u of %u servers are listed",
                                dealt, file->server_count);
    return err;
}

static enum err parse_field(struct parse *parse)
{
    struct cluster_file *file = parse->file;
    struct json_reader *reader = &parse->reader;
    if (json_reader_is(reader, "version"))
        return parse_uint(parse, "version", UINT32_MAX, &parse->version);
    if (json_reader_is(reader, "id"))
        return parse_id(parse, "id", &file->id);
    if (json_reader_is(reader, "data"))
        return parse_data(parse);
    if (json_reader_is(reader, "data_id"))
        return parse_id(parse, "data_id", &file->data_id);
    if (json_reader_is(reader, "topology"))
        return parse_topology(parse);
    if (json_reader_is(reader, "servers") && !parse->has_processes)
        return parse_uint32(parse, "servers", CLUSTER_SERVERS_MAX, &file->server_count);
    if (json_reader_is(reader, "wire"))
        return parse_transport(parse);
    if (json_reader_is(reader, "rate"))
        return parse_uint(parse, "rate", UINT64_MAX, &file->rate);
    if (json_reader_is(reader, "hello_ms"))
        return parse_uint32(parse, "hello_ms", UINT32_MAX, &file->hello_ms);
    if (json_reader_is(reader, "silence_ms"))
        return parse_uint32(parse, "silence_ms", UINT32_MAX, &file->silence_ms);
    if (json_reader_is(reader, "programs"))
        return parse_uint32(parse, "programs", UINT32_MAX, &file->programs);
    if (json_reader_is(reader, "seed"))
        return parse_uint(parse, "seed", UINT64_MAX, &file->seed);
    if (json_reader_is(reader, "made_folder"))
        return json_reader_bool(reader, "made_folder", &file->made_folder);
    if (json_reader_is(reader, "pinned"))
        return json_reader_bool(reader, "pinned", &file->pinned);
    if (json_reader_is(reader, "realtime"))
        return json_reader_bool(reader, "realtime", &file->realtime);
    if (json_reader_is(reader, "commissioned"))
        return json_reader_bool(reader, "commissioned", &file->commissioned);
    if (json_reader_is(reader, "services"))
        return parse_services(parse);
    if (json_reader_is(reader, "settings"))
        return parse_settings(parse);
    if (json_reader_is(reader, "processes"))
        return parse_processes(parse);
    enum err err = json_reader_next(reader); /* a field of a later version */
    return err ? err : json_reader_skip(reader);
}

static enum err parse_all(struct parse *parse)
{
    struct json_reader *reader = &parse->reader;
    enum err err = json_reader_expect(reader, JSON_OBJECT, "a cluster");
    while (json_reader_more(reader, &err))
        err = parse_field(parse);
    if (!err)
        err = json_reader_next(reader); /* expect the end */
    if (!err && parse->version != FILE_VERSION)
        return json_reader_fail(reader, "written by another version of weft");
    if (!err && !parse->has_processes)
        return json_reader_fail(reader, "servers and processes are missing");
    return err;
}

enum err cluster_file_parse(struct cluster_file *file, const char *name, const char *data,
                            size_t size, struct why *why)
{
    struct parse parse = {.file = file};
    *file = (struct cluster_file){0};
    json_reader_init(&parse.reader, name, data, size, why);
    enum err err = parse_all(&parse);
    json_reader_fini(&parse.reader);
    if (err)
        cluster_file_fini(file);
    return err;
}

enum err cluster_file_read(struct cluster_file *file, const char *folder, struct why *why)
{
    char path[CLUSTER_PATH_SIZE];
    enum err err = cluster_folder_check(folder, why);
    if (err)
        return err;
    snprintf(path, sizeof path, "%s/%s", folder, CLUSTER_FILE_NAME);
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return why_fail(why, ERR_INPUT, "%s: %s", path, strerror(errno));
    char *data = malloc(FILE_SIZE_MAX);
    size_t size = 0;
    ssize_t got = data ? 1 : -1;
    while (got > 0 && size < FILE_SIZE_MAX) {
        got = read(handle, data + size, FILE_SIZE_MAX - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (!data)
        err = why_memory(why);
    else if (got < 0)
        err = why_fail(why, ERR_INPUT, "%s: %s", path, strerror(errno));
    else if (size == FILE_SIZE_MAX)
        err = why_fail(why, ERR_INPUT, "%s: too large for a cluster file", path);
    else
        err = cluster_file_parse(file, path, data, size, why);
    close(handle);
    free(data);
    return err;
}

/* ---- paths ---- */

enum err cluster_folder_check(const char *folder, struct why *why)
{
    size_t size = strlen(folder);
    if (size == 0)
        return why_fail(why, ERR_USAGE, "the name of the cluster's folder is empty");
    if (size > CLUSTER_FOLDER_MAX)
        return why_fail(why, ERR_USAGE,
                        "%.40s...: a path of %zu letters is too long for the sockets in it; "
                        "at most %d",
                        folder, size, CLUSTER_FOLDER_MAX);
    return OK;
}

void cluster_path(char path[CLUSTER_PATH_SIZE], const char *folder, node_id server,
                  const char *ending)
{
    int size = snprintf(path, CLUSTER_PATH_SIZE, "%s/node-%u.%s", folder, server, ending);
    assert(size > 0 && size < CLUSTER_PATH_SIZE);
}

/* ---- locks ---- */

static struct flock whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* The incarnation of the last start; 0: none, or not a complete line. */
static uint64_t lock_last(int handle)
{
    char text[LOCK_TEXT_MAX];
    uint64_t incarnation;
    int pid;
    ssize_t size = pread(handle, text, sizeof text - 1, 0);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    return sscanf(text, "%d %" SCNu64, &pid, &incarnation) == 2 ? incarnation : 0;
}

int cluster_lock_take(const char *folder, node_id server, uint64_t *incarnation)
{
    char path[CLUSTER_PATH_SIZE], text[LOCK_TEXT_MAX];
    struct flock lock = whole_file();
    cluster_path(path, folder, server, "lock");
    int handle = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (handle < 0)
        return -errno;
    int error = 0;
    if (fcntl(handle, F_SETLK, &lock))
        error = errno == EACCES || errno == EAGAIN ? EBUSY : errno;
    if (!error) {
        uint64_t last = lock_last(handle), now = (uint64_t)clock_wall();
        *incarnation = now > last ? now : last + 1;
        int size = snprintf(text, sizeof text, "%d %" PRIu64 "\n", (int)getpid(), *incarnation);
        ssize_t done = pwrite(handle, text, (size_t)size, 0);
        if (done != size)
            error = done < 0 ? errno : ENOSPC;
        else if (ftruncate(handle, size))
            error = errno;
    }
    if (error) {
        close(handle);
        return -error;
    }
    return handle;
}

bool cluster_lock_stands(int lock, const char *folder, node_id server)
{
    char path[CLUSTER_PATH_SIZE];
    struct stat held, named;
    cluster_path(path, folder, server, "lock");
    if (fstat(lock, &held))
        return true; /* an unknown state is no reason to stop */
    if (held.st_nlink == 0)
        return false;
    return stat(path, &named) || (named.st_dev == held.st_dev && named.st_ino == held.st_ino);
}

pid_t cluster_lock_holder(const char *folder, node_id server)
{
    char path[CLUSTER_PATH_SIZE];
    struct flock lock = whole_file();
    cluster_path(path, folder, server, "lock");
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return errno == ENOENT ? 0 : -errno;
    int result = fcntl(handle, F_GETLK, &lock), error = errno;
    close(handle);
    if (result)
        return -error;
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}
