#pragma once
/* routed: the transport through the node of our server, for peers that nothing direct reaches. See
 * routed.c. */

#include "transport/routed/attachment.h"
#include "transport/transport.h"

/* By which lifelines go the same way. It lives as long as the transport, which must be this one. */
struct attachment *routed_attachment(const struct transport *transport);
