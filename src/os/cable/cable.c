/* cable: one cable: its loans, its carrier, and how it closes. */
#include "os/cable/cable.h"

#include <errno.h>
#include <stdio.h>

#include "base/array.h"
#include "base/check.h"
#include "os/cable/cable_impl.h"

#define RETRY_NSEC NSEC_PER_SEC

/* ---- reporting ---- */

static void cable_say(struct cable_port *cable, const char *text)
{
    const struct port_events *events = &cable->cables->config.events;
    char line[160];
    if (!events->said)
        return;
    snprintf(line, sizeof line, "port %u to %u: %s", cable->plan.number, cable->plan.peer_server,
             text);
    events->said(events->owner, cable->plan.server, line);
}

void cable_carrier(struct cable_port *cable, bool on)
{
    const struct port_events *events = &cable->cables->config.events;
    if (cable->carrier == on)
        return;
    cable->carrier = on;
    cable->port.frames = 0; /* the pipe is another one */
    events->carrier(events->owner, cable->plan.server, cable->plan.number, on);
}

/* ---- loans ---- */

static void cable_released(struct loan *loan)
{
    struct cable_loan *mine = container_of(loan, struct cable_loan, loan);
    struct cable_port *cable = mine->cable;
    cable->inlet->ops->release(cable->inlet, &mine->frame);
    mine->next = cable->loans_free;
    cable->loans_free = mine;
    cable->loans_out--;
}

int cable_init(struct cable_port *cable)
{
    cable->loans = array_new(CABLE_LOANS, sizeof *cable->loans);
    if (!cable->loans)
        return -ENOMEM;
    for (unsigned i = 0; i < CABLE_LOANS; i++) {
        struct cable_loan *loan = &cable->loans[i];
        loan->cable = cable;
        loan->loan.released = cable_released;
        loan->next = cable->loans_free;
        cable->loans_free = loan;
    }
    return 0;
}

void cable_settle(struct port *port)
{
    struct cable_port *cable = cable_of(port);
    if (cable->loans_out == (cable->reading ? 1 : 0) &&
        !(cable->reading && cable->reading->loan.live))
        return;
    for (unsigned i = 0; i < CABLE_LOANS; i++)
        loan_settle(&cable->loans[i].loan);
}

void cable_forget(struct cable_port *cable)
{
    cable_settle(&cable->port);
    if (cable->reading) {
        struct cable_loan *loan = cable->reading;
        cable->reading = NULL;
        loan_close(&loan->loan);
    }
    while (cable->staged_next < cable->staged_count)
        cable->inlet->ops->release(cable->inlet, &cable->staged[cable->staged_next++]);
    cable->staged_next = cable->staged_count = 0;
}

/* ---- closing ---- */

/* Drops the line, if there is one; its further messages are ignored. */
static void cable_hang_up(struct cable_port *cable, int reason)
{
    struct lifeline *line = cable->line;
    cable->line = NULL;
    if (!line)
        return;
    if (cable->link)
        cable->link->ops->link_lost(cable->link);
    lifeline_set_data(line, NULL);
    lifeline_cut(line, reason);
}

void cable_call_at(struct cable_port *cable, nsec at)
{
    int result = poller_set(cable->cables->config.poller, &cable->retry, at);
    assert(result == 0); /* its slot was reserved when the cable was made */
}

void cable_reset(struct cable_port *cable)
{
    cable_hang_up(cable, -EPIPE);
    if (cable->inlet) {
        cable_forget(cable);
        cable->inlet->ops->inlet_close(cable->inlet);
    }
    if (cable->outlet)
        cable->outlet->ops->outlet_close(cable->outlet);
    if (cable->link)
        cable->link->ops->link_close(cable->link);
    cable->inlet = NULL;
    cable->outlet = NULL;
    cable->link = NULL;
    cable->answered = cable->ending = cable->outgoing = false;
    cable_carrier(cable, false);
    if (cable->plan.server < cable->plan.peer_server)
        cable_call_at(cable, clock_after(RETRY_NSEC));
}

void cable_condemn(struct cable_port *cable)
{
    if (!cable->line)
        return;
    cable_say(cable, "the neighbour sent malformed data; link cut");
    cable_hang_up(cable, -EPROTO);
    cable->ending = true;
    if (!cable->carrier)
        cable_reset(cable);
}

void cable_remove(struct cable_port *cable)
{
    cable->carrier = false; /* no event for this one */
    cable_reset(cable);
    poller_unset(cable->cables->config.poller, &cable->retry);
    list_remove(&cable->node);
}
