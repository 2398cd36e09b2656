#pragma once
/* names_impl: the interface between the name services and the front end of names. A service begins
 * with the struct below. The front end opens and closes it; the service reports what it learns
 * through the calls here. Everything runs under the poller's lock.
 *
 * Any of these calls may call the program back, and the program may ask, announce and withdraw from
 * there: a service must be in a consistent state before it calls, and must look its state up again
 * afterwards. */

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

/* Makes names without a service; NULL: no memory. names_close frees it. */
MUST_CHECK struct names *names_new(const struct names_config *config);

/* Opens one more service. -EINVAL: there are too many, or a second one of this kind is not allowed;
 * or the error of opening it. */
MUST_CHECK int names_add(struct names *names, const struct name_service_ops *ops,
                         const char *argument, const struct names_config *config, struct why *why);

/* ---- for the services ---- */

/* A result of a service's announce, besides 0 (claimed) and errors: names_settled follows. */
#define NAME_SERVICE_LATER 1

/* Times that tests shorten. */
struct names_tuning {
    nsec lifetime;        /* of a claim that was received and not repeated */
    nsec probe_wait;      /* between two probes, and after the last */
    unsigned probe_count; /* at least 1 */
    nsec repeat_wait;     /* until a claim is sent the second time */
    nsec ask_wait;        /* until an unanswered query is repeated the first time */
    nsec assert_wait;     /* between two answers to a rival that claims an id of ours; doubles */
    nsec rescan_wait;     /* between two scans of the folder where it cannot be watched */
};

const struct names_tuning *names_tuning(const struct names *names);
void names_tune(struct names *names, const struct names_tuning *tuning);
struct names_counts *names_counts(struct names *names);

/* A service that returned LATER has decided: 0 or -EADDRINUSE. -ESTALE: another context now has
 * what the service held. After a refusal the service holds nothing of the claim. */
void names_settled(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                   int status);

/* A context has this claim. `until` NSEC_NEVER: until names_lost. `firm`: a lock proves it.
 * -EADDRINUSE: the id is ours, and a conflict was counted. */
int names_learn(struct names *names, struct name_service *service, const struct claim *claim,
                nsec until, bool firm);

/* The member has lost the id, if `context` is its known context (0: whichever context the service
 * reported). */
void names_lost(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                uint64_t context);

/* Everything known about the id has been reported; claims that were not reported do not exist. Only
 * for services with `answers`. */
void names_told_all(struct names *names, uint64_t id);

/* The holder withdrew the claim: late copies of it are ignored until `until`. */
void names_ended(struct names *names, const struct claim *claim, nsec until);

/* Is this id wanted, so that the service should track it? */
bool names_wants(const struct names *names, uint64_t id);

/* Calls `each` for the wanted ids, for a service that must check all of them again. The callback
 * must not ask for new ids. */
void names_each_wanted(struct names *names, void (*each)(void *owner, uint64_t id), void *owner);

/* Calls `each` for our claims that this service holds or decides about, except those with an
 * address that is no longer valid. The callback must not announce or withdraw. */
void names_each_mine(struct names *names, const struct name_service *service,
                     void (*each)(void *owner, const struct claim *claim), void *owner);

/* Writes the members of an id that this service reported, at most `max`. Returns their number. */
unsigned names_told(const struct names *names, const struct name_service *service, uint64_t id,
                    uint64_t *members, unsigned max);
