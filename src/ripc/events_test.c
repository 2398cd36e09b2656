#include "ripc/events.h"

#include "base/test.h"

static void every_control_message_has_a_handler(void **state)
{
    for (unsigned kind = CONTROL_OPEN; kind < CONTROL_KIND_END; kind++)
        if (!ripc_events.control[kind])
            fail_msg("control %u has no handler", kind);
}

#define ENDS(event) assert_null(ripc_events.event[EVENTS_HANDLERS_MAX - 1])

static void every_list_of_handlers_ends_with_null(void **state)
{
    ENDS(peer_died);
    ENDS(peer_drained);
    ENDS(peer_freed);
    ENDS(service_closed);
    ENDS(service_owes);
    ENDS(group_announced);
    ENDS(name_found);
    ENDS(name_gone);
    ENDS(acknowledged);
    ENDS(pipe_lost);
    ENDS(remote_freed);
}

TEST_MAIN(TEST(every_control_message_has_a_handler), TEST(every_list_of_handlers_ends_with_null))
