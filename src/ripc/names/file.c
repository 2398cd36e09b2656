/* file: names that the operator wrote into a file. Every question checks whether the file has
 * changed and reads it again if so. A file that has become unreadable or invalid changes nothing:
 * its previous content remains valid, and the error is counted.
 *
 * The addresses of the file are *contacts*: a question for an id that the file lists connects to
 * its address, and a question for any other id connects to all contacts. The processes there then
 * tell which ids they have (exchange.c). An id that is not in the file is unclaimed when all
 * contacts have told their claims or cannot be reached. Addresses of ids that the program wants are
 * tried again every AGAIN_NSEC. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "ripc/names/names_file.h"
#include "ripc/names/names_impl.h"
#include "transport/fork/descriptor.h"

#define CONTACTS_MAX 256 /* further addresses are only used for their own ids */
#define AGAIN_NSEC   NSEC_PER_SEC
#define KNOWN_MAX    64 /* claims of one id that are checked when the file has changed */

/* An address of the file. */
struct contact {
    struct context_address address;
    bool dialling;
    nsec tried;  /* when we last tried to connect */
    bool failed; /* that attempt did */
};

struct file {
    struct name_service service;
    struct names *names;
    struct poller *poller;
    struct poller_timer timer; /* always set */
    struct contact *contacts;  /* owned; no two have the same address */
    size_t contact_count;
    size_t contact_capacity;
    bool waits; /* a question for an id that is not in the file is not answered yet */
    char *path;
    struct names_file table;
    struct stat seen; /* of the file from which the table was read */
    bool settled;     /* the file was then old enough that every later change has another time
                       * stamp */
};

/* Time stamps of files have a resolution of a few milliseconds: two changes may have the same
 * one. */
#define SETTLED_NSEC NSEC_PER_SEC

static struct file *file_of(struct name_service *service)
{
    return container_of(service, struct file, service);
}

static bool stamp_equal(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

static bool file_has_changed(const struct file *file)
{
    struct stat now;
    if (stat(file->path, &now))
        return false;
    return !file->settled || now.st_ino != file->seen.st_ino || now.st_dev != file->seen.st_dev ||
           now.st_size != file->seen.st_size || !stamp_equal(&now.st_mtim, &file->seen.st_mtim) ||
           !stamp_equal(&now.st_ctim, &file->seen.st_ctim);
}

static int text_load(int fd, char **text, size_t *size)
{
    size_t capacity = 0;
    *text = NULL;
    *size = 0;
    for (;;) {
        if (*size > NAMES_FILE_SIZE_MAX)
            return -EFBIG;
        if (!array_reserve(text, &capacity, *size + 4096, 1))
            return -ENOMEM;
        ssize_t got = read(fd, *text + *size, capacity - *size);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -errno;
        *size += got > 0 ? (size_t)got : 0;
    }
}

/* Reads the file into a new table. */
static int file_load(struct file *file, struct names_file *table, struct why *why)
{
    char *text = NULL;
    size_t size = 0;
    int result = 0;
    /* Read-only and non-blocking, because the path may be a pipe. */
    int fd = DESCRIPTOR_OPEN(open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd < 0 || fstat(fd, &file->seen))
        result = -errno;
    else if (!S_ISREG(file->seen.st_mode))
        result = -EINVAL;
    nsec changed = file->seen.st_mtim.tv_sec * NSEC_PER_SEC + file->seen.st_mtim.tv_nsec;
    file->settled = result == 0 && clock_wall() - changed > SETTLED_NSEC;
    if (result == 0)
        result = text_load(fd, &text, &size);
    if (fd >= 0)
        descriptor_close(fd);
    if (result < 0)
        result = why_fail(why, result, "cannot read %s: %s", file->path,
                          result == -EINVAL ? "not a plain file" : strerror(-result));
    else
        result = names_file_read(table, text, size, file->path, why);
    free(text);
    return result;
}

/* ---- contacts ---- */

static struct contact *contact_at(const struct file *file, const struct context_address *address)
{
    for (size_t i = 0; i < file->contact_count; i++)
        if (context_address_equal(&file->contacts[i].address, address))
            return &file->contacts[i];
    return NULL;
}

/* Makes the contacts of a table that was read, and keeps the state of those that stay. Without
 * memory there are fewer contacts. */
static void contacts_renew(struct file *file)
{
    struct file old = *file;
    file->contacts = NULL;
    file->contact_count = file->contact_capacity = 0;
    for (size_t i = 0; i < file->table.count && file->contact_count < CONTACTS_MAX; i++) {
        const struct context_address *address = &file->table.claims[i].address;
        if (contact_at(file, address))
            continue;
        if (!array_reserve(&file->contacts, &file->contact_capacity, file->contact_count + 1,
                           sizeof *file->contacts))
            break;
        const struct contact *before = contact_at(&old, address);
        file->contacts[file->contact_count++] =
            before ? *before : (struct contact){.address = *address};
    }
    free(old.contacts);
}

/* Connects to the contact, unless it is connected or was tried a short time ago. */
static void contact_dial(struct file *file, struct contact *contact)
{
    nsec now = clock_now();
    if (contact->dialling || (contact->failed && now - contact->tried < AGAIN_NSEC) ||
        exchange_line_at(names_exchange(file->names), &contact->address) != LINE_NONE)
        return;
    contact->tried = now;
    int result = names_contact(file->names, &contact->address);
    contact->dialling = result == NAMES_CONNECTING;
    contact->failed = result < 0 || result == NAMES_SELF; /* our own claims need no telling */
}

/* Has the contact told its claims, or can it not be reached now? */
static bool contact_is_done(const struct file *file, const struct contact *contact)
{
    enum line_state state = exchange_line_at(names_exchange(file->names), &contact->address);
    return state == LINE_TOLD || (state == LINE_NONE && !contact->dialling);
}

static bool contacts_are_done(const struct file *file)
{
    for (size_t i = 0; i < file->contact_count; i++)
        if (!contact_is_done(file, &file->contacts[i]))
            return false;
    return true;
}

static bool file_lists(const struct file *file, uint64_t id)
{
    size_t i = names_file_find(&file->table, id);
    return i < file->table.count && file->table.claims[i].id == id;
}

/* Answers a question for an id that is not in the file, unless contacts are being connected. */
static void file_answer(void *owner, uint64_t id)
{
    struct file *file = owner;
    if (!file_lists(file, id))
        names_told_all(file->names, &file->service, id);
}

static void file_line_changed(struct name_service *service, const struct context_address *failed)
{
    struct file *file = file_of(service);
    for (size_t i = 0; i < file->contact_count; i++) {
        struct contact *contact = &file->contacts[i];
        bool lost = failed && context_address_equal(&contact->address, failed);
        contact->failed = (lost && !names_lack(file->names, contact->tried)) || contact->failed;
        if (lost || exchange_line_at(names_exchange(file->names), &contact->address) != LINE_NONE)
            contact->dialling = false;
    }
    if (!file->waits || !contacts_are_done(file))
        return;
    file->waits = false;
    names_each_wanted(file->names, file_answer, file);
}

/* Connects to the processes that may hold the id. */
static void file_dial(struct file *file, uint64_t id)
{
    if (!file_lists(file, id)) {
        for (size_t i = 0; i < file->contact_count; i++)
            contact_dial(file, &file->contacts[i]);
        file->waits = true;
        names_told_part(file->names, &file->service, id); /* the file may have new addresses */
        file_line_changed(&file->service, NULL);
        return;
    }
    for (size_t i = names_file_find(&file->table, id);
         i < file->table.count && file->table.claims[i].id == id; i++) {
        struct contact *contact = contact_at(file, &file->table.claims[i].address);
        if (contact)
            contact_dial(file, contact);
    }
    names_told_all(file->names, &file->service, id);
}

static void file_dial_listed(void *owner, uint64_t id)
{
    struct file *file = owner;
    if (file_lists(file, id))
        file_dial(file, id);
}

/* Tries again to reach the holders of listed ids, and looks whether a contact hangs. */
static void file_late(void *owner)
{
    struct file *file = owner;
    int result = poller_set(file->poller, &file->timer, clock_after(AGAIN_NSEC));
    assert(result == 0); /* the slot that the timer had is still free */
    names_each_wanted(file->names, file_dial_listed, file);
    file_line_changed(&file->service, NULL);
}

/* ---- the table ---- */

static bool table_has(const struct names_file *table, const struct claim *claim)
{
    for (size_t i = names_file_find(table, claim->id);
         i < table->count && table->claims[i].id == claim->id; i++)
        if (table->claims[i].member == claim->member)
            return true;
    return false;
}

/* The file decides where its ids are: a process elsewhere cannot take one over. */
static bool file_denies(struct name_service *service, const struct claim *claim)
{
    const struct file *file = file_of(service);
    for (size_t i = names_file_find(&file->table, claim->id);
         i < file->table.count && file->table.claims[i].id == claim->id; i++)
        if (file->table.claims[i].member == claim->member)
            return !context_address_equal(&file->table.claims[i].address, &claim->address);
    return false;
}

/* Reports the lines of one id. The program may ask for more ids meanwhile, which may read the file
 * again: so each line is looked up anew. */
static void file_tell(struct file *file, uint64_t id)
{
    uint64_t member = 0;
    for (;;) {
        size_t i = names_file_find(&file->table, id);
        while (i < file->table.count && file->table.claims[i].id == id &&
               file->table.claims[i].member <= member)
            i++;
        if (i == file->table.count || file->table.claims[i].id != id)
            return;
        struct claim claim = file->table.claims[i];
        member = claim.member;
        /* A failure means that memory is short; the next question repeats this. */
        (void)names_learn(file->names, &file->service, &claim, NSEC_NEVER, false);
    }
}

/* Also forgets holders that told us about themselves, if the file now says that the id is
 * elsewhere. */
static void file_tell_wanted(void *owner, uint64_t id)
{
    struct file *file = owner;
    struct claim claims[KNOWN_MAX];
    unsigned count = names_known(file->names, id, claims, KNOWN_MAX);
    for (unsigned i = 0; i < count && i < KNOWN_MAX; i++)
        if (claims[i].address.context && file_denies(&file->service, &claims[i]))
            names_lost(file->names, names_exchange(file->names), id, claims[i].member, 0);
    file_tell(file, id);
}

/* Replaces the table, and reports claims that disappeared or moved. */
static void file_refresh(struct file *file)
{
    struct names_file old = file->table, new;
    if (!file_has_changed(file))
        return;
    int result = file_load(file, &new, NULL);
    if (result < 0) {
        names_lacks(file->names, result);
        names_counts(file->names)->garbage += !lifeline_lacks(result);
        return;
    }
    file->table = new;
    contacts_renew(file);
    for (size_t i = 0; i < old.count; i++)
        if (!table_has(&file->table, &old.claims[i]))
            names_lost(file->names, &file->service, old.claims[i].id, old.claims[i].member, 0);
    names_file_fini(&old);
    names_each_wanted(file->names, file_tell_wanted, file);
}

static void file_close(struct name_service *service)
{
    struct file *file = file_of(service);
    poller_unset(file->poller, &file->timer);
    names_file_fini(&file->table);
    free(file->contacts);
    free(file->path);
    free(file);
}

static int file_open(struct name_service **service, struct names *names, const char *argument,
                     const struct names_config *config, struct why *why)
{
    if (!argument || !*argument)
        return why_fail(why, -EINVAL, "name service file needs a path: file:PATH");
    struct file *file = array_new(1, sizeof *file);
    if (!file)
        return why_fail(why, -ENOMEM, "not enough memory");
    file->service.ops = &name_service_file;
    file->names = names;
    file->poller = config->poller;
    file->timer = (struct poller_timer){.at = NSEC_NEVER, .fired = file_late, .owner = file};
    file->path = strdup(argument);
    int result = file->path ? file_load(file, &file->table, why)
                            : why_fail(why, -ENOMEM, "not enough memory");
    if (result >= 0 && poller_set(file->poller, &file->timer, clock_after(AGAIN_NSEC)))
        result = why_fail(why, -ENOMEM, "not enough memory");
    if (result < 0) {
        file_close(&file->service);
        return result;
    }
    contacts_renew(file);
    exchange_spread(names_exchange(names));
    *service = &file->service;
    return 0;
}

/* The file belongs to the operator: it tells where ids are, not which process may claim them. */
static int file_announce(struct name_service *service, const struct claim *claim)
{
    return 0;
}

static void file_withdraw(struct name_service *service, const struct claim *claim)
{
}

static void file_ask(struct name_service *service, uint64_t id)
{
    struct file *file = file_of(service);
    file_refresh(file);
    file_tell(file, id);
    file_dial(file, id);
}

static void file_list(struct name_service *service)
{
    struct file *file = file_of(service);
    file_refresh(file);
    uint64_t id = 0;
    for (size_t i; (i = names_file_find(&file->table, id + 1)) < file->table.count;) {
        id = file->table.claims[i].id;
        file_tell(file, id);
        if (id == UINT64_MAX)
            return;
    }
}

static int file_alive(struct name_service *service, const struct claim *claim)
{
    return 0;
}

const struct name_service_ops name_service_file = {
    .word = "file",
    .later = true,
    .answers = true,
    .open = file_open,
    .close = file_close,
    .announce = file_announce,
    .withdraw = file_withdraw,
    .ask = file_ask,
    .list = file_list,
    .alive = file_alive,
    .denies = file_denies,
    .line_changed = file_line_changed,
};
