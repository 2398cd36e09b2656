#include "ripc/events.h"

#include "ripc/core/naming.h"
#include "ripc/core/remote.h"
#include "ripc/group/group.h"
#include "ripc/group/watch.h"
#include "ripc/memory/access.h"
#include "ripc/memory/grant.h"
#include "ripc/message/ending.h"
#include "ripc/message/incoming.h"
#include "ripc/message/notice.h"
#include "ripc/message/offer.h"
#include "ripc/message/operation.h"
#include "ripc/message/retiring.h"

const struct events ripc_events = {
    .control =
        {
            [CONTROL_OPEN] = arrival_open,
            [CONTROL_ANSWER] = remote_answer,
            [CONTROL_CLOSE] = arrival_end,
            [CONTROL_GONE] = remote_gone,
            [CONTROL_CANCEL] = arrival_cancel,
            [CONTROL_WITHDRAW] = their_offer_withdraw,
            [CONTROL_WITHDRAWN] = offer_withdrawn,
            [CONTROL_GRANT_ASK] = grant_asked,
            [CONTROL_GRANT_ANSWER] = grant_answered,
            [CONTROL_GRANT_REVOKE] = grant_revoked_by_peer,
            [CONTROL_GRANT_REVOKED] = grant_given_up,
            [CONTROL_COPY] = operation_copy,
            [CONTROL_COPIED] = incoming_copied,
            [CONTROL_NOTICE_ASK] = notice_asked,
            [CONTROL_NOTICE_ANSWER] = notice_answered,
            [CONTROL_RETIRE] = remote_hold,
            [CONTROL_HELD] = arrival_counted,
            [CONTROL_NAME] = naming_heard,
        },

    .peer_up = {naming_peer_up},
    .peer_died = {remotes_lost, arrivals_orphan, grants_forget, access_forget, their_offers_forget,
                  naming_peer_died, watches_judge},
    .peer_drained = {offers_forget}, /* not earlier: the last message may have filled an offer */
    .peer_freed = {grants_forget, access_forget, notices_forget},

    /* Operations are dropped after the pipes, which still bring acknowledgements, and offers after
     * the arrivals, whose last messages may have filled some. */
    .service_closed = {groups_leave, remotes_free, operations_drop, arrivals_close, offers_drop,
                       grants_drop, watches_drop},
    .service_owes = {remotes_owe, arrivals_owe},

    .group_announced = {group_announced},
    .name_found = {group_changed, watch_found},
    .name_gone = {group_changed, watch_gone},

    .acknowledged = {flight_acknowledged},
    .pipe_lost = {flights_lost},
    .remote_freed = {their_offers_drop},
};
