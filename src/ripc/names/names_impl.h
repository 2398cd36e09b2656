#pragma once
/* names_impl: what the name services and the front of names know of each
 * other. A service begins with the struct below; it is opened and closed by
 * the front, and tells what it hears through the calls here. All of it runs
 * under the poller's lock.
 *
 * Any of these calls may call the program back, and the program may ask,
 * announce and withdraw from there: a service has put its own things in order
 * before it calls, and looks at them afresh afterwards. */

#include "ripc/names/claim.h"
#include "ripc/names/names.h"

#define NAMES_SERVICE_MAX 8

struct name_service {
    const struct name_service_ops *ops;
    unsigned index; /* of its bit in struct known */
};

extern const struct name_service_ops name_service_host;
extern const struct name_service_ops name_service_multicast;
extern const struct name_service_ops name_service_file;
extern const struct name_service_ops name_service_directory;

/* ---- for services.c ---- */

/* Without a service; NULL: no memory. names_close closes it. */
MUST_CHECK struct names *names_new(const struct names_config *config);

/* Opens one more service. -EINVAL: they are too many, or it is there and may be only once; or why
 * it does not open. */
MUST_CHECK int names_add(struct names *names, const struct name_service_ops *ops,
                         const char *argument, const struct names_config *config, struct why *why);

/* ---- for the services ---- */

/* What announce of a service returns besides 0 (claimed) and errors. */
#define NAME_SERVICE_LATER 1

/* Times that tests shorten. */
struct names_tuning {
    nsec lifetime;        /* of what was heard and not heard again */
    nsec probe_wait;      /* between two probes, and after the last */
    unsigned probe_count; /* at least 1 */
    nsec repeat_wait;     /* until a claim is said the second time */
    nsec ask_wait;        /* until a query without answer is repeated the first time */
    nsec assert_wait;     /* between two answers to one who claims what is ours; doubles */
    nsec rescan_wait;     /* between two scans of the folder where it cannot be watched */
};

const struct names_tuning *names_tuning(const struct names *names);
void names_tune(struct names *names, const struct names_tuning *tuning);
struct names_counts *names_counts(struct names *names);

/* A service that said LATER has decided: 0 or -EADDRINUSE. -ESTALE: what it
 * held is another's now. After a refusal the service holds nothing of it. */
void names_settled(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                   int status);

/* Somebody has this. `until` NSEC_NEVER: until names_lost. `firm`: a lock
 * proves it. -EADDRINUSE: it is ours, and a conflict was counted. */
int names_learn(struct names *names, struct name_service *service, const struct claim *claim,
                nsec until, bool firm);

/* The member has it no more, if `context` (0: whoever the service told of) is
 * the one that is known to. */
void names_lost(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                uint64_t context);

/* Whoever was not told of by now has the id not. Of services that answer alone. */
void names_told_all(struct names *names, uint64_t id);

/* Its owner withdrew it: what repeats it later is not believed, until `until`. */
void names_ended(struct names *names, const struct claim *claim, nsec until);

/* Is it worth the trouble to look after this id? */
bool names_wants(const struct names *names, uint64_t id);

/* The ids asked for, for a service that must look at all of them again. The
 * callback may not ask for new ones. */
void names_each_wanted(struct names *names, void (*each)(void *owner, uint64_t id), void *owner);

/* Our claims that this service holds or decides about, and others can follow: not to an address
 * that we have left. The callback may not announce or withdraw. */
void names_each_mine(struct names *names, const struct name_service *service,
                     void (*each)(void *owner, const struct claim *claim), void *owner);

/* The members of an id that this service told of; at most `max`. Returns how many. */
unsigned names_told(const struct names *names, const struct name_service *service, uint64_t id,
                    uint64_t *members, unsigned max);
