#include "cli/ripc/ripc_call.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/core/stop.h"

#define NSEC_PER_SEC 1000000000LL
#define TURN_NSEC    (NSEC_PER_SEC / 10) /* a command notices Ctrl-C after at most this time */
#define SECONDS_MAX  1e9
#define DECIMAL_MAX  1000000000 /* smaller ids are printed in decimal */

int64_t ripc_call_turn(int64_t deadline)
{
    int64_t turn = ripc_after(TURN_NSEC);
    return turn < deadline ? turn : deadline;
}

bool ripc_call_quiet(int result)
{
    return result == -ETIMEDOUT || result == -EAGAIN || result == -EINTR;
}

void ripc_call_sleep(int64_t until)
{
    while (!stop_asked() && ripc_now() < until) {
        int64_t turn = ripc_call_turn(until);
        struct timespec time = {turn / NSEC_PER_SEC, turn % NSEC_PER_SEC};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    }
}

enum err ripc_call_seconds(const struct call *call, int64_t *deadline, struct why *why)
{
    double seconds = -1;
    enum err err = call_real(call, "seconds", 0, SECONDS_MAX, &seconds, why);
    if (!err)
        *deadline = seconds < 0 ? RIPC_FOREVER : ripc_after((int64_t)(seconds * 1e9));
    return err;
}

enum err ripc_call_fail(struct why *why, int error, const char *format, ...)
{
    char what[128];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return why_fail(why, error == -ENOMEM ? ERR_MEMORY : ERR_SYSTEM, "%s: %s", what,
                    ripc_strerror(error));
}

enum err ripc_call_fail_to(struct why *why, struct ripc *ripc, ripc_id to, int error)
{
    char id[RIPC_ID_TEXT];
    struct ripc_stats stats = {0};
    if (error != -ENOENT || ripc_stats(ripc, &stats) < 0 || stats.claims_forged == 0)
        return ripc_call_fail(why, error, "%s", ripc_id_text(to, id));
    return why_fail(why, ERR_SYSTEM,
                    "%s: %s; %" PRIu64
                    " %s with another seal ignored: do both sides use the same secret?",
                    ripc_id_text(to, id), ripc_strerror(error), stats.claims_forged,
                    stats.claims_forged == 1 ? "claim" : "claims");
}

enum err ripc_call_domain(const struct call *call, char folder[DOMAIN_PATH_MAX],
                          const char **domain, struct why *why)
{
    const char *chosen = call_option(call, "domain");
    if (!chosen)
        chosen = getenv("WEFT_DOMAIN");
    if (!chosen || (!*chosen && !call_has(call, "domain")))
        chosen = "default";
    if (domain)
        *domain = chosen;
    int error = domain_open(folder, chosen, why);
    return error == -EINVAL ? ERR_USAGE : error < 0 ? ERR_SYSTEM : OK;
}

static bool is_unreadable(const char *path)
{
    struct stat info;
    return stat(path, &info) || S_ISDIR(info.st_mode) || access(path, R_OK) != 0;
}

/* Tells whether one of the files cannot be read, which is invalid input and not a failure of the
 * system. The reason of the library names the file. */
static bool files_unreadable(const char *secret, const char *names)
{
    char path[PATH_MAX];
    const char *file = names ? strstr(names, "file:") : NULL;
    if (file)
        snprintf(path, sizeof path, "%.*s", (int)strcspn(file + 5, ","), file + 5);
    return (secret && *secret && is_unreadable(secret)) || (file && is_unreadable(path));
}

enum err ripc_call_open(const struct call *call, const struct ripc_config *config,
                        struct ripc **ripc, struct why *why)
{
    char reason[RIPC_REASON_MAX] = "";
    struct ripc_config full = config ? *config : (struct ripc_config){0};
    const char *secret_file = call_option(call, "secret-file");
    full.domain = call_option(call, "domain");
    full.names = call_option(call, "names");
    full.transports = call_option(call, "transports");
    full.address = call_option(call, "address");
    full.provider = call_option(call, "provider");
    full.node = call_option(call, "node");
    full.reason = reason;
    uint64_t port = 0;
    enum err err = call_uint(call, "port", 1, UINT16_MAX, &port, why);
    if (err)
        return err;
    full.port = (uint16_t)port;
    if (secret_file && !*secret_file)
        return why_fail(why, ERR_USAGE, "--secret-file '': expected the name of a file");
    /* The library reads the file, so that only one place knows its format. */
    if (secret_file && setenv("WEFT_SECRET_FILE", secret_file, 1))
        return why_memory(why);
    bool unreadable = files_unreadable(getenv("WEFT_SECRET_FILE"),
                                       full.names ? full.names : getenv("WEFT_NAMES"));
    int error = ripc_open(&full, ripc);
    if (error >= 0)
        return OK;
    if (!reason[0])
        return ripc_call_fail(why, error, "%s", call->command->name);
    return why_fail(why,
                    error == -EINVAL ? ERR_USAGE
                    : unreadable     ? ERR_INPUT
                                     : ERR_SYSTEM,
                    "%s", reason);
}

enum err ripc_call_id(const char *word, ripc_id *id, struct why *why)
{
    bool hex = strncmp(word, "0x", 2) == 0 || strncmp(word, "0X", 2) == 0;
    const char *digits = hex ? word + 2 : word;
    size_t size = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    errno = 0;
    uint64_t value = strtoull(digits, NULL, hex ? 16 : 10);
    if (size == 0 || digits[size] || errno || value == 0)
        return why_fail(why, ERR_USAGE,
                        "%s: an id is a number from 1 to 18446744073709551615, decimal or "
                        "hexadecimal after 0x",
                        *word ? word : "''");
    *id = value;
    return OK;
}

enum err ripc_call_size(const struct call *call, const char *name, uint64_t low, uint64_t high,
                        uint64_t *value, struct why *why)
{
    static const char units[] = "KMG";
    const char *word = call_option(call, name);
    if (!word)
        return OK;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    bool good = *word >= '0' && *word <= '9' && !errno;
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    good &= (!*end || (unit && !end[1])) && number <= high >> shift;
    if (!good || number << shift < low)
        return why_fail(why, ERR_USAGE,
                        "--%s %s: expected a size from %" PRIu64 " to %" PRIu64
                        " bytes; 64K, 1M and 2G are understood",
                        name, word, low, high);
    *value = (uint64_t)number << shift;
    return OK;
}

const char *ripc_id_text(ripc_id id, char text[RIPC_ID_TEXT])
{
    snprintf(text, RIPC_ID_TEXT, id < DECIMAL_MAX ? "%" PRIu64 : "0x%" PRIx64, id);
    return text;
}

const char *ripc_context_text(uint64_t context, char text[RIPC_CONTEXT_TEXT])
{
    snprintf(text, RIPC_CONTEXT_TEXT, "%016" PRIx64, context);
    return text;
}

enum err ripc_call_bind(struct ripc *ripc, ripc_id id, bool group, struct ripc_service **service,
                        struct why *why)
{
    char name[RIPC_ID_TEXT];
    int error = ripc_bind(ripc, group ? 0 : id, 0, service);
    if (error >= 0 && group)
        error = ripc_join(*service, id);
    if (error == -ENOSPC || error == -EDQUOT)
        return why_fail(why, ERR_SYSTEM, "%s: cannot write its file in %s: %s",
                        ripc_id_text(id, name), ripc_folder(ripc), ripc_strerror(error));
    return error < 0 ? ripc_call_fail(why, error, "%s", ripc_id_text(id, name)) : OK;
}
