#pragma once
/* rule_tables: forwarding tables as they were read from files, from any source.
 *
 * This code is independent of how tables are made: a rule is what its line says. weft-rules(5)
 * describes the forms. Reading refuses a line that is not a rule, a switch or a server that does
 * not exist, and a table for another network; rule_replay finds out whether the rules deliver. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "routing/rules/rules_writer.h"
#include "topology/topology.h"

enum table_kind {
    TABLE_CLASSIFY, /* packets from servers to `key`: use the ways of group `port` */
    TABLE_WAY,      /* one way of group `key`: push `next`, out of `port` */
    TABLE_FORWARD,  /* packets to `key` with `label`: set the label to `next`, out of `port` */
    TABLE_SERVER,   /* server number `key` is at `port` */
    TABLE_KIND_COUNT,
};

#define TABLE_ANY   UINT32_MAX       /* a key or label that is not compared */
#define TABLE_OWN   UINT32_MAX       /* port: look up the switch's own servers */
#define TABLE_POP   UINT32_MAX       /* next: remove the label; then as TABLE_OWN */
#define TABLE_LOCAL (UINT32_MAX - 1) /* port: the node is the server */

struct table_rule {
    uint32_t at; /* the switch */
    uint32_t key, label;
    uint32_t port, next;
    uint32_t line;
    uint32_t order; /* order of reading */
    uint16_t file;  /* index into `files` */
    uint8_t kind;
    bool used; /* for rule_replay */
};

struct rule_tables {
    const struct topology *topology; /* borrowed */
    enum rules_encoding encoding;
    struct table_rule *rules; /* owned; after rule_tables_sort by at, kind, key, label, order */
    size_t count, capacity;
    size_t *first; /* owned; per switch and kind, after sorting */
    char **files;  /* owned; names of the files read */
    size_t file_count, file_capacity;
};

void rule_tables_fini(struct rule_tables *tables);

/* Reads one file and adds it to the tables, which must be of the same form; `name` begins errors.
 * The tables are zeroed at first; the caller must finish them also on failure. */
MUST_CHECK enum err rule_tables_read(struct rule_tables *tables, const struct topology *topology,
                                     const char *name, const char *data, size_t size,
                                     struct why *why);

/* Must be called after all files are read and before any lookup. */
MUST_CHECK enum err rule_tables_sort(struct rule_tables *tables, struct why *why);

/* The first rule of a switch and kind with this key and label, and their number; NULL if there is
 * none. The label is compared only for TABLE_FORWARD. */
struct table_rule *rule_tables_find(const struct rule_tables *tables, uint32_t at,
                                    enum table_kind kind, uint32_t key, uint32_t label,
                                    size_t *count);

/* The number of rules: one per entry that packets are matched against; all ways of one group count
 * as one. */
struct rule_counts {
    uint64_t *per_switch; /* borrowed; one per node */
    uint64_t total;
    uint64_t forward; /* how many of these match a label */
    uint64_t ways;    /* buckets of groups, next hops of FTN entries */
};

/* Adds the tables to the counts. */
void rule_tables_count(const struct rule_tables *tables, struct rule_counts *counts);

/* Do the tables have groups of ways, and TABLE_CLASSIFY rules that name a group (OpenFlow)? If not,
 * the ways are found by destination. */
bool rule_tables_grouped(const struct rule_tables *tables);
