#pragma once
/* rule_tables: forwarding tables as they were read, whoever wrote them.
 *
 * Nothing here knows how tables are made: a rule is what its line says. The
 * forms are in weft-rules(5). Reading refuses what is no rule, names a switch
 * or a server that does not exist, or a table for another network; whether the
 * rules lead anywhere is rule_replay's question. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/rules/rules_writer.h"
#include "topology/topology.h"

enum table_kind {
    TABLE_CLASSIFY, /* what servers send to `key`: the ways of group `port` */
    TABLE_WAY,      /* one way of group `key`: push `next`, out of `port` */
    TABLE_FORWARD,  /* what is for `key` and carries `label`: carries `next`, out of `port` */
    TABLE_SERVER,   /* server number `key` is at `port` */
    TABLE_KIND_COUNT,
};

#define TABLE_ANY   UINT32_MAX       /* a key or label that is not looked at */
#define TABLE_OWN   UINT32_MAX       /* port: the switch's own servers are looked up */
#define TABLE_POP   UINT32_MAX       /* next: none; then as TABLE_OWN */
#define TABLE_LOCAL (UINT32_MAX - 1) /* port: the node is the server */

struct table_rule {
    uint32_t at; /* the switch */
    uint32_t key, label;
    uint32_t port, next;
    uint32_t line;
    uint32_t order; /* in which it was read */
    uint16_t file;  /* which of the names */
    uint8_t kind;
    bool used; /* for rule_replay */
};

struct rule_tables {
    const struct topology *topology; /* borrowed */
    enum rules_encoding encoding;
    struct table_rule *rules; /* owned; after rule_tables_sort by at, kind, key, label, order */
    size_t count, capacity;
    size_t *first; /* owned; of every switch and kind, once sorted */
    char **files;  /* owned; the names of what was read */
    size_t file_count, file_capacity;
};

void rule_tables_fini(struct rule_tables *tables);

/* Reads one file on top of what was read before, which must be of the same
 * form; `name` begins messages. The tables, zeroed at first, are the caller's
 * to finish also on failure. */
MUST_CHECK enum err rule_tables_read(struct rule_tables *tables, const struct topology *topology,
                                     const char *name, const char *data, size_t size,
                                     struct why *why);

/* To be called when all was read and before anything is looked for. */
MUST_CHECK enum err rule_tables_sort(struct rule_tables *tables, struct why *why);

/* The rules of a switch and kind with this key and label: the first, and how
 * many; NULL if there is none. Label counts only for TABLE_FORWARD. */
struct table_rule *rule_tables_find(const struct rule_tables *tables, uint32_t at,
                                    enum table_kind kind, uint32_t key, uint32_t label,
                                    size_t *count);

/* How many rules there are: one per entry that a packet is matched against; the
 * ways of one group together are one. */
struct rule_counts {
    uint64_t *per_switch; /* borrowed; one per node */
    uint64_t total;
    uint64_t forward; /* of them by label */
    uint64_t ways;    /* buckets of groups, next hops of FTN entries */
};

/* Adds to the counts. */
void rule_tables_count(const struct rule_tables *tables, struct rule_counts *counts);

/* Does a switch choose among the ways by a rule that names their group? */
bool rule_tables_grouped(const struct rule_tables *tables);
