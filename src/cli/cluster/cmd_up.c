/* weft up */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cluster/cluster_commission.h"
#include "cli/cluster/cluster_data.h"
#include "cli/cluster/cluster_disk.h"
#include "cli/cluster/cluster_end.h"
#include "cli/cluster/cluster_start.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/service/service_realm.h"
#include "cli/service/service_values.h"
#include "cli/show/rate_text.h"
#include "os/host/client_socket.h"
#include "os/realtime.h"
#include "os/shared_memory.h"
#include "process/child.h"
#include "services/services.h"
#include "topology/format/format.h"
#include "transport/clock.h"
#include "transport/memfile.h"

#define SPEC_DEFAULT "torus:3x3x3"
#define GRACE_NSEC   (2 * NSEC_PER_SEC)
#define SECONDS_MAX  3600
/* The end of a process is noticed at once; a hung process, or a cable that carries nothing, after
 * this time. It is much longer than a process waits on a busy machine. */
#define SILENCE_MS_DEFAULT 3000
#define SILENCE_MS_MAX     600000
#define HELLOS             10      /* sent in that time */
#define PROGRAMS_MAX       1000000 /* the system has no more descriptors */

struct up {
    struct call *call;
    struct cluster cluster;
    char weftd[4096];
    double wait_seconds;
    struct topology wiring; /* of a commissioned cluster */
    bool made_folder;
    bool uses_disk; /* a service keeps files */
    int exclusion;  /* the lock of the folder */
};

static enum err services_parse(struct up *up, struct why *why)
{
    struct cluster_file *file = &up->cluster.file;
    for (int i = 0; i < up->call->option_count; i++) {
        const char *value = up->call->options[i].value;
        if (strcmp(up->call->options[i].option->name, "service") != 0)
            continue;
        if (file->service_count == CLUSTER_SERVICES_MAX)
            return why_fail(why, ERR_USAGE, "--service: at most %d services can be loaded",
                            CLUSTER_SERVICES_MAX);
        char *path = services_optional_find(value) ? strdup(value) : realpath(value, NULL);
        if (!path || (*path == '/' && access(path, R_OK))) {
            free(path);
            return why_fail(why, ERR_INPUT, "--service %s: %s", value, strerror(errno));
        }
        file->services[file->service_count++] = path;
    }
    return OK;
}

/* Reads the values of parameters and compares them with the services, before anything starts. */
static enum err settings_read(struct up *up, struct why *why)
{
    struct cluster_file *file = &up->cluster.file;
    struct service_realm realm;
    enum err err = service_values_read(up->call, &file->settings, why);
    if (!err && file->settings.count > CLUSTER_SETTINGS_MAX)
        err = why_fail(why, ERR_USAGE, "more than %d values of parameters", CLUSTER_SETTINGS_MAX);
    service_realm_init(&realm);
    for (uint32_t i = 0; !err && i < file->service_count; i++)
        err = service_realm_load(&realm, file->services[i], why);
    if (!err)
        err = configuration_check(&file->settings, realm.services, why);
    if (!err)
        configuration_compact(&file->settings);
    for (unsigned i = 0; i < realm.count; i++)
        up->uses_disk |= realm.services[i]->files > 0;
    service_realm_fini(&realm);
    return err;
}

/* Reads the options of --commission, and refuses combinations without a meaning. */
static enum err commission_parse(struct up *up, struct why *why)
{
    struct call *call = up->call;
    struct cluster *cluster = &up->cluster;
    cluster->file.commissioned = call_has(call, "commission");
    for (const char *const *name = (const char *const[]){"wiring", "seed", NULL}; *name; name++)
        if (call_has(call, *name) && !cluster->file.commissioned)
            return why_fail(why, ERR_USAGE, "--%s: needs --commission", *name);
    if (!cluster->file.commissioned)
        return OK;
    if (cluster->file.process_count != cluster->file.server_count)
        return why_fail(
            why, ERR_USAGE,
            "--commission: cannot be combined with --processes, because each machine is a process");
    enum err err = call_uint(call, "seed", 0, UINT64_MAX, &cluster->file.seed, why);
    if (!err)
        err = cluster_machines_make(cluster, call_option(call, "wiring"), &up->wiring, why);
    return err;
}

static enum err up_parse(struct up *up, struct why *why)
{
    struct call *call = up->call;
    struct cluster *cluster = &up->cluster;
    const char *word = call->argument_count ? call->arguments[0] : SPEC_DEFAULT;
    const char *rate = call_option(call, "rate");
    int transport = CLUSTER_SHM;
    enum err err = cluster_find(cluster, call, why);
    if (!err)
        err = call_choice(call, "wire", cluster_transport_words, &transport, why);
    if (!err && rate)
        err = rate_text_parse(rate, &cluster->file.rate, why);
    up->wait_seconds = CLUSTER_WAIT_SECONDS;
    if (!err)
        err = call_real(call, "wait", 0, SECONDS_MAX, &up->wait_seconds, why);
    uint64_t silence = SILENCE_MS_DEFAULT;
    if (!err)
        err = call_uint(call, "silence", 50, SILENCE_MS_MAX, &silence, why);
    uint64_t programs = CLIENT_SOCKET_CLIENTS_MAX;
    if (!err)
        err = call_uint(call, "programs", 1, PROGRAMS_MAX, &programs, why);
    if (!err)
        err = cluster_plan(cluster, word, why);
    if (err)
        return err;
    uint32_t servers = cluster->plan.server_count;
    uint64_t processes = servers;
    if (servers > CLUSTER_SERVERS_MAX)
        return why_fail(why, ERR_USAGE, "%s: %u servers on one machine; at most %d", word, servers,
                        CLUSTER_SERVERS_MAX);
    err = call_uint(call, "processes", 1, servers, &processes, why);
    if (!err)
        err = cluster_file_deal(&cluster->file, servers, (uint32_t)processes, why);
    if (!err)
        err = services_parse(up, why);
    if (!err)
        err = settings_read(up, why);
    cluster->file.transport = (enum cluster_transport)transport;
    cluster->file.silence_ms = (uint32_t)silence;
    cluster->file.hello_ms = (uint32_t)(silence / HELLOS);
    cluster->file.programs = (uint32_t)programs;
    cluster->file.realtime = call_has(call, "realtime");
    cluster->file.pinned = cluster->file.realtime || call_has(call, "pin");
    cluster->file.id = entropy_u64();
    cluster->file.seed = entropy_u64();
    snprintf(cluster->file.topology, sizeof cluster->file.topology, "%s",
             cluster->topology.spec[0] ? cluster->topology.spec : word);
    return err ? err : commission_parse(up, why);
}

/* ---- memory ---- */

/* The most memory of a cluster under load: 27 servers took 95 MiB, 125 took 439. */
#define PROCESS_MEMORY (2u << 20)
#define SERVER_MEMORY  (1u << 20)
#define LINK_MEMORY    (1u << 20) /* both directions, after they were full once */

static enum err memory_check(const struct up *up, struct why *why)
{
    const struct cluster_file *file = &up->cluster.file;
    uint64_t need = (uint64_t)file->process_count * PROCESS_MEMORY +
                    (uint64_t)file->server_count * SERVER_MEMORY +
                    (uint64_t)up->cluster.topology.graph.link_count * LINK_MEMORY;
    size_t available = memfile_available();
    if (available == SIZE_MAX || need <= available)
        return OK;
    return why_fail(why, ERR_MEMORY,
                    "%u servers need about %" PRIu64
                    " MiB, but this machine has only %zu MiB left; use "
                    "fewer servers%s",
                    file->server_count, need >> 20, available >> 20,
                    file->process_count == file->server_count ? ", or --processes 2" : "");
}

/* ---- the folder ---- */

/* Refuses a folder with a running cluster, or with files of one. */
static enum err folder_check(struct up *up, struct why *why)
{
    struct cluster there = {0};
    struct why ignored;
    struct cluster *cluster = &up->cluster;
    if (!cluster_remains(cluster->folder))
        return OK;
    memcpy(there.folder, cluster->folder, sizeof there.folder);
    uint32_t lives = 0, servers = 0;
    if (!cluster_file_read(&there.file, there.folder, &ignored)) {
        lives = cluster_lives(&there);
        servers = there.file.server_count;
        cluster_file_fini(&there.file);
    }
    if (lives)
        return why_fail(
            why, ERR_SYSTEM,
            "%s: a cluster runs there, %u of %u servers are alive; 'weft down%s' ends it, or "
            "choose another --dir",
            cluster->folder, lives, servers, cluster->hint);
    return why_fail(why, ERR_SYSTEM,
                    "%s: has files of a cluster that no longer runs; 'weft down%s' removes them",
                    cluster->folder, cluster->hint);
}

static enum err folder_make(struct up *up, struct why *why)
{
    struct stat info;
    struct cluster *cluster = &up->cluster;
    up->made_folder = mkdir(cluster->folder, 0700) == 0;
    if (!up->made_folder && cluster_disk_error(errno))
        return cluster_disk_fail(cluster->folder, why);
    if (!up->made_folder && errno != EEXIST)
        return why_fail(why, ERR_SYSTEM, "%s: %s", cluster->folder, strerror(errno));
    if (stat(cluster->folder, &info) || !S_ISDIR(info.st_mode))
        return why_fail(why, ERR_USAGE, "%s: is not a folder", cluster->folder);
    if (info.st_uid != geteuid())
        return why_fail(why, ERR_USAGE, "%s: belongs to another user; choose another --dir",
                        cluster->folder);
    if (info.st_mode & 022)
        return why_fail(
            why, ERR_USAGE,
            "%s: other users can write there; run 'chmod go-w' on it, or choose another --dir",
            cluster->folder);
    return OK;
}

static enum err topology_keep(const struct up *up, const char *name,
                              const struct topology *topology, struct why *why)
{
    char path[CLUSTER_PATH_SIZE];
    struct text text = {0};
    snprintf(path, sizeof path, "%s/%s", up->cluster.folder, name);
    enum err err = format_write(&text, FORMAT_JSON, topology, why);
    if (!err)
        err = file_write(path, &text, why);
    text_fini(&text);
    return err;
}

static enum err folder_fill(struct up *up, struct why *why)
{
    char path[CLUSTER_PATH_SIZE];
    struct cluster *cluster = &up->cluster;
    struct text text = {0};
    snprintf(path, sizeof path, "%s/%s", cluster->folder, CLUSTER_LINKS_FOLDER);
    if (mkdir(path, 0700))
        return why_fail(why, ERR_SYSTEM, "%s: %s", path, strerror(errno));
    enum err err = topology_keep(up, CLUSTER_TOPOLOGY_NAME, &cluster->topology, why);
    if (!err && cluster->file.commissioned)
        err = topology_keep(up, CLUSTER_WIRING_NAME, &up->wiring, why);
    if (err)
        return err;
    cluster->file.made_folder = up->made_folder;
    cluster_file_write(&cluster->file, &text);
    snprintf(path, sizeof path, "%s/%s", cluster->folder, CLUSTER_FILE_NAME);
    err = file_write(path, &text, why);
    text_fini(&text);
    return err;
}

/* ---- starting ---- */

static enum err processes_start(struct up *up, struct cluster_start *start, struct why *why)
{
    enum err err = OK;
    uint32_t count = up->cluster.file.process_count;
    for (uint32_t i = 0; i < count && !err && !stop_asked(); i++)
        err = cluster_spawn(&up->cluster, up->weftd, i, &start->pids[i], why);
    if (!err)
        err = cluster_start_wait(start, up->wait_seconds, why);
    return err;
}

/* Ends all processes, including children that do not have their locks yet. */
static void processes_end(struct up *up, const struct cluster_start *start)
{
    for (uint32_t i = 0; i < up->cluster.file.process_count; i++)
        child_kill(start->pids[i]);
    (void)!cluster_end(up->cluster.folder, GRACE_NSEC);
}

static const char up_page[] =
    "{servers|server is|servers are} up after {seconds%.1f} s: {topology}, {links|link|links} over "
    "{wire}, {processes|process|processes}, in {folder}\n"
    "{?commissioned}{#machines}serial {serial} is server {name}\n{/}"
    "{#findings}{.}\n{:}all cables are as planned\n{/}{/}"
    "next: weft status{hint}, nodes, top, ping, where, kill; weft down{hint} ends the cluster\n";

static void report(struct up *up, const struct cluster_start *start,
                   const struct cluster_findings *findings)
{
    const struct cluster *cluster = &up->cluster;
    const struct cluster_file *file = &cluster->file;
    struct result *result = call_result(up->call, up_page);
    result_string(result, "folder", cluster->folder);
    result_string(result, "data", file->data);
    result_string(result_hide(result), "hint", cluster->hint);
    result_string(result, "topology", file->topology);
    result_uint(result, "servers", file->server_count);
    result_uint(result, "links", cluster->topology.graph.link_count);
    result_string(result, "wire", cluster_transport_words[file->transport]);
    result_uint(result, "rate", file->rate);
    result_uint(result, "processes", file->process_count);
    result_number(result, "seconds", (double)(clock_now() - start->begun) / 1e9);
    result_array(result, "pids");
    for (uint32_t i = 0; i < file->process_count; i++)
        result_uint(result, NULL, (uint64_t)start->pids[i]);
    result_end(result);
    result_bool(result_hide(result), "commissioned", file->commissioned);
    if (file->commissioned) {
        result_uint(result, "seed", file->seed);
        cluster_findings_put(findings, cluster, result);
    }
}

/* Starts the cluster; the caller holds the lock of the folder. After a failure no process and no
 * file remains, except what a service has written already. */
static enum err cluster_bring_up(struct up *up, struct why *why)
{
    struct cluster_start start;
    struct cluster_findings findings = {0};
    struct why ignored;
    uint32_t others;
    enum err err = cluster_start_init(&start, &up->cluster, why);
    if (err)
        return err;
    err = folder_fill(up, why);
    if (!err) {
        err = processes_start(up, &start, why);
        if (!err && up->cluster.file.commissioned)
            err = cluster_findings_read(&findings, &up->cluster, why);
        if (err)
            processes_end(up, &start);
        else
            report(up, &start, &findings);
    } else if (cluster_disk_said(why->text)) {
        err = cluster_disk_fail(up->cluster.folder, why);
    }
    cluster_findings_fini(&findings);
    if (err)
        (void)!cluster_remove(up->cluster.folder, false, &others, &ignored);
    cluster_start_fini(&start);
    return err;
}

/* The same while no other start uses the data directory. */
static enum err data_bring_up(struct up *up, struct why *why)
{
    struct cluster_data_start data;
    enum err err = cluster_data_begin(&up->cluster, up->uses_disk, &data, why);
    if (!err)
        err = cluster_bring_up(up, why);
    cluster_data_end(&up->cluster, &data, err != OK);
    return err;
}

static enum err up_run(struct call *call, struct why *why)
{
    static struct up up;
    up = (struct up){.call = call, .exclusion = -1};
    enum err err = up_parse(&up, why);
    if (!err)
        err = folder_check(&up, why);
    if (!err)
        err = cluster_data_choose(&up.cluster, call, up.uses_disk, why);
    if (!err)
        err = cluster_weftd(up.weftd, sizeof up.weftd, why);
    if (!err)
        err = memory_check(&up, why);
    if (!err)
        err = shared_memory_check(
            up.cluster.file.transport == CLUSTER_SHM ? LINK_MEMORY : SHARED_MEMORY_PAGE, why);
    if (!err && up.cluster.file.realtime)
        err = realtime_check(why);
    if (!err) {
        stop_catch();
        err = folder_make(&up, why);
        if (!err)
            err = cluster_exclude(&up.cluster, &up.exclusion, why);
        if (!err)
            err = folder_check(&up, why); /* again, now that the folder is locked */
        if (!err)
            err = cluster_disk_check(&up.cluster, why);
        if (!err)
            err = data_bring_up(&up, why);
        if (err && up.made_folder)
            (void)!rmdir(up.cluster.folder);
        if (up.exclusion >= 0)
            close(up.exclusion);
    }
    topology_fini(&up.wiring);
    cluster_close(&up.cluster);
    return err;
}

static const struct option up_options[] = {
    CLUSTER_OPTIONS,
    {"wire", "shm|udp",
     "what links use: shared memory, or UDP on the loopback interface (default shm)"},
    {"rate", "RATE", "rate of each direction of a link, such as 1Gbps (default: no limit)"},
    {"processes", "P", "number of processes that share the servers (default: one for each server)"},
    {"pin", NULL, "bind the processes to the processors in turn"},
    {"realtime", NULL, "as --pin, with priority over ordinary programs (needs CAP_SYS_NICE)"},
    {"service", "NAME|FILE",
     "a service that every server runs besides: an optional one of weft, as store, or a shared "
     "object; may be repeated"},
    SERVICE_VALUE_OPTIONS,
    {"silence", "MS", "a link without hellos for this time is down (default 3000)"},
    {"data", "DIR", "the data directory, in which services keep files (see below)"},
    {"programs", "N", "how many programs may be attached to one server (default 16384)"},
    {"wait", "S", "seconds to wait until the servers are ready (default 60)"},
    {"commission", NULL, "servers determine their places in the plan by their cables"},
    {"wiring", "FILE", "with --commission: the actual cables (default: as planned)"},
    {"seed", "N", "with --commission: which machine gets which serial number (default: random)"},
    {0},
};

const struct command command_up = {
    .name = "up",
    .group = "cluster",
    .arguments = "[SPEC|FILE]",
    .summary = "start a cluster on this machine",
    .description =
        "Starts the servers of a topology (default torus:3x3x3) as processes on this machine, "
        "connects them by links over shared memory, and waits until all servers reach each "
        "other. The servers keep running after the command has ended; weft down ends them.\n\n"
        "By default each server has its own process, which can be killed separately. With "
        "--processes P the servers share P processes, in blocks of consecutive numbers, and each "
        "process is bound to a processor if there are enough processors: this uses the machine "
        "fully. --pin binds the processes even if there are more of them than processors: packets "
        "that pass many processes then take less time, and the time varies less, but two busy "
        "processes may share a processor while another is idle. --realtime does the same and also "
        "gives the servers priority over all ordinary programs (SCHED_RR; needs root, CAP_SYS_NICE "
        "or ulimit -r 1). Packets then do not wait for other programs, but those programs wait "
        "while packets are forwarded, and a program that uses its server waits until the server "
        "sleeps.\n\n"
        "The run directory has the files cluster.json and topology.json, and a lock, a socket and "
        "a log for each server. The option --dir names it; otherwise the variable WEFT_DIR does; "
        "otherwise it is the folder weft in XDG_RUNTIME_DIR, or else /tmp/weft-UID. Its name has "
        "at most 84 letters, because names of sockets are limited. If a server does not start, all "
        "servers are ended, no file remains, and the last line of that server's log is printed. "
        "Only what a service has already written to the data directory stays.\n\n"
        "Services keep files in the data directory, in a folder for each server and service. It is "
        "not the run directory: weft down keeps it, and the next cluster of the same topology with "
        "this data directory finds the files again. A data directory of another cluster is "
        "refused before any process starts; a second server on the same data is refused when it "
        "starts. The option --data names it; otherwise the variable WEFT_DATA does; otherwise it "
        "is DIR.data if the run directory DIR was named; otherwise the folder weft in "
        "XDG_STATE_HOME, or else in ~/.local/state. It is made when the first service that uses "
        "the disk starts. Files are read and written by io_uring, or by threads where the kernel "
        "does not permit io_uring or if the variable WEFT_DISK is threads.\n\n"
        "Services have parameters, which weft service show lists. --set SERVICE.NAME=VALUE sets "
        "one for all servers, and --config FILE sets those of a file, a line for each "
        "(weft-config(5)). A service, parameter or value that does not exist is refused before "
        "any process starts. The values stay those of the cluster, also when weft revive starts a "
        "server again; weft nodes --json shows the values in effect. The parameter memory of "
        "every service is its budget on each server, 256M by default.\n\n"
        "With --commission the processes do not know which server they are. Each represents a "
        "machine with a serial number and cables in its ports. The machines exchange hellos, "
        "determine together which machine is at which place of the plan, and store that "
        "permanently (D/serial-S.place). In a torus the machine with the lowest serial number "
        "becomes server 0. The command prints which server each machine became, and a line for "
        "every cable that is not plugged in as planned; the cluster runs without these cables. "
        "--wiring FILE connects the cables as in that topology, for example the plan with two ends "
        "exchanged. If a cable or a server is missing, the other servers wait ten seconds for "
        "it.\n\n"
        "The servers run the program weftd: the one that the variable WEFTD names, or else the one "
        "in the folder of weft, or else the one in PATH.\n\n"
        "With --json: folder, data, topology, servers, links, wire, rate, processes, seconds, "
        "pids; "
        "with --commission also seed, machines (serial, server, coordinate) and findings.",
    .options = up_options,
    .examples = "  weft up\n"
                "  weft up torus:4x4 --dir /tmp/small --wire udp\n"
                "  weft up novacube:4x4 --rate 1Gbps --processes 2\n"
                "  weft up torus:3x3 --service store\n"
                "  weft up torus:3x3 --service ./counter.so --set counter.fresh=1s\n"
                "  weft up torus:3x3x3 --commission --wiring exchanged.json",
    .run = up_run,
};
