#include "fabric_pair.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* libfabric's net provider leaks a description of each connection. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\n";
}

#define PATIENCE (150 * NSEC_PER_SEC) /* enough for an emulated machine under load */

enum { CONTROL_OFFER = 1, CONTROL_ANSWER = 2 };

static char folder[DOMAIN_PATH_MAX];
static pair_role *const *role_table;

const char *pair_provider(void)
{
    const char *provider = getenv("WEFT_TEST_PROVIDER");
    return provider && *provider ? provider : "tcp";
}

void pair_folder_make(void)
{
    strcpy(folder, "/tmp/weft-fabric-XXXXXX");
    MUST(mkdtemp(folder));
}

void pair_folder_remove(void)
{
    DIR *entries = opendir(folder);
    MUST(entries);
    struct dirent *entry;
    while ((entry = readdir(entries)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    MUST(rmdir(folder) == 0);
}

void pair_init(int count, char **words, pair_role *const *roles)
{
    role_table = roles;
    if (count != 5)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(120);
    strcpy(folder, words[1]);
    exit(roles[atoi(words[2])](atoi(words[3]), atoi(words[4])));
}

pid_t pair_start(pair_role *role, int argument, int *channel)
{
    int ends[2], index = 0;
    char words[3][16];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    while (role_table[index] != role)
        MUST(role_table[index++]);
    snprintf(words[0], sizeof words[0], "%d", index);
    snprintf(words[2], sizeof words[2], "%d", argument);
    fflush(NULL);
    pid_t peer = fork();
    MUST(peer >= 0);
    if (peer == 0) {
        int kept = dup(ends[1]); /* survives the exec */
        snprintf(words[1], sizeof words[1], "%d", kept);
        execl("/proc/self/exe", "pair", folder, words[0], words[1], words[2], (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *channel = ends[0];
    return peer;
}

int pair_wait(pid_t peer)
{
    int status = 0;
    if (waitpid(peer, &status, 0) != peer)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void channel_send(int channel, const void *data, size_t size)
{
    MUST(send(channel, data, size, MSG_NOSIGNAL) == (ssize_t)size || errno == EPIPE);
}

bool channel_receive(int channel, void *data, size_t size)
{
    return recv(channel, data, size, 0) == (ssize_t)size;
}

/* ---- events of the lifeline, handled here instead of in ripc ---- */

static void parcel_send(struct fabric_side *side, uint16_t kind, const struct parcel *parcel)
{
    struct control control = {.kind = kind, .size = parcel->size};
    memcpy(control.body, parcel->bytes, parcel->size);
    MUST(lifeline_send(side->line, &control) == 0);
}

static void line_up(void *owner, struct lifeline *line, const struct context_address *peer,
                    const uint8_t *card, size_t card_size)
{
    struct fabric_side *side = owner;
    MUST(!side->link);
    side->line = line;
    side->down = false;
    MUST(side->ops->link_open(side->transport, line, peer, card, card_size, &side->link) == 0);
    doorbell_ring(&side->bell);
}

static void line_control(void *owner, struct lifeline *line, struct control *control)
{
    struct fabric_side *side = owner;
    struct parcel parcel = {.size = control->size}, answer = {0};
    memcpy(parcel.bytes, control->body, control->size);
    if (control->kind == CONTROL_OFFER) {
        MUST(side->ops->pipes->inlet_open(side->link, &side->bell, &parcel, &answer,
                                          &side->inlet) == 0);
        parcel_send(side, CONTROL_ANSWER, &answer);
    } else {
        MUST(side->ops->pipes->outlet_answer(side->outlet, &parcel) == 0);
        side->answered = true;
    }
    doorbell_ring(&side->bell);
}

static void line_down(void *owner, struct lifeline *line, int reason)
{
    struct fabric_side *side = owner;
    side->down = true;
    side->line = NULL;
    if (side->link)
        side->ops->link_lost(side->link);
    doorbell_ring(&side->bell);
}

static const struct lifeline_events events = {line_up, line_control, line_down};

static void *keep(void *argument)
{
    struct fabric_side *side = argument;
    while (!atomic_load_explicit(&side->stopping, memory_order_acquire))
        poller_step(side->poller, clock_after(NSEC_PER_SEC));
    return NULL;
}

void side_open(struct fabric_side *side)
{
    memset(side, 0, sizeof *side);
    side->channel = -1;
    side->ops = &transport_fabric;
    MUST(poller_open(&side->poller, &side->lock) == 0);
    MUST(doorbell_open(&side->bell) == 0);
    struct transport_config config = {
        .poller = side->poller,
        .provider = pair_provider(),
        .address = getenv("WEFT_TEST_ADDRESS"),
    };
    struct why why = {""};
    lock_take(&side->lock);
    int result = side->ops->open(&side->transport, &config, &why);
    if (result) {
        fprintf(stderr, "# %s\n", why.text);
        exit(result == -ENODEV ? PAIR_SKIP : 1);
    }
    int size = side->ops->describe(side->transport, side->card, sizeof side->card);
    MUST(size > 0);
    struct lifelines_config line_config = {
        .poller = side->poller,
        .folder = folder,
        .context = entropy_u64(),
        .card = side->card,
        .card_size = (size_t)size,
        .events = &events,
        .owner = side,
    };
    MUST(lifelines_open(&side->lines, &line_config, &side->address, &why) == 0);
    MUST(thread_start(&side->keeper, "keeper", keep, side) == 0);
    lock_drop(&side->lock);
}

void side_link(struct fabric_side *side, int channel, bool calls)
{
    struct context_address peer;
    side->channel = channel;
    channel_send(channel, &side->address, sizeof side->address);
    MUST(channel_receive(channel, &peer, sizeof peer));
    lock_take(&side->lock);
    struct lifeline *line;
    if (calls)
        MUST(lifeline_connect(side->lines, &peer, &line) == 0);
    nsec since = clock_now();
    while (!side->link) {
        MUST(clock_now() - since < PATIENCE);
        side_pause(side, false);
    }
    lock_drop(&side->lock);
}

void side_unlink(struct fabric_side *side)
{
    lock_take(&side->lock);
    if (side->outlet)
        side->ops->pipes->outlet_close(side->outlet);
    if (side->inlet)
        side->ops->pipes->inlet_close(side->inlet);
    if (side->link)
        side->ops->link_close(side->link);
    side->outlet = NULL;
    side->inlet = NULL;
    side->link = NULL;
    side->answered = false;
    if (side->line)
        lifeline_cut(side->line, -EPIPE);
    while (side->line)
        side_pause(side, false);
    lock_drop(&side->lock);
    close(side->channel);
    side->channel = -1;
}

void side_close(struct fabric_side *side)
{
    if (side->link)
        side_unlink(side);
    atomic_store_explicit(&side->stopping, true, memory_order_release);
    poller_wake(side->poller);
    thread_join(&side->keeper);
    lock_take(&side->lock);
    lifelines_close(side->lines);
    side->ops->close(side->transport);
    lock_drop(&side->lock);
    doorbell_close(&side->bell);
    poller_close(side->poller);
}

void side_open_outlet(struct fabric_side *side)
{
    struct parcel offer = {0};
    lock_take(&side->lock);
    MUST(side->ops->pipes->outlet_open(side->link, &side->bell, &offer, &side->outlet) == 0);
    parcel_send(side, CONTROL_OFFER, &offer);
    lock_drop(&side->lock);
}

void side_await_inlet(struct fabric_side *side)
{
    lock_take(&side->lock);
    while (!side->inlet)
        MUST(side_pause(side, false));
    lock_drop(&side->lock);
}

/* ---- waiting ---- */

bool side_pause(struct fabric_side *side, bool spin)
{
    if (spin) {
        bool idle = side->ops->progress(side->transport) == 0;
        lock_drop(&side->lock); /* the keeper needs it, too */
        if (idle && side->turns++ % 16 == 0)
            sched_yield(); /* the other side may need our processor */
        lock_take(&side->lock);
        return !side->down;
    }
    doorbell_prepare(&side->bell, DOORBELL_FUTEX);
    if (side->ops->arm(side->transport) > 0) {
        doorbell_cancel(&side->bell);
        return !side->down;
    }
    lock_drop(&side->lock);
    doorbell_wait(&side->bell, clock_after(DOORBELL_NAP_NSEC));
    lock_take(&side->lock);
    return !side->down;
}

int side_push(struct fabric_side *side, const struct frame_head *head, const struct iovec *pieces,
              unsigned piece_count, bool spin)
{
    int result;
    lock_take(&side->lock);
    while ((result = side->ops->pipes->push(side->outlet, head, pieces, piece_count)) == -EAGAIN)
        if (!side_pause(side, spin)) {
            result = -EPIPE;
            break;
        }
    lock_drop(&side->lock);
    return result;
}

int side_pull(struct fabric_side *side, struct frame *frame, bool spin)
{
    lock_take(&side->lock);
    bool up = true;
    int count;
    while ((count = side->ops->pipes->pull(side->inlet, frame, 1)) == 0 && up)
        up = side_pause(side, spin);
    lock_drop(&side->lock);
    return count > 0 ? 0 : -EPIPE;
}

void side_release(struct fabric_side *side, const struct frame *frame)
{
    lock_take(&side->lock);
    side->ops->pipes->release(side->inlet, frame);
    lock_drop(&side->lock);
}

int side_acknowledge(struct fabric_side *side, uint64_t token, int64_t status)
{
    lock_take(&side->lock);
    int result = side->ops->pipes->acknowledge(side->inlet, token, status);
    lock_drop(&side->lock);
    return result;
}

int side_collect(struct fabric_side *side, struct acknowledgement *ack, bool spin)
{
    lock_take(&side->lock);
    bool up = true;
    int count;
    while ((count = side->ops->pipes->collect(side->outlet, ack, 1)) == 0 && up)
        up = side_pause(side, spin);
    lock_drop(&side->lock);
    return count > 0 ? 0 : -EPIPE;
}

/* ---- memory ---- */

struct region *side_region(struct fabric_side *side, void *base, size_t size)
{
    struct region *region;
    lock_take(&side->lock);
    MUST(side->ops->memory->region_open(side->transport, base, size, NULL, &region) == 0);
    lock_drop(&side->lock);
    return region;
}

void side_region_close(struct fabric_side *side, struct region *region)
{
    lock_take(&side->lock);
    side->ops->memory->region_close(region);
    lock_drop(&side->lock);
}

int side_share(struct fabric_side *side, struct region *region, void *base, size_t size,
               uint32_t rights, struct remote_memory *out)
{
    lock_take(&side->lock);
    int result = side->ops->memory->share(side->link, region, base, size, rights, out);
    lock_drop(&side->lock);
    return result;
}

static void move_done(struct transfer *transfer, int status)
{
    struct move *move = (struct move *)transfer;
    move->done_count++;
    move->status = status;
    doorbell_ring(&move->side->bell);
}

int side_move_start(struct fabric_side *side, struct move *move, bool writes,
                    const struct remote_memory *remote, uint64_t offset, void *local, size_t size,
                    struct region *region)
{
    *move = (struct move){.transfer.done = move_done, .side = side};
    lock_take(&side->lock);
    int result = writes ? side->ops->memory->write(side->link, remote, offset, local, size, region,
                                                   &move->transfer)
                        : side->ops->memory->read(side->link, remote, offset, local, size, region,
                                                  &move->transfer);
    lock_drop(&side->lock);
    return result;
}

int side_move_wait(struct fabric_side *side, struct move *move, bool spin)
{
    nsec since = clock_now();
    lock_take(&side->lock);
    while (!move->done_count) {
        side_pause(side, spin);
        MUST(clock_now() - since < PATIENCE);
    }
    MUST(move->done_count == 1);
    lock_drop(&side->lock);
    return move->status;
}

int side_move(struct fabric_side *side, bool writes, const struct remote_memory *remote,
              uint64_t offset, void *local, size_t size, struct region *region, bool spin)
{
    struct move move;
    int result = side_move_start(side, &move, writes, remote, offset, local, size, region);
    return result ? (result < 0 ? result : 0) : side_move_wait(side, &move, spin);
}
