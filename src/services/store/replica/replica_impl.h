#pragma once
/* replica_impl: what the files of a replica share. */

#include "services/store/replica/replica.h"

/* ---- member.c ---- */

/* A message to a member, in its view. */
void replica_member_receive(struct replica *replica, const struct replica_world *world,
                            const struct replica_message *message);

/* ---- lead.c ---- */

void replica_lead_forget(struct replica *replica);
/* A message to the leader, or one that makes it the leader. False: it is another message. */
bool replica_lead_receive(struct replica *replica, const struct replica_world *world,
                          const struct replica_message *message);
