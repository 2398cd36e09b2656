#include "routing/rules/rules_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/utf8.h"
#include "topology/server_ports.h"

const char *const rules_encoding_words[RULES_ENCODING_COUNT] = {
    "openflow vlan",
    "openflow mpls",
    "mpls",
    "json",
};

uint32_t rules_encode_label(enum rules_encoding encoding, uint32_t label)
{
    switch (encoding) {
    case RULES_OPENFLOW_VLAN:
    case RULES_JSON:
        return label + 1;
    case RULES_OPENFLOW_MPLS:
        return label + RULES_MPLS_FIRST;
    case RULES_LABELS:
        return label; /* swapped labels are MPLS labels already */
    case RULES_ENCODING_COUNT:
        break;
    }
    assert_unreachable();
}

enum err rules_writer_init(struct rules_writer *writer, struct text *out,
                           const struct topology *topology, const struct rules *rules,
                           enum rules_encoding encoding, struct why *why)
{
    assert((rules->labels == RULES_SWAPPED) == (encoding == RULES_LABELS));
    *writer = (struct rules_writer){
        .out = out, .topology = topology, .rules = rules, .encoding = encoding};
    writer->json = json_make(out, true);
    writer->arrives = array_new(topology->graph.node_count, sizeof *writer->arrives);
    if (!writer->arrives)
        return why_memory(why);
    for (size_t i = 0; i < rules->way_count; i++)
        writer->arrives[rules->ways[i].to] = true;
    return OK;
}

void rules_writer_fini(struct rules_writer *writer)
{
    free(writer->arrives);
    *writer = (struct rules_writer){0};
}

/* --- the rules of one switch --- */

static size_t hops_from(const struct rules *rules, uint32_t node)
{
    size_t low = 0, high = rules->hop_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rules->hops[middle].at < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t ways_from(const struct rules *rules, uint32_t node)
{
    size_t low = 0, high = rules->way_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rules->ways[middle].from < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Do the rules include those for packets to the servers of this switch? */
static bool is_own(const struct rules_writer *writer, uint32_t node)
{
    return writer->topology->sites[node].servers > 0 &&
           (writer->rules->only == NODE_NONE || writer->rules->only == node);
}

static uint32_t label_of(const struct rules_writer *writer, uint32_t label)
{
    return rules_encode_label(writer->encoding, label);
}

static uint32_t port_of(const struct rules_writer *writer, uint32_t channel)
{
    return graph_channel_port(&writer->topology->graph, channel);
}

/* --- OpenFlow, as ovs-ofctl reads it --- */

#define OPENFLOW_PORT_FIRST 1ull /* OpenFlow has no port 0 */

static void openflow_address(struct text *out, uint32_t node, uint32_t server)
{
    text_printf(out, "02:%02x:%02x:%02x:%02x:%02x", node >> 16 & 0xff, node >> 8 & 0xff,
                node & 0xff, server >> 8 & 0xff, server & 0xff);
}

/* Writes the match for any server of a switch. */
static void openflow_to(struct text *out, uint32_t node)
{
    text_puts(out, ",dl_dst=");
    openflow_address(out, node, 0);
    text_puts(out, "/ff:ff:ff:ff:00:00,actions=");
}

static void openflow_group(struct rules_writer *writer, size_t first, size_t last)
{
    const struct rules_way *ways = writer->rules->ways;
    struct text *out = writer->out;
    bool vlan = writer->encoding == RULES_OPENFLOW_VLAN;
    text_printf(out, "group add group_id=%u,type=select", ways[first].to);
    for (size_t i = first; i < last; i++) {
        uint32_t label = label_of(writer, ways[i].label);
        if (vlan) /* bit 12 of vlan_vid means that the packet has a tag */
            text_printf(out, ",bucket=push_vlan:0x8100,set_field:%u->vlan_vid", 0x1000 + label);
        else
            text_printf(out, ",bucket=push_mpls:0x8847,set_field:%u->mpls_label", label);
        text_printf(out, ",output:%llu", port_of(writer, ways[i].channel) + OPENFLOW_PORT_FIRST);
    }
    text_printf(out, "\nflow add table=0,%s", vlan ? "vlan_tci=0/0x1000" : "ip");
    openflow_to(out, ways[first].to);
    text_printf(out, "group:%u\n", ways[first].to);
}

static void openflow_own(struct rules_writer *writer, uint32_t node)
{
    const struct topology *topology = writer->topology;
    struct text *out = writer->out;
    bool vlan = writer->encoding == RULES_OPENFLOW_VLAN;
    if (writer->arrives[node]) {
        text_printf(out, "flow add table=0,%s", vlan ? "vlan_tci=0x1000/0x1000" : "mpls");
        openflow_to(out, node);
        text_printf(out, "%s,goto_table:1\n", vlan ? "pop_vlan" : "pop_mpls:0x0800");
    }
    if (topology->sites[node].servers > 1) { /* packets between two servers of this switch */
        text_printf(out, "flow add table=0,%s", vlan ? "vlan_tci=0/0x1000" : "ip");
        openflow_to(out, node);
        text_puts(out, "goto_table:1\n");
    }
    struct server_ports ports = server_ports_make(topology, node);
    for (uint32_t i = 0; i < topology->sites[node].servers; i++) {
        text_puts(out, "flow add table=1,dl_dst=");
        openflow_address(out, node, i);
        if (topology->direct)
            text_puts(out, ",actions=output:LOCAL\n");
        else
            text_printf(out, ",actions=output:%llu\n",
                        server_ports_next(&ports) + OPENFLOW_PORT_FIRST);
    }
}

static void openflow_switch(struct rules_writer *writer, uint32_t node)
{
    const struct rules *rules = writer->rules;
    struct text *out = writer->out;
    const char *tag = writer->encoding == RULES_OPENFLOW_VLAN ? "dl_vlan" : "mpls,mpls_label";
    if (is_own(writer, node))
        openflow_own(writer, node);
    size_t last;
    for (size_t i = ways_from(rules, node); i < rules->way_count && rules->ways[i].from == node;
         i = last) {
        for (last = i; last < rules->way_count && rules->ways[last].from == node &&
                       rules->ways[last].to == rules->ways[i].to;)
            last++;
        openflow_group(writer, i, last);
    }
    for (size_t i = hops_from(rules, node); i < rules->hop_count && rules->hops[i].at == node;
         i++) {
        text_printf(out, "flow add table=0,%s=%u", tag, label_of(writer, rules->hops[i].label));
        openflow_to(out, rules->hops[i].to);
        text_printf(out, "output:%llu\n",
                    port_of(writer, rules->hops[i].channel) + OPENFLOW_PORT_FIRST);
    }
}

/* --- MPLS --- */

static void labels_switch(struct rules_writer *writer, uint32_t node)
{
    const struct rules *rules = writer->rules;
    const struct topology *topology = writer->topology;
    struct text *out = writer->out;
    if (is_own(writer, node)) {
        struct server_ports ports = server_ports_make(topology, node);
        for (uint32_t i = 0; i < topology->sites[node].servers; i++)
            if (topology->direct)
                text_printf(out, "server index=%u port=local\n", i);
            else
                text_printf(out, "server index=%u port=%u\n", i, server_ports_next(&ports));
        if (writer->arrives[node])
            text_printf(out, "ilm label=%u pop\n", RULES_MPLS_FIRST);
    }
    for (size_t i = ways_from(rules, node); i < rules->way_count && rules->ways[i].from == node;
         i++)
        text_printf(out, "ftn to=%u push=%u port=%u\n", rules->ways[i].to, rules->ways[i].label,
                    port_of(writer, rules->ways[i].channel));
    for (size_t i = hops_from(rules, node); i < rules->hop_count && rules->hops[i].at == node; i++)
        text_printf(out, "ilm label=%u swap=%u port=%u\n", rules->hops[i].label,
                    rules->hops[i].next, port_of(writer, rules->hops[i].channel));
}

/* --- JSON: one rule per line --- */

static void json_rule(struct rules_writer *writer, uint32_t to, uint32_t label, uint32_t channel)
{
    struct json *json = &writer->json;
    json_object(json);
    json->indent = false;
    json_put_uint(json, "to", to);
    json_put_uint(json, "tag", label_of(writer, label));
    json_put_uint(json, "port", port_of(writer, channel));
    json_end(json, '}');
    json->indent = true;
}

static void json_servers(struct rules_writer *writer, uint32_t node)
{
    const struct topology *topology = writer->topology;
    struct json *json = &writer->json;
    struct server_ports ports = server_ports_make(topology, node);
    uint32_t count = is_own(writer, node) ? topology->sites[node].servers : 0;
    json_key(json, "servers");
    json_array(json);
    for (uint32_t i = 0; i < count; i++) {
        json_object(json);
        json->indent = false;
        json_put_uint(json, "server", i);
        if (topology->direct)
            json_put_null(json, "port");
        else
            json_put_uint(json, "port", server_ports_next(&ports));
        json_end(json, '}');
        json->indent = true;
    }
    json_end(json, ']');
}

static void json_switch(struct rules_writer *writer, uint32_t node)
{
    const struct rules *rules = writer->rules;
    struct json *json = &writer->json;
    char name[NODE_NAME_SIZE];
    json_object(json);
    json_put_uint(json, "switch", node);
    json_put_string(json, "name", topology_name(writer->topology, node, name));
    json_servers(writer, node);
    json_key(json, "ways");
    json_array(json);
    for (size_t i = ways_from(rules, node); i < rules->way_count && rules->ways[i].from == node;
         i++)
        json_rule(writer, rules->ways[i].to, rules->ways[i].label, rules->ways[i].channel);
    json_end(json, ']');
    json_key(json, "hops");
    json_array(json);
    for (size_t i = hops_from(rules, node); i < rules->hop_count && rules->hops[i].at == node; i++)
        json_rule(writer, rules->hops[i].to, rules->hops[i].label, rules->hops[i].channel);
    json_end(json, ']');
    json_end(json, '}');
}

/* --- everything --- */

void rules_write_name(struct text *out, const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < size;) {
        unsigned char letter = (unsigned char)name[i];
        size_t control = utf8_control(name + i, size - i);
        bool plain =
            control == 0 && (letter >= 0x80 || (letter >= '0' && letter <= '9') ||
                             (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                             strchr("_+@:-", letter) || (letter == '.' && i > 0));
        size_t bytes = control ? control : 1;
        for (size_t end = i + bytes; i < end; i++)
            if (plain)
                text_add(out, name + i, 1);
            else
                text_printf(out, "%%%02x", (unsigned char)name[i]);
    }
}

void rules_write_begin(struct rules_writer *writer, const char *remarks)
{
    const char *words = rules_encoding_words[writer->encoding];
    struct json *json = &writer->json;
    if (writer->encoding == RULES_JSON) {
        *json = json_make(writer->out, true);
        json_object(json);
        json_put_string(json, "weft_rules", words);
        json_key(json, "switches");
        json_array(json);
        return;
    }
    text_printf(writer->out, "#@ weft-rules %s\n", words);
    while (remarks && *remarks) {
        size_t size = strcspn(remarks, "\n");
        text_printf(writer->out, "# %.*s\n", (int)size, remarks);
        remarks += size + (remarks[size] == '\n');
    }
}

void rules_write_switch(struct rules_writer *writer, uint32_t node)
{
    char name[NODE_NAME_SIZE];
    if (writer->encoding == RULES_JSON) {
        json_switch(writer, node);
        return;
    }
    text_printf(writer->out, "#@ switch %u ", node);
    rules_write_name(writer->out, topology_name(writer->topology, node, name));
    text_puts(writer->out, "\n");
    if (writer->encoding == RULES_LABELS)
        labels_switch(writer, node);
    else
        openflow_switch(writer, node);
}

void rules_write_end(struct rules_writer *writer)
{
    if (writer->encoding != RULES_JSON)
        return;
    json_end(&writer->json, ']');
    json_end(&writer->json, '}');
}
