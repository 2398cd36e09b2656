#pragma once
/* names_impl: the interface between the name services and their front end, names.c. The struct of a
 * service begins with a struct name_service. The front end opens and closes the services; a service
 * reports what it learns by the calls below. Everything runs under the poller's lock.
 *
 * Any of these calls may call the program back, and in the callback the program may ask, announce
 * and withdraw. So a service must be in a consistent state before such a call, and must look its
 * state up again after it. */

#include "ripc/names/claim.h"
#include "ripc/names/names.h"

#define NAMES_SERVICE_MAX 9 /* with the exchange, which is always there */

struct name_service {
    const struct name_service_ops *ops;
    unsigned index; /* number of its bit in known.sources, own_claim.pending and own_claim.held */
};

extern const struct name_service_ops name_service_host;
extern const struct name_service_ops name_service_multicast;
extern const struct name_service_ops name_service_file;
extern const struct name_service_ops name_service_directory;
extern const struct name_service_ops name_service_exchange; /* not in the configuration's list */

/* ---- for services.c ---- */

/* Makes a struct names without services; NULL: no memory. names_close frees it. */
MUST_CHECK struct names *names_new(const struct names_config *config);

/* Opens one more service. -EINVAL: there are too many services, or there is one of this kind and a
 * second one is not allowed. Other errors are those of opening the service. */
MUST_CHECK int names_add(struct names *names, const struct name_service_ops *ops,
                         const char *argument, const struct names_config *config, struct why *why);

/* ---- for the services ---- */

/* A service returns this from `announce` if it decides later, by calling names_settled. (0:
 * claimed; negative: an error.) */
#define NAME_SERVICE_LATER 1

/* Times that tests shorten. */
struct names_tuning {
    nsec lifetime;        /* of a claim that was received and not repeated */
    nsec probe_wait;      /* between two probes, and after the last */
    unsigned probe_count; /* at least 1 */
    nsec repeat_wait;     /* until a claim is sent the second time */
    nsec ask_wait;        /* until an unanswered query is repeated the first time */
    nsec assert_wait;     /* between two answers to a rival for an id of ours; doubles each time */
    nsec rescan_wait;     /* between two scans of the folder, if it cannot be watched */
};

const struct names_tuning *names_tuning(const struct names *names);
void names_tune(struct names *names, const struct names_tuning *tuning);
struct names_counts *names_counts(struct names *names);

/* Reports the decision of a service that returned NAME_SERVICE_LATER: 0 or -EADDRINUSE. A service
 * that has returned 0 reports -ESTALE if another context takes the id over later. After a negative
 * status the service no longer holds the claim. */
void names_settled(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                   int status);

/* Reports a claim of a context. It is valid until `until`; NSEC_NEVER: until names_lost. `firm`: a
 * lock on this host proves it; without a proof the claim is ignored if a lock proves another claim
 * to the id. -EADDRINUSE: the id is ours, and a conflict was counted. */
int names_learn(struct names *names, struct name_service *service, const struct claim *claim,
                nsec until, bool firm);

/* Reports that the member has lost the id. Removes its claim only if the claim names `context`, or,
 * if `context` is 0, only if this service reported it. */
void names_lost(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                uint64_t context);
/* The same, if it is certain that the holder has given the id up or has ended. */
void names_given_up(struct names *names, struct name_service *service, uint64_t id, uint64_t member,
                    uint64_t context);

/* Reports that the service has reported everything it knows about the id: the id has no other
 * claims. Only for services with `answers`. */
void names_told_all(struct names *names, const struct name_service *service, uint64_t id);

/* Takes that back: there is more to be heard about the id. */
void names_told_part(struct names *names, const struct name_service *service, uint64_t id);

/* Reports that a service could not find something out. Only errors of lifeline_lacks count. */
void names_lacks(struct names *names, int error);

/* Does a service of the list deny the claim? */
bool names_denies(const struct names *names, const struct claim *claim);

/* Tells all services that a lifeline has changed. `failed`: the address of one that could not be
 * made, or NULL. */
void names_lines_changed(struct names *names, const struct context_address *failed);

enum own_state { OWN_NONE, OWN_PENDING, OWN_SETTLED };

/* Do we hold or claim the id, for that member (0: any)? Then returns the claim. */
enum own_state names_own(const struct names *names, uint64_t id, uint64_t member,
                         struct claim *claim);
/* Since when we claim the id; 0: we hold it, or do not claim it. */
nsec names_own_begun(const struct names *names, uint64_t id, uint64_t member);

/* Calls of names_events; without them nothing is said, and no process can be contacted. */
void names_say(struct names *names, void *peer, const struct names_saying *saying);
int names_contact(struct names *names, const struct context_address *address);

/* ---- exchange.c ---- */

/* The exchange, which names_open adds first. */
struct name_service *names_exchange(const struct names *names);

/* Our claims do not reach other hosts by themselves: from now on every peer hears them. */
void exchange_spread(struct name_service *exchange);

enum line_state { LINE_NONE, LINE_UNTOLD, LINE_TOLD };

/* Is there a lifeline to that address, and has its peer told all its claims? */
enum line_state exchange_line_at(const struct name_service *exchange,
                                 const struct context_address *address);

/* Reports that the holder withdrew the claim. Late copies of it are ignored until `until`. */
void names_ended(struct names *names, const struct claim *claim, nsec until);

/* Does the program want this id, or is a claim of it known? Then the service should track it. */
bool names_wants(const struct names *names, uint64_t id);

/* Calls `each` for all ids for which names_wants is true. For a service that must check all of them
 * again. The callback must not ask for new ids. */
void names_each_wanted(struct names *names, void (*each)(void *owner, uint64_t id), void *owner);

/* Calls `each` for our claims that this service holds or decides about, except claims whose address
 * is not valid at the moment (names_move). The callback must not announce or withdraw. */
void names_each_mine(struct names *names, const struct name_service *service,
                     void (*each)(void *owner, const struct claim *claim), void *owner);

/* Writes the members of an id that this service reported, at most `max`. Returns their number. */
unsigned names_told(const struct names *names, const struct name_service *service, uint64_t id,
                    uint64_t *members, unsigned max);
