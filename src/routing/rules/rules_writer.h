#pragma once
/* rules_writer: forwarding tables as text; weft-rules(5) describes the forms.
 *
 * The lines contain everything that a reader needs; lines that begin with #@ hold what ovs-ofctl
 * cannot express, and are comments for it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "routing/rules/rules.h"
#include "topology/topology.h"

enum rules_encoding {
    RULES_OPENFLOW_VLAN, /* constant labels in a VLAN tag, from 1 */
    RULES_OPENFLOW_MPLS, /* constant labels in an MPLS label, from RULES_MPLS_FIRST */
    RULES_LABELS,        /* swapped labels, FTN and ILM */
    RULES_JSON,          /* constant labels, from 1 */
    RULES_ENCODING_COUNT,
};

/* The text after "#@ weft-rules" in the first line. */
extern const char *const rules_encoding_words[RULES_ENCODING_COUNT];

/* The number that a file uses for a label of the rules. */
uint32_t rules_encode_label(enum rules_encoding encoding, uint32_t label);

struct rules_writer {
    struct text *out;                /* borrowed */
    const struct topology *topology; /* borrowed */
    const struct rules *rules;       /* borrowed; sorted */
    enum rules_encoding encoding;
    struct json json;
    bool *arrives; /* owned; per node: some way leads there */
};

MUST_CHECK enum err rules_writer_init(struct rules_writer *writer, struct text *out,
                                      const struct topology *topology, const struct rules *rules,
                                      enum rules_encoding encoding, struct why *why);
void rules_writer_fini(struct rules_writer *writer);

/* A file: its beginning, with lines of remarks (NULL for none; each ends in a newline), any
 * switches, its end. If memory runs out, text_ok returns false. */
void rules_write_begin(struct rules_writer *writer, const char *remarks);
void rules_write_switch(struct rules_writer *writer, uint32_t node);
void rules_write_end(struct rules_writer *writer);

/* Writes a node's name without blanks, control characters or anything else that has a meaning in a
 * table, a shell or a path: such bytes become %20 and the like. */
void rules_write_name(struct text *out, const char *name);
