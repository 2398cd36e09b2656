/* checker_fair: services that all have more to send on a port than it carries get shares by their
 * weights.
 *
 * For any two such services, the bytes sent divided by the weights differ by at most one round's
 * quantum and what each of the two may have overdrawn (deficit round robin). This is three times
 * the largest packet, wherever the counting begins and ends. Each service must send at least ten
 * times the largest packet per unit of weight: by then a service that sometimes loses its turn has
 * fallen behind further than that. */

#include "sim/checkers/checker.h"

#define SLACK (3ull * PACKET_SIZE_MAX)

struct shares {
    bool counting;
    struct checker_press press;
    uint64_t bytes[CHECKER_PRESS_MAX];
};

static void fair_pressed(struct checker *checker, const struct checker_press *press)
{
    *(struct shares *)checker->memory = (struct shares){.counting = true, .press = *press};
}

static void fair_transmitted(struct checker *checker, node_id at, unsigned port,
                             const struct packet *packet)
{
    struct shares *shares = checker->memory;
    if (!shares->counting || at != shares->press.server || port != shares->press.port)
        return;
    for (unsigned i = 0; i < shares->press.count; i++)
        if (packet->service == shares->press.services[i])
            shares->bytes[i] += packet->size;
}

static void fair_released(struct checker *checker, const struct checker_press *press)
{
    struct shares *shares = checker->memory;
    shares->counting = false;
    for (unsigned i = 0; i < press->count; i++) {
        for (unsigned j = 0; j < press->count; j++) {
            /* bytes[i] / weights[i] <= bytes[j] / weights[j] + SLACK */
            if (shares->bytes[i] * press->weights[j] <=
                shares->bytes[j] * press->weights[i] +
                    SLACK * press->weights[i] * press->weights[j])
                continue;
            checker_fail(checker,
                         "server %u, port %u: service %u of weight %u sent %llu bytes, but %u of "
                         "weight %u only %llu",
                         press->server, press->port, press->services[i], press->weights[i],
                         (unsigned long long)shares->bytes[i], press->services[j],
                         press->weights[j], (unsigned long long)shares->bytes[j]);
        }
        /* Guests may fill the port, too. */
        if (!checker->all->view.guests_apart &&
            shares->bytes[i] < 10ull * PACKET_SIZE_MAX * press->weights[i])
            checker_fail(checker,
                         "server %u, port %u: service %u of weight %u sent only %llu bytes",
                         press->server, press->port, press->services[i], press->weights[i],
                         (unsigned long long)shares->bytes[i]);
    }
}

const struct checker_ops checker_fair = {
    .name = "fair",
    .size = sizeof(struct shares),
    .pressed = fair_pressed,
    .transmitted = fair_transmitted,
    .released = fair_released,
};
