#include "ripc/core/naming.h"

#include <errno.h>

void naming_peer_up(struct peer *peer)
{
    peer->name_line = names_line_up(peer->ripc->names, &peer->address,
                                    peer->dialled.family ? &peer->dialled : NULL, peer);
    if (!peer->name_line)
        lifeline_cut(peer->line, -ENOMEM);
}

void naming_peer_died(struct peer *peer)
{
    struct names_line *line = peer->name_line;
    peer->name_line = NULL;
    if (line)
        names_line_down(peer->ripc->names, line);
    else if (peer->dialled.family)
        names_line_failed(peer->ripc->names, &peer->dialled, peer->reason);
}

void naming_heard(struct peer *peer, struct control_words *words)
{
    struct names_saying saying = {
        .word = (enum names_word)words->item,
        .id = words->to,
        .member = words->from,
        .incarnation = words->number,
        .group = words->rights,
        .status = words->status,
    };
    if (!peer->name_line)
        return; /* there was no memory for it, and the line is about to end */
    if (words->item >= NAMES_WORD_END ||
        names_line_heard(peer->ripc->names, peer->name_line, &saying) < 0)
        peer_condemn(peer);
}

/* A peer that does not read what we say would miss a claim, so it is disconnected. */
void naming_say(void *owner, void *to, const struct names_saying *saying)
{
    peer_answer(to, &(struct control_words){
                        .kind = CONTROL_NAME,
                        .item = saying->word,
                        .to = saying->id,
                        .from = saying->member,
                        .number = saying->incarnation,
                        .rights = saying->group,
                        .status = saying->status,
                    });
}

int naming_contact(void *owner, const struct context_address *address)
{
    struct ripc *ripc = owner;
    struct peer *peer;
    if (context_address_equal(&ripc->address, address))
        return NAMES_SELF;
    int result = peer_get(ripc, address, &peer);
    if (result)
        return result;
    return peer->state == PEER_UP ? NAMES_CONNECTED : NAMES_CONNECTING;
}
