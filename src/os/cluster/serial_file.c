#include "os/cluster/serial_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/text.h"
#include "node/commission/bootstrap_wire.h"
#include "node/commission/placement.h"
#include "topology/format/format.h"

void serial_path(char path[CLUSTER_PATH_SIZE], const char *folder, uint32_t serial,
                 const char *ending)
{
    int size = snprintf(path, CLUSTER_PATH_SIZE, "%s/serial-%u.%s", folder, serial, ending);
    assert(size > 0 && size < CLUSTER_PATH_SIZE);
}

uint32_t serial_of_name(const char *name, const char *ending)
{
    char *end;
    if (strncmp(name, "serial-", 7) != 0 || name[7] < '1' || name[7] > '9')
        return 0;
    unsigned long long serial = strtoull(name + 7, &end, 10);
    bool named = *end == '.' && end[1] && (!ending || strcmp(end + 1, ending) == 0);
    return named && serial <= SERIAL_MAX ? (uint32_t)serial : 0;
}

/* ---- whole files ---- */

static enum err file_take(struct text *text, const char *path, struct why *why)
{
    char bytes[4096];
    size_t count;
    FILE *file = fopen(path, "re");
    if (!file)
        return why_fail(why, ERR_INPUT, "%s: %s", path, strerror(errno));
    while ((count = fread(bytes, 1, sizeof bytes, file)) > 0)
        text_add(text, bytes, count);
    bool bad = ferror(file);
    fclose(file);
    if (bad)
        return why_fail(why, ERR_INPUT, "%s: cannot be read", path);
    return text_ok(text) ? OK : why_memory(why);
}

/* Without it, a power failure may take back that a file was renamed. Returns errno. */
static int folder_sync(const char *folder)
{
    int handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0)
        return errno;
    int error = fsync(handle) ? errno : 0;
    close(handle);
    return error;
}

/* Writes a new file beside the old one, then renames it durably. */
static enum err file_replace(const char *folder, uint32_t serial, const char *ending,
                             const char *data, size_t size, struct why *why)
{
    char path[CLUSTER_PATH_SIZE], fresh[CLUSTER_PATH_SIZE];
    serial_path(path, folder, serial, ending);
    serial_path(fresh, folder, serial, "new");
    int handle = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (handle < 0)
        return why_fail(why, ERR_SYSTEM, "%s: %s", fresh, strerror(errno));
    ssize_t done = size ? write(handle, data, size) : 0;
    int error = done < 0 ? errno : (size_t)done != size ? ENOSPC : 0;
    if (!error && fsync(handle))
        error = errno;
    if (close(handle) && !error)
        error = errno;
    bool renamed = !error && !rename(fresh, path);
    if (!error)
        error = renamed ? folder_sync(folder) : errno;
    if (!error)
        return OK;
    if (!renamed)
        unlink(fresh);
    return why_fail(why, ERR_SYSTEM, "%s: %s", path, strerror(error));
}

/* ---- cables ---- */

enum err serial_topology_read(struct topology *topology, const char *folder, const char *name,
                              struct why *why)
{
    char path[CLUSTER_PATH_SIZE];
    struct text text = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum err err = file_take(&text, path, why);
    if (!err)
        err = format_read(topology, FORMAT_JSON, path, text.data ? text.data : "", text.size, why);
    text_fini(&text);
    return err;
}

/* The serial number that is the node's name; 0: the name is none. */
static uint32_t node_serial(const struct topology *wiring, uint32_t node)
{
    char buffer[NODE_NAME_SIZE], *end;
    const char *name = topology_name(wiring, node, buffer);
    unsigned long long serial = strtoull(name, &end, 10);
    return *name >= '1' && *name <= '9' && !*end && serial <= SERIAL_MAX ? (uint32_t)serial : 0;
}

static enum err cable_plug(struct host_machine *machine, const struct topology *wiring,
                           const struct link *link, bool from_b, struct why *why)
{
    uint32_t from_port = from_b ? link->b_port : link->a_port;
    uint32_t to_port = from_b ? link->a_port : link->b_port;
    uint32_t to = node_serial(wiring, from_b ? link->a : link->b);
    if (from_port >= PORT_MAX || to_port >= PORT_MAX || !to || to == machine->serial)
        return why_fail(why, ERR_INPUT,
                        "%s: serial %u port %u: invalid cable: a port or the serial number at its "
                        "other end is impossible",
                        CLUSTER_WIRING_NAME, machine->serial, from_port);
    machine->cables[from_port].serial = to;
    machine->cables[from_port].port = to_port;
    return OK;
}

enum err serial_cables_read(struct host_machine *machine, const char *folder, struct why *why)
{
    struct topology wiring;
    char name[NODE_NAME_SIZE];
    for (unsigned port = 0; port < PORT_MAX; port++)
        machine->cables[port].port = PORT_NONE;
    enum err err = serial_topology_read(&wiring, folder, CLUSTER_WIRING_NAME, why);
    if (err)
        return err;
    snprintf(name, sizeof name, "%u", machine->serial);
    uint32_t own = topology_find(&wiring, name);
    if (own == NODE_NONE)
        err = why_fail(why, ERR_USAGE, "--serial %u: %s/%s has no such machine", machine->serial,
                       folder, CLUSTER_WIRING_NAME);
    for (uint32_t i = 0; !err && i < wiring.graph.link_count; i++) {
        const struct link *link = &wiring.graph.links[i];
        if (link->a == own || link->b == own)
            err = cable_plug(machine, &wiring, link, link->b == own, why);
    }
    topology_fini(&wiring);
    return err;
}

/* ---- places ---- */

enum err serial_place_read(node_id *place, const char *folder, uint32_t serial,
                           uint32_t server_count, struct why *why)
{
    char path[CLUSTER_PATH_SIZE];
    struct text text = {0};
    struct why reason = {0};
    *place = NODE_NONE;
    serial_path(path, folder, serial, "place");
    if (access(path, F_OK) && errno == ENOENT)
        return OK;
    enum err err = file_take(&text, path, why);
    if (!err) {
        err = bootstrap_text_read(place, serial, server_count, text.data ? text.data : "",
                                  text.size, &reason);
        if (err)
            err = why_fail(why, err, "%s: %s", path, reason.text);
    }
    text_fini(&text);
    return err;
}

enum err serial_place_write(const char *folder, uint32_t serial, node_id place, struct why *why)
{
    char text[BOOTSTRAP_TEXT_SIZE];
    size_t size = bootstrap_text_write(serial, place, text);
    return file_replace(folder, serial, "place", text, size, why);
}

enum err serial_findings_write(const char *folder, uint32_t serial,
                               const struct placement *placement, struct why *why)
{
    struct text text = {0};
    for (uint32_t i = 0; i < placement->finding_count; i++)
        text_printf(&text, "%s\n", placement->findings[i].line);
    enum err err = text_ok(&text)
                       ? file_replace(folder, serial, "findings", text.data, text.size, why)
                       : why_memory(why);
    text_fini(&text);
    return err;
}

enum err serial_places_find(uint32_t *serials, const char *folder, uint32_t server_count,
                            struct why *why)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return why_fail(why, ERR_SYSTEM, "%s: %s", folder, strerror(errno));
    memset(serials, 0, server_count * sizeof *serials);
    enum err err = OK;
    for (struct dirent *entry; !err && (entry = readdir(entries));) {
        uint32_t serial = serial_of_name(entry->d_name, "place");
        node_id place = NODE_NONE;
        if (serial)
            err = serial_place_read(&place, folder, serial, server_count, why);
        if (!err && place != NODE_NONE)
            serials[place] = serial;
    }
    closedir(entries);
    return err;
}
