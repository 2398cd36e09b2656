/* weftd: runs nodes of a cluster on this machine, as described by its run directory.
 *
 *   weftd --dir D --node ID[,ID...] [--service FILE.so]... [--set S.NAME=VALUE]...
 *         [--config FILE] [--pin CPU] [--data DIR]
 *   weftd --dir D --serial S ...
 *
 * With --serial it does not know which server of the plan it is: D/wiring.json says which cables
 * are in its ports. It finds its place together with the other machines and saves it in
 * D/serial-S.place.
 *
 * It stays in the foreground and prints a line for each event; `weft up` redirects the output to
 * D/node-ID.log and detaches it. SIGTERM and SIGINT end it, and its neighbours notice at once. The
 * removal of D ends it, too, because then no command could find or end it any more. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "base/nearest.h"
#include "base/text.h"
#include "node/commission/placement.h"
#include "node/plan.h"
#include "os/cable/cable.h"
#include "os/cluster/cluster_file.h"
#include "os/cluster/configuration_file.h"
#include "os/cluster/serial_file.h"
#include "os/crash.h"
#include "os/host/host.h"
#include "os/machine_memory.h"
#include "os/plugin.h"
#include "os/realtime.h"
#include "os/shared_memory.h"
#include "services/services.h"
#include "topology/format/format.h"
#include "transport/wake/thread.h"

#define FOLDER_MAX  CLUSTER_PATH_SIZE
#define FOLDER_NSEC NSEC_PER_SEC    /* between two checks that the folder still exists */
#define TURN_NSEC   (1000 * 1000LL) /* about the time slice of other processes */

static const char usage[] =
    "usage: weftd --dir D --node ID[,ID...] [--service FILE.so]... [--set S.NAME=VALUE]...\n"
    "             [--config FILE] [--pin CPU] [--data DIR]\n"
    "       weftd --dir D --serial S ...\n"
    "\n"
    "Runs servers of the cluster in the run directory D, which `weft up` makes. Servers in one\n"
    "process are connected by links within the process. With --serial it runs the machine with\n"
    "that serial number in D/wiring.json; the machine finds out by its cables which server it\n"
    "is, and keeps that place permanently. --service loads a service from a shared object\n"
    "(docs/guide/service.md), or runs an optional one of weft by its name, such as store. --set\n"
    "sets a parameter of a service, --config those that a file lists (man weft-config); --set\n"
    "replaces --config, and both replace D/cluster.json. --pin binds the process to one\n"
    "processor; --data names the data directory, in which services keep\n"
    "files, in place of the one in D/cluster.json. It stays in the foreground; SIGTERM ends it.\n"
    "\n"
    "With WEFT_DISK=threads in its environment it does not use io_uring.\n";

struct daemon {
    const char *folder;
    const char *data;  /* as given; NULL: as in the cluster's file */
    const char *nodes; /* as given; NULL: it is a machine with a serial number */
    struct host_machine machine;
    bool refused;   /* it cannot have a place; reported */
    bool deserted;  /* its folder is gone; reported */
    long processor; /* -1: any */
    struct cluster_file cluster;
    struct topology topology;
    struct plan plan;
    bool has_cluster, has_topology, has_plan;
    char links[FOLDER_MAX];
    node_id *servers;
    uint64_t *lives;
    int *locks;
    uint32_t server_count, lock_count;
    struct plugins plugins;
    const struct weft_service *more[NODE_SERVICES_MAX]; /* besides services_all */
    unsigned more_count;
    const struct weft_service *services[NODE_SERVICES_MAX + 1];
    const char *config;            /* a configuration file, or NULL */
    struct configuration sets;     /* of the command line */
    struct configuration settings; /* all: of the cluster, of the file, of the command line */
    struct host *host;
};

static volatile sig_atomic_t stopping; /* written by the handler, read by the loop; one thread */
static struct host *stopping_host;     /* set before the handler is installed, then constant */

static void on_signal(int number)
{
    stopping = 1;
    host_wake(stopping_host);
}

/* Signals are blocked while the daemon starts: it ends as soon as it can do so cleanly. */
static void signals_mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(how, &set, NULL);
}

/* ---- the log ---- */

static void daemon_log(const char *text)
{
    nsec now = clock_wall();
    time_t seconds = now / NSEC_PER_SEC;
    struct tm parts;
    char date[32];
    gmtime_r(&seconds, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    fprintf(stderr, "%s.%03dZ %s\n", date, (int)(now % NSEC_PER_SEC / 1000000), text);
}

static void on_said(void *owner, node_id server, const char *text)
{
    const struct daemon *daemon = owner;
    char line[400];
    if (server == NODE_NONE)
        snprintf(line, sizeof line, "serial %u: %s", daemon->machine.serial, text);
    else
        snprintf(line, sizeof line, "node %u: %s", server, text);
    daemon_log(line);
}

/* ---- options ---- */

static bool number_read(const char *text, uint64_t most, uint64_t *value, const char **end)
{
    char *after;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &after, 10);
    *end = after;
    return !errno && *value <= most;
}

static enum err set_read(struct daemon *daemon, const char *value, struct why *why)
{
    char origin[128];
    snprintf(origin, sizeof origin, "--set %.100s", value);
    return configuration_add(&daemon->sets, origin, value, why);
}

/* An optional service by its name, or a plug-in by its path. */
static enum err service_add(struct daemon *daemon, const char *word, struct why *why)
{
    const struct weft_service *service = services_optional_find(word);
    if (services_count + daemon->more_count == NODE_SERVICES_MAX)
        return why_fail(why, ERR_USAGE, "too many services: a server runs at most %d",
                        NODE_SERVICES_MAX);
    if (!service) {
        enum err err = plugins_add(&daemon->plugins, word, why);
        if (err)
            return err;
        service = daemon->plugins.services[daemon->plugins.count - 1];
    }
    daemon->more[daemon->more_count++] = service;
    return OK;
}

static enum err word_read(struct daemon *daemon, const char *word, const char *value,
                          struct why *why)
{
    const char *end;
    uint64_t number;
    static const char *const names[] = {"--config", "--data",    "--dir", "--node", "--pin",
                                        "--serial", "--service", "--set", NULL};
    struct nearest nearest = nearest_make(word, strlen(word));
    nearest_try_all(&nearest, names);
    if (!nearest.best || strcmp(nearest.best, word) != 0)
        return why_fail(why, ERR_USAGE, "%s: no such option%s; see weftd --help", word,
                        nearest_hint(&nearest));
    if (!value)
        return why_fail(why, ERR_USAGE, "%s: a value is missing; see weftd --help", word);
    if (!strcmp(word, "--dir"))
        daemon->folder = value;
    else if (!strcmp(word, "--data"))
        daemon->data = value;
    else if (!strcmp(word, "--node"))
        daemon->nodes = value;
    else if (!strcmp(word, "--serial")) {
        if (!number_read(value, SERIAL_MAX, &number, &end) || *end || !number)
            return why_fail(why, ERR_USAGE, "--serial %s: not a number from 1 to %u", value,
                            SERIAL_MAX);
        daemon->machine.serial = (uint32_t)number;
    } else if (!strcmp(word, "--service"))
        return service_add(daemon, value, why);
    else if (!strcmp(word, "--config"))
        daemon->config = value;
    else if (!strcmp(word, "--set"))
        return set_read(daemon, value, why);
    else if (!number_read(value, CPU_SETSIZE - 1, &number, &end) || *end)
        return why_fail(why, ERR_USAGE, "--pin %s: not the number of a processor", value);
    else
        daemon->processor = (long)number;
    return OK;
}

static enum err words_read(struct daemon *daemon, int count, char **words, struct why *why)
{
    for (int i = 0; i < count; i += 2) {
        enum err err = word_read(daemon, words[i], i + 1 < count ? words[i + 1] : NULL, why);
        if (err)
            return err;
    }
    if (!daemon->folder || !daemon->nodes == !daemon->machine.serial)
        return why_fail(why, ERR_USAGE,
                        "--dir and one of --node and --serial are needed; see weftd --help");
    return OK;
}

static enum err servers_make(struct daemon *daemon, uint32_t most, struct why *why)
{
    daemon->servers = array_new(most, sizeof *daemon->servers);
    daemon->lives = array_new(most, sizeof *daemon->lives);
    daemon->locks = array_new(most, sizeof *daemon->locks);
    return daemon->servers && daemon->lives && daemon->locks ? OK : why_memory(why);
}

static enum err servers_read(struct daemon *daemon, struct why *why)
{
    uint32_t most = 1;
    for (const char *at = daemon->nodes; *at; at++)
        most += *at == ',';
    enum err err = servers_make(daemon, most, why);
    if (err)
        return err;
    const char *at = daemon->nodes;
    for (;;) {
        uint64_t id;
        if (!number_read(at, UINT32_MAX, &id, &at) || (*at && *at != ','))
            return why_fail(why, ERR_USAGE, "--node %s: not a list of servers such as 3 or 0,1,2",
                            daemon->nodes);
        if (id >= daemon->plan.server_count)
            return why_fail(why, ERR_USAGE, "--node %s: the cluster has the servers 0 to %u",
                            daemon->nodes, daemon->plan.server_count - 1);
        daemon->servers[daemon->server_count++] = (node_id)id;
        if (!*at++)
            return OK;
    }
}

/* Reads its cables, and its place if it has one. */
static enum err machine_read(struct daemon *daemon, struct why *why)
{
    enum err err = servers_make(daemon, 1, why);
    if (!err)
        err = serial_cables_read(&daemon->machine, daemon->folder, why);
    if (!err)
        err = serial_place_read(&daemon->servers[0], daemon->folder, daemon->machine.serial,
                                daemon->plan.server_count, why);
    daemon->server_count = 1;
    return err;
}

/* ---- the run directory ---- */

static enum err daemon_load(struct daemon *daemon, struct why *why)
{
    enum err err = cluster_folder_check(daemon->folder, why);
    if (err)
        return err;
    err = cluster_file_read(&daemon->cluster, daemon->folder, why);
    if (err)
        return err;
    daemon->has_cluster = true;
    err = serial_topology_read(&daemon->topology, daemon->folder, CLUSTER_TOPOLOGY_NAME, why);
    if (err)
        return err;
    daemon->has_topology = true;
    err = plan_init(&daemon->plan, &daemon->topology, why);
    if (err)
        return err;
    daemon->has_plan = true;
    snprintf(daemon->links, sizeof daemon->links, "%s/%s", daemon->folder, CLUSTER_LINKS_FOLDER);
    if (mkdir(daemon->links, 0700) && errno != EEXIST)
        return why_fail(why, ERR_SYSTEM, "%s: %s", daemon->links, strerror(errno));
    return daemon->nodes ? servers_read(daemon, why) : machine_read(daemon, why);
}

static enum err daemon_lock(struct daemon *daemon, struct why *why)
{
    assert(daemon->servers && daemon->lives && daemon->locks);
    for (uint32_t i = 0; i < daemon->server_count; i++) {
        node_id server = daemon->servers[i];
        if (server == NODE_NONE)
            continue; /* locked once the place is found */
        int lock = cluster_lock_take(daemon->folder, server, &daemon->lives[i]);
        if (lock == -EBUSY)
            return why_fail(why, ERR_SYSTEM,
                            "node %u: runs already, in process %d; end that process first", server,
                            (int)cluster_lock_holder(daemon->folder, server));
        if (lock < 0)
            return why_fail(why, ERR_SYSTEM, "node %u: cannot lock %s/node-%u.lock: %s", server,
                            daemon->folder, server, strerror(-lock));
        daemon->locks[daemon->lock_count++] = lock;
    }
    return OK;
}

/* ---- the place of a machine ---- */

/* Takes the place permanently, the first time. */
static enum err place_take(struct daemon *daemon, node_id vertex, struct why *why)
{
    if (vertex >= daemon->plan.server_count)
        return why_fail(why, ERR_INPUT, "serial %u: all %u places of the plan are taken",
                        daemon->machine.serial, daemon->plan.server_count);
    daemon->servers[0] = vertex;
    enum err err = daemon_lock(daemon, why);
    if (!err)
        err = serial_place_write(daemon->folder, daemon->machine.serial, vertex, why);
    return err;
}

/* It has no place, or its node cannot be opened: the loop ends. */
static void on_failed(void *owner, const char *why)
{
    struct daemon *daemon = owner;
    fprintf(stderr, "weftd: %s\n", why);
    daemon->refused = true;
    stopping = 1;
}

static bool on_placed(void *owner, node_id vertex, const struct placement *placement,
                      uint64_t *life)
{
    struct daemon *daemon = owner;
    struct why why = {0};
    char line[120];
    bool first = daemon->servers[0] == NODE_NONE;
    /* Two parts that are not connected must not both start to number the servers. */
    if (first && 2 * (uint64_t)placement->count <= daemon->plan.server_count) {
        snprintf(line, sizeof line, "is connected to %u of %u servers; waits for more than half",
                 placement->count, daemon->plan.server_count);
        on_said(daemon, NODE_NONE, line);
        return false;
    }
    for (uint32_t i = 0; i < placement->finding_count; i++)
        daemon_log(placement->findings[i].line);
    if (serial_findings_write(daemon->folder, daemon->machine.serial, placement, &why))
        on_said(daemon, daemon->servers[0], why.text); /* the findings are also in the log */
    if (first && place_take(daemon, vertex, &why)) {
        on_failed(daemon, why.text);
        return false;
    }
    snprintf(line, sizeof line, "serial %u: is server %u; %u findings about cables",
             daemon->machine.serial, daemon->servers[0], placement->finding_count);
    daemon_log(line);
    *life = daemon->lives[0];
    return true;
}

/* ---- start and end ---- */

/* A machine without a place has no lock yet. */
static bool folder_stands(const struct daemon *daemon)
{
    char path[FOLDER_MAX + sizeof CLUSTER_FILE_NAME];
    if (daemon->lock_count)
        return cluster_lock_stands(daemon->locks[0], daemon->folder, daemon->servers[0]);
    snprintf(path, sizeof path, "%s/%s", daemon->folder, CLUSTER_FILE_NAME);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

static enum err daemon_pin(const struct daemon *daemon, struct why *why)
{
    cpu_set_t set;
    if (daemon->processor < 0)
        return OK;
    CPU_ZERO(&set);
    CPU_SET((size_t)daemon->processor, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        return why_fail(why, ERR_SYSTEM, "--pin %ld: %s", daemon->processor, strerror(errno));
    return OK;
}

/* Does the scheduler treat each session as a group? `weft up` starts each process in its own
 * session. */
static bool groups_are_on(void)
{
    FILE *file = fopen("/proc/sys/kernel/sched_autogroup_enabled", "re");
    bool on = file && fgetc(file) == '1';
    if (file)
        fclose(file);
    return on;
}

/* Collects the values of parameters; a later one replaces an earlier one. */
static enum err daemon_settings(struct daemon *daemon, struct why *why)
{
    enum err err = configuration_append(&daemon->settings, &daemon->cluster.settings, why);
    if (!err && daemon->config)
        err = configuration_file_read(&daemon->settings, daemon->config, why);
    if (!err)
        err = configuration_append(&daemon->settings, &daemon->sets, why);
    return err ? err : configuration_check(&daemon->settings, daemon->services, why);
}

static enum err daemon_services(struct daemon *daemon, struct why *why)
{
    for (uint32_t i = 0; i < daemon->cluster.service_count; i++) {
        const char *word = daemon->cluster.services[i];
        if (*word != '/' && !services_optional_find(word))
            return why_fail(why, ERR_USAGE, "%s: this version of weft has no such service", word);
        enum err err = service_add(daemon, word, why);
        if (err)
            return err;
    }
    memcpy(daemon->services, services_all, services_count * sizeof(struct weft_service *));
    memcpy(&daemon->services[services_count], daemon->more,
           daemon->more_count * sizeof(struct weft_service *));
    return daemon_settings(daemon, why);
}

/* If shared memory is missing, the most likely cause, replaces the host's reason, which names only
 * the refused call, by one with advice. */
static enum err failure_explain(enum err err, struct why *why)
{
    struct why cause = {0};
    enum err found = shared_memory_check(SHARED_MEMORY_PAGE, &cause);
    if (!found)
        return err;
    *why = cause;
    return found;
}

/* Where services have their files. */
static enum err data_choose(const struct daemon *daemon, struct host_data *data, struct why *why)
{
    const char *way = getenv("WEFT_DISK");
    data->folder = daemon->data ? daemon->data : daemon->cluster.data;
    data->cluster = daemon->cluster.data_id;
    data->topology = daemon->cluster.topology;
    data->threads = way && !strcmp(way, "threads");
    if (way && *way && !data->threads)
        return why_fail(why, ERR_USAGE, "WEFT_DISK=%s: expected threads, or nothing", way);
    if (data->folder && !*data->folder)
        return why_fail(why, ERR_USAGE, "--data: expected the name of a folder");
    return OK;
}

/* Each program that attaches needs a descriptor. The usual limit, 1,024, is for programs that use
 * select(), which this one does not. */
static void descriptors_allow(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* on failure the limit stays as it was */
}

static enum err daemon_open(struct daemon *daemon, int count, char **words, struct why *why)
{
    enum err err = words_read(daemon, count, words, why);
    if (!err)
        err = daemon_pin(daemon, why);
    if (!err)
        err = daemon_load(daemon, why);
    if (!err)
        err = daemon_services(daemon, why);
    if (!err)
        err = daemon_lock(daemon, why);
    struct host_data data = {0};
    if (!err)
        err = data_choose(daemon, &data, why);
    if (!err && daemon->cluster.realtime)
        err = realtime_begin(why);
    if (err)
        return err;
    descriptors_allow();
    daemon->machine.placed = on_placed;
    daemon->machine.failed = on_failed;
    bool crowded = daemon->cluster.process_count > sysconf(_SC_NPROCESSORS_ONLN);
    const struct host_config config = {
        .plan = &daemon->plan,
        .servers = daemon->servers,
        .lives = daemon->lives,
        .server_count = daemon->server_count,
        .machine = daemon->nodes ? NULL : &daemon->machine,
        .clients_max = daemon->cluster.programs,
        .folder = daemon->folder,
        .links = daemon->links,
        .transport = cables_transport(cluster_transport_words[daemon->cluster.transport]),
        .address = "127.0.0.1",
        .rate_bps = daemon->cluster.rate,
        .hello_nsec = daemon->cluster.hello_ms * 1000000LL,
        .silence_nsec = daemon->cluster.silence_ms * 1000000LL,
        .services = daemon->services,
        .data = data,
        .configuration = &daemon->settings,
        .machine_memory = machine_memory(),
        .watchdog = true,
        .spin = crowded ? -1 : 0, /* spinning starves the peer that we wait for */
        .yield_is_partial = crowded && (daemon->cluster.realtime || groups_are_on()),
        .turn = daemon->cluster.realtime ? TURN_NSEC : 0, /* real-time slices are much longer */
        .said = on_said,
        .owner = daemon,
    };
    err = host_open(&daemon->host, &config, why);
    return err ? failure_explain(err, why) : OK;
}

static void daemon_run(struct daemon *daemon)
{
    struct sigaction action = {.sa_handler = on_signal};
    char line[160];
    stopping_host = daemon->host;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signals_mask(SIG_UNBLOCK);
    for (uint32_t i = 0; i < daemon->server_count; i++) {
        if (daemon->servers[i] == NODE_NONE) {
            on_said(daemon, NODE_NONE, "looks for its place");
            continue;
        }
        snprintf(line, sizeof line, "node %u: process %d, incarnation %" PRIu64 ", links over %s",
                 daemon->servers[i], (int)getpid(), daemon->lives[i],
                 cluster_transport_words[daemon->cluster.transport]);
        daemon_log(line);
    }
    thread_switch_lightly();
    while (!stopping && !daemon->deserted) {
        host_run(daemon->host, &stopping, clock_after(FOLDER_NSEC));
        daemon->deserted = !stopping && !folder_stands(daemon);
    }
    if (daemon->deserted)
        daemon_log("the run directory was removed, or now belongs to another cluster; ending");
    else if (!daemon->refused)
        daemon_log("ended by a signal");
    action.sa_handler = SIG_IGN;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* Does not release the locks: the end of the process does, so a process that finds a lock free
 * knows that we have ended. */
static void daemon_close(struct daemon *daemon)
{
    host_close(daemon->host);
    plugins_fini(&daemon->plugins);
    configuration_fini(&daemon->sets);
    configuration_fini(&daemon->settings);
    if (daemon->has_plan)
        plan_fini(&daemon->plan);
    if (daemon->has_topology)
        topology_fini(&daemon->topology);
    if (daemon->has_cluster)
        cluster_file_fini(&daemon->cluster);
    free(daemon->servers);
    free(daemon->lives);
    free(daemon->locks);
}

int main(int argc, char **argv)
{
    static struct daemon daemon = {.processor = -1};
    struct why why = {0};
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        puts("weftd " WEFT_VERSION);
        return 0;
    }
    crash_begin();
    signal(SIGPIPE, SIG_IGN);
    signals_mask(SIG_BLOCK);
    enum err err = daemon_open(&daemon, argc - 1, argv + 1, &why);
    if (!err)
        daemon_run(&daemon);
    daemon_close(&daemon);
    if (err)
        fprintf(stderr, "weftd: %s\n", why.text[0] ? why.text : err_text(err));
    if (daemon.refused || daemon.deserted)
        return 1;
    return err == OK ? 0 : err == ERR_USAGE || err == ERR_INPUT ? 2 : 1;
}
