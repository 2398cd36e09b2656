#pragma once
/* routed: the transport through the node of our server, for peers that no direct transport reaches.
 * See routed.c. */

#include "transport/routed/attachment.h"
#include "transport/transport.h"

/* The attachment, which lifelines use as well. It exists as long as the transport, which must be a
 * routed one. */
struct attachment *routed_attachment(const struct transport *transport);
