#pragma once
/* field_graph: large graphs of small diameter from the geometry of a finite field. Each function
 * adds its cables to the list, which must have room for degree * nodes / 2. */

#include "base/err.h"
#include "topology/generate/link_list.h"

/* The polarity graph of the projective plane over GF(q) (Erdos and Renyi;
 * Brown): points, joined if orthogonal. q^2 + q + 1 nodes, degree q + 1 (q at
 * the q + 1 absolute points), diameter 2. Over a field of characteristic 2
 * one more node is joined to the absolute points (Delorme). */
MUST_CHECK enum err field_graph_plane(struct link_list *list, uint32_t q, struct why *why);

/* The polarity graph of the generalized quadrangle W(q), q = 2^(2e+1) (Delorme). q^3 + q^2 + q + 1
 * nodes, degree q + 1, diameter 3. Every line contains one of its q^2 + 1 absolute points, so each
 * copy of these points adds q^2 + 1 nodes and only one to the degree. */
MUST_CHECK enum err field_graph_quadrangle(struct link_list *list, uint32_t q, uint32_t copies,
                                           struct why *why);

/* The polarity graph of the generalized hexagon H(3) (Delorme). 364 nodes,
 * degree 4, diameter 5. */
void field_graph_hexagon(struct link_list *list);

/* McKay, Miller and Siran's graph over GF(q), q = 0 or 1 mod 4. 2 q^2 nodes,
 * degree (3q - 1)/2 for odd q and 3q/2 for even q, diameter 2. */
MUST_CHECK enum err field_graph_mms(struct link_list *list, uint32_t q, struct why *why);
