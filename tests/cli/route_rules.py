"""weft route rules: replays the tables from the printed lines only, and compares with networkx."""

import collections
import itertools
import json
import os
import re
import sys
import tempfile
import unittest

import networkx

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

JELLYFISH = "jellyfish:servers=30,switches=15,ports=6,seed=4"
HOP_LIMIT = 100


def rules(*words):
    run = weft("route", "rules", *words)
    assert run.code == 0, run.err
    return run.out


def report(*words):
    return json.loads(rules(*words, "--json"))


def network(spec, folder):
    """(graph of cables, {(node, port): (node, port)}, {node: servers}) as `topo export` tells it."""
    path = os.path.join(folder, "network.json")
    assert weft("topo", "build", spec, "--out", path).code == 0
    with open(path) as file:
        data = json.load(file)
    graph, cables = networkx.MultiGraph(), {}
    graph.add_nodes_from(node["id"] for node in data["nodes"])
    for link in data["links"]:
        one = (link["source"], link["source_port"])
        other = (link["target"], link["target_port"])
        cables[one], cables[other] = other, one
        graph.add_edge(one[0], other[0])
    return graph, cables, {node["id"]: node["servers"] for node in data["nodes"]}


def tables(text):
    """{switch: its lines}"""
    found, lines = {}, None
    for line in text.splitlines():
        head = re.fullmatch(r"#@ switch (\d+) (\S+)", line)
        if head:
            lines = found[int(head[1])] = []
        elif not line.startswith("#"):
            lines.append(line)
    return found


class OpenFlow:
    """A switch with the fields and actions of ovs-ofctl's manual that the tables use."""

    def __init__(self, lines):
        self.flows, self.groups = [], {}
        for line in lines:
            word, rest = re.fullmatch(r"(flow|group) add (.*)", line).groups()
            if word == "group":
                head, *buckets = rest.split(",bucket=")
                group = re.fullmatch(r"group_id=(\d+),type=select", head)[1]
                assert group not in self.groups
                self.groups[group] = buckets
            else:
                match, actions = rest.split(",actions=")
                self.flows.append((dict(field.partition("=")[::2] for field in match.split(",")),
                                   actions))

    @staticmethod
    def fits(match, table, address, tag, kind):
        if int(match.get("table", 0)) != table:
            return False
        want, _, mask = match["dl_dst"].partition("/")
        bits = int((mask or "ff:ff:ff:ff:ff:ff").replace(":", ""), 16)
        if (int(want.replace(":", ""), 16) ^ int(address.replace(":", ""), 16)) & bits:
            return False
        for field, value in match.items():
            if field == "vlan_tci":
                want, _, mask = value.partition("/")
                if ((0x1000 | tag if tag is not None else 0) ^ int(want, 0)) & int(mask, 0):
                    return False
            elif field in ("dl_vlan", "mpls_label"):
                if tag != int(value):
                    return False
            elif field == "ip" and tag is not None or field == "mpls" and tag is None:
                return False
        return True

    def forward(self, address, tag, kind, table=0):
        """All (port, tag) with which a packet may leave; each bucket is one."""
        hits = [actions for match, actions in self.flows
                if self.fits(match, table, address, tag, kind)]
        assert len(hits) <= 1, ("ambiguous", hits)
        return self.act(hits[0], address, tag, kind) if hits else []

    def act(self, actions, address, tag, kind):
        for action in actions.split(","):
            name, _, value = action.partition(":")
            if name == "push_vlan" or name == "push_mpls":
                assert tag is None
                tag = 0
            elif name == "set_field":
                number, field = value.split("->")
                tag = int(number) - (0x1000 if field == "vlan_vid" else 0)
                assert 0 < tag < (4095 if field == "vlan_vid" else 1 << 20)
            elif name == "pop_vlan" or name == "pop_mpls":
                assert tag is not None
                tag = None
            elif name == "goto_table":
                return self.forward(address, tag, kind, int(value))
            elif name == "group":
                return [way for bucket in self.groups.get(value, [])
                        for way in self.act(bucket, address, tag, kind)]
            elif name == "output":
                return [(value if value == "LOCAL" else int(value) - 1, tag)]
            else:
                raise AssertionError(action)
        return []


class Labels:
    """A switch with FTN and ILM tables."""

    def __init__(self, lines):
        self.ftn, self.ilm, self.servers = collections.defaultdict(list), {}, {}
        for line in lines:
            word, *fields = line.split()
            field = dict(one.partition("=")[::2] for one in fields)
            if word == "ftn":
                self.ftn[int(field["to"])].append((int(field["port"]), int(field["push"])))
            elif word == "server":
                self.servers[int(field["index"])] = field["port"]
            else:
                assert word == "ilm" and int(field["label"]) not in self.ilm
                self.ilm[int(field["label"])] = field


def follow_openflow(switches, cables, source, target, server):
    """All paths, as lists of nodes, on which `source` may send a packet."""
    address = "02:%02x:%02x:%02x:%02x:%02x" % (target >> 16, target >> 8 & 255, target & 255,
                                               server >> 8, server & 255)
    paths = []
    for port, tag in switches[source].forward(address, None, "ip"):
        path, at = [(source, port)], source
        while True:
            at, _ = cables[at, port]
            assert len(path) < HOP_LIMIT
            (port, tag), = switches[at].forward(address, tag, "ip")
            path.append((at, port))
            if tag is None:
                break
        paths.append((path, at, port))
    return paths


def follow_labels(switches, cables, source, target):
    paths = []
    for port, label in switches[source].ftn[target]:
        path, at = [(source, port)], source
        while True:
            at, _ = cables[at, port]
            assert len(path) < HOP_LIMIT
            entry = switches[at].ilm[label]
            path.append((at, entry.get("port")))
            if "pop" in entry:
                break
            label, port = int(entry["swap"]), int(entry["port"])
        paths.append((path, at, None))
    return paths


def lengths_of(graph, source, target, ways, equal):
    """Hops of the shortest paths by networkx; parallel cables are different paths."""
    found = []
    simple = networkx.Graph(graph)
    for path in networkx.shortest_simple_paths(simple, source, target):
        if len(found) >= ways or equal and found and len(path) - 1 > found[0]:
            break
        count = 1
        for one, other in zip(path, path[1:]):
            count *= graph.number_of_edges(one, other)
        found += [len(path) - 1] * count
    return found[:ways]


SPECS = [
    (JELLYFISH, 8, "k-shortest"),
    ("jellyfish:servers=20,ports=8x6+6x4,bare=2,seed=1", 5, "k-shortest"),
    ("fattree:k=4", 4, "ecmp"),
    ("torus:3x3", 6, "k-shortest"),
    ("novacube:4x4", 3, "ecmp"),
]


class Replay(unittest.TestCase):
    def check(self, spec, ways, algorithm, paths_of):
        """The paths of every pair arrive, have no loops, differ, and have the lengths of networkx."""
        with tempfile.TemporaryDirectory() as folder:
            graph, cables, servers = network(spec, folder)
        for source, target in itertools.permutations(graph, 2):
            if not servers[source] or not servers[target]:
                continue
            paths = paths_of(cables, source, target)
            where = f"{spec}: {source} to {target}"
            for path, end, _ in paths:
                nodes = [node for node, _ in path]
                self.assertEqual(end, target, where)
                self.assertEqual(len(set(nodes)), len(nodes), where)
            self.assertEqual(len({tuple(path) for path, _, _ in paths}), len(paths), where)
            self.assertEqual(sorted(len(path) - 1 for path, _, _ in paths),
                             lengths_of(graph, source, target, ways, algorithm == "ecmp"), where)

    def test_openflow_paths_have_the_lengths_of_networkx(self):
        for spec, ways, algorithm in SPECS:
            for tag in ("vlan", "mpls"):
                text = rules(spec, "--ways", ways, "--algorithm", algorithm, "--tag", tag)
                self.assertTrue(text.startswith(f"#@ weft-rules openflow {tag}\n"))
                switches = {at: OpenFlow(lines) for at, lines in tables(text).items()}
                self.check(spec, ways, algorithm,
                           lambda cables, *pair: follow_openflow(switches, cables, *pair, 0))

    def test_mpls_paths_have_the_lengths_of_networkx(self):
        for spec, ways, algorithm in SPECS:
            text = rules(spec, "--ways", ways, "--algorithm", algorithm, "--format", "mpls")
            switches = {at: Labels(lines) for at, lines in tables(text).items()}
            self.check(spec, ways, algorithm,
                       lambda cables, *pair: follow_labels(switches, cables, *pair))
            labels = [label for switch in switches.values() for label in switch.ilm]
            self.assertGreaterEqual(min(labels), 16)
            self.assertLess(max(labels), 1 << 20)

    def test_servers_are_where_the_blueprint_has_them(self):
        with tempfile.TemporaryDirectory() as folder:
            _, cables, servers = network(JELLYFISH, folder)
            path = os.path.join(folder, "blueprint.csv")
            self.assertEqual(weft("topo", "cable", JELLYFISH, "--out", path).code, 0)
            with open(path) as file:
                head, *rows = (line.rstrip("\n").split(",") for line in file)
        plugged = {}
        for row in rows:
            row = dict(zip(head, row))
            if row["kind"] == "server":
                plugged[row["to_node"]] = (int(row["from_node"]), int(row["from_port"]))
        self.assertEqual(len(plugged), 30)
        switches = {at: OpenFlow(lines) for at, lines in tables(rules(JELLYFISH)).items()}
        for server, (node, port) in plugged.items():
            index = int(server.split("/")[1])
            for source in (0, 7, 14):
                if source == node:
                    address = "02:00:00:%02x:00:%02x" % (node, index)
                    self.assertEqual(switches[node].forward(address, None, "ip"), [(port, None)])
                    continue
                ends = {(end, out) for _, end, out in
                        follow_openflow(switches, cables, source, node, index)}
                self.assertEqual(ends, {(node, port)})

    def test_json_has_the_rules_of_openflow(self):
        flows = {at: OpenFlow(lines) for at, lines in tables(rules(JELLYFISH)).items()}
        document = json.loads(rules(JELLYFISH, "--format", "json"))
        for switch in document["switches"]:
            flow = flows[switch["switch"]]
            hops = {(to, tag, port) for match, actions in flow.flows if "dl_vlan" in match
                    for to, tag, port in [(int(match["dl_dst"].split(":")[3], 16),
                                           int(match["dl_vlan"]), int(actions[7:]) - 1)]}
            self.assertEqual({(hop["to"], hop["tag"], hop["port"]) for hop in switch["hops"]}, hops)
            ways = [(int(group), int(re.search(r"set_field:(\d+)", bucket)[1]) - 4096,
                     int(bucket.rsplit(":", 1)[1]) - 1)
                    for group, buckets in flow.groups.items() for bucket in buckets]
            self.assertEqual([(way["to"], way["tag"], way["port"]) for way in switch["ways"]],
                             ways)


class Counts(unittest.TestCase):
    def test_rules_are_counted_as_printed(self):
        for spec, ways, algorithm in SPECS:
            words = (spec, "--ways", ways, "--algorithm", algorithm)
            found = report(*words)
            lines = tables(rules(*words))
            flows = {at: sum(line.startswith("flow") for line in own) for at, own in lines.items()}
            self.assertEqual(found["rules_total"], sum(flows.values()))
            self.assertEqual(found["rules_max"], max(flows.values()))
            self.assertEqual(flows[int(found["rules_max_switch"])], max(flows.values()))
            self.assertAlmostEqual(found["rules_mean"], sum(flows.values()) / len(flows))
            self.assertEqual(found["way_entries"],
                             sum(line.count("bucket=") for own in lines.values() for line in own))
            tags = collections.defaultdict(set)
            for match, _ in (flow for own in lines.values() for flow in OpenFlow(own).flows):
                if "dl_vlan" in match:
                    tags[match["dl_dst"]].add(match["dl_vlan"])
            self.assertEqual(found["labels"], max(map(len, tags.values())))
            self.assertEqual(found["form"], "openflow vlan")

    def test_mpls_rules_are_counted(self):
        lines = tables(rules(JELLYFISH, "--format", "mpls"))
        found = report(JELLYFISH, "--format", "mpls")
        count = sum(len(Labels(own).ftn) + len(Labels(own).ilm) + len(Labels(own).servers)
                    for own in lines.values())
        self.assertEqual(found["rules_total"], count)
        self.assertEqual(found["labels"], max(len(Labels(own).ilm) for own in lines.values()))

    def test_every_pair_is_checked(self):
        checked = report(JELLYFISH)["checked"]
        self.assertEqual(
            {key: checked[key] for key in ("pairs", "reached", "paths", "loops", "black_holes",
                                           "unused", "ambiguous", "ok", "findings")},
            {"pairs": 15 * 14, "reached": 15 * 14, "paths": 15 * 14 * 8, "loops": 0,
             "black_holes": 0, "unused": 0, "ambiguous": 0, "ok": True, "findings": []})

    def test_a_network_in_parts_has_tables_for_each(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "parts.edges")
            with open(path, "w") as file:
                file.write("0 1\n2 3\n3 4\n")
            checked = report(path)["checked"]
        self.assertEqual((checked["pairs"], checked["pairs_apart"], checked["ok"]), (8, 12, True))

    def test_seeds_choose_among_paths_of_equal_length(self):
        self.assertEqual(rules(JELLYFISH, "--seed", 3), rules(JELLYFISH, "--seed", 3))
        one, other = (rules(JELLYFISH, "--ways", 2, "--seed", seed) for seed in (3, 4))
        self.assertNotEqual(one.split("#@ switch", 1)[1], other.split("#@ switch", 1)[1])


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


class Check(unittest.TestCase):
    WORDS = (JELLYFISH, "--ways", 4)

    def check(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, "tables", text)
            return weft("route", "rules", *(words or self.WORDS), "--check", path)

    def test_printed_tables_pass_the_check(self):
        for words in ([], ["--tag", "mpls"], ["--format", "mpls"], ["--format", "json"]):
            run = self.check(rules(*self.WORDS, *words))
            self.assertEqual((run.code, run.err), (0, ""))
            self.assertIn("every pair is reached on every path, without loops", run.out)

    def test_another_seed_has_paths_of_the_same_lengths(self):
        text = rules(*self.WORDS, "--seed", 9)
        self.assertEqual(self.check(text).code, 0)
        self.assertEqual(self.check(text, JELLYFISH, "--ways", 5).code, 1)

    def faults(self, lines, *words):
        """The faults and the findings for tables with these lines."""
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, "tables", "\n".join(lines) + "\n")
            run = weft("route", "rules", *(words or self.WORDS), "--check", path, "--json")
            self.assertEqual((run.code, run.err), (1, ""))
            checked = run.json["checked"]
            self.assertFalse(checked["ok"])
            self.assertTrue(checked["findings"])
            return checked, [line.removeprefix(path + ": ") for line in checked["findings"]]

    def forward_line(self, lines, start=0):
        """A rule by label that a path needs, and its switch."""
        for number in range(start, len(lines)):
            if "dl_vlan=" in lines[number]:
                head = [line for line in lines[:number] if line.startswith("#@ switch")][-1]
                return number, head.split()[2]
        raise AssertionError

    def test_a_deleted_rule_is_a_black_hole(self):
        lines = rules(*self.WORDS).splitlines()
        number, switch = self.forward_line(lines, 100)
        del lines[number]
        checked, told = self.faults(lines)
        self.assertGreater(checked["black_holes"], 0)
        self.assertLess(checked["reached"], checked["pairs"])
        self.assertIn(f"to switch {switch}, which has no rule for it: a black hole", told[0])

    def test_a_rule_that_sends_packets_back_is_a_loop(self):
        lines = rules(*self.WORDS).splitlines()
        ports = {port for line in lines for port in re.findall(r"output:(\d+)", line)}
        number, switch = self.forward_line(lines, 200)
        loops = 0
        for port in ports:
            changed = list(lines)
            changed[number] = re.sub(r"output:\d+", f"output:{port}", lines[number])
            if changed == lines:
                continue
            checked, told = self.faults(changed)
            loops += checked["loops"] > 0
            if checked["loops"]:
                self.assertTrue(any(re.match(rf"line {number + 1}: switch {switch}: the rule for "
                                             r"label \d+ to \d+, out of port \d+, comes to switch "
                                             r"\d+ a second time: a loop \(from \d+, way", line)
                                    for line in told), told)
        self.assertGreater(loops, 0)

    def test_a_port_without_a_cable_is_reported(self):
        lines = rules(*self.WORDS).splitlines()
        number, switch = self.forward_line(lines, 150)
        lines[number] = re.sub(r"output:\d+", "output:77", lines[number])
        checked, told = self.faults(lines)
        self.assertGreater(checked["bad_ports"], 0)
        self.assertRegex(told[0], rf"^line {number + 1}: switch {switch}: .* out of port 77, does "
                                  "not leave by a cable to a switch")

    def test_an_unknown_label_is_a_black_hole(self):
        lines = rules(*self.WORDS).splitlines()
        number, _ = next((number, line) for number, line in enumerate(lines)
                         if line.startswith("group"))
        # the last way is the longest
        head, _, tail = lines[number].rpartition("set_field:")
        lines[number] = head + "set_field:8000->" + tail.partition("->")[2]
        checked, told = self.faults(lines)
        self.assertEqual(checked["black_holes"], 1)
        self.assertIn("sends label 3904 to switch", told[0])
        self.assertIn("way 4 of 4", told[0])

    def test_a_duplicate_rule_is_ambiguous_and_a_rule_without_packets_unused(self):
        lines = rules(*self.WORDS).splitlines()
        number, switch = self.forward_line(lines)
        twice = lines[:number] + [lines[number]] + lines[number:]
        checked, told = self.faults(twice)
        self.assertEqual(checked["ambiguous"], 1)
        self.assertIn(f"line {number + 2}: switch {switch}: line {number + 1} matches the same "
                      "packets", told)
        other = re.sub(r"dl_vlan=\d+", "dl_vlan=4000", lines[number])
        checked, told = self.faults(lines[:number] + [other] + lines[number:])
        self.assertEqual({key for key in checked if checked[key] and key not in
                          ("pairs", "paths", "reached", "findings")}, {"unused"})
        self.assertEqual(told, [f"line {number + 1}: switch {switch}: no packet uses this rule"])

    def test_every_rule_is_needed(self):
        # no line of these tables can go
        words = ("torus:5", "--ways", 2)
        for form in ("openflow", "mpls"):
            lines = rules(*words, "--format", form).splitlines()
            for number, line in enumerate(lines):
                if not line.startswith("#"):
                    self.faults(lines[:number] + lines[number + 1:], *words)

    def test_servers_at_wrong_ports_are_reported(self):
        lines = rules(*self.WORDS).splitlines()
        number = next(n for n, line in enumerate(lines) if "table=1" in line)
        lines[number] = re.sub(r"output:\d+", "output:1", lines[number])
        checked, told = self.faults(lines)
        self.assertEqual(checked["astray"], 1)
        self.assertEqual(told[0], f"line {number + 1}: switch 0: server 0 is not at that port")

    def test_tables_of_another_network_are_refused(self):
        run = self.check(rules("torus:4x4"), "torus:3x3")
        self.assertEqual((run.code, run.out), (2, ""))
        self.assertRegex(run.err, r"^weft: [^\n]+: line \d+: [^\n]+\n$")

    def test_bad_lines_are_refused(self):
        for text in ("", "nonsense\n", "{}", "#@ weft-rules mpls\nilm label=16 pop\n",
                     "#@ weft-rules openflow vlan\n#@ switch 0 0\nflow add actions=drop\n"):
            run = self.check(text)
            self.assertEqual((run.code, run.out), (2, ""), text)
            self.assertRegex(run.err, r"^weft: [^\n]+: line \d+: [^\n]+\n$")


class Files(unittest.TestCase):
    def test_a_folder_has_a_file_per_switch_and_is_checked(self):
        for form, ending in (("openflow", "flows"), ("mpls", "mpls"), ("json", "json")):
            with tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "new", "tables") + "/"
                run = weft("route", "rules", JELLYFISH, "--format", form, "--out", out)
                self.assertEqual(run.code, 0, run.err)
                self.assertIn("written    " + out, run.out)
                self.assertEqual(sorted(os.listdir(out)), sorted(f"{v}.{ending}" for v in range(15)))
                self.assertEqual(weft("route", "rules", JELLYFISH, "--check", out).code, 0)
                os.remove(os.path.join(out, f"7.{ending}"))
                run = weft("route", "rules", JELLYFISH, "--check", out)
                self.assertEqual((run.code, run.out), (2, ""))
                self.assertIn(f"7.{ending}", run.err)

    def test_a_file_equals_the_printed_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tables")
            found = report(JELLYFISH, "--out", path)
            self.assertEqual(found["written"], path)
            with open(path) as file:
                self.assertEqual(file.read(), rules(JELLYFISH))

    def test_the_table_of_one_switch_equals_that_among_all(self):
        for form in ("openflow", "mpls"):
            everything = tables(rules(JELLYFISH, "--format", form))
            for switch in (0, 9):
                one = tables(rules(JELLYFISH, "--format", form, "--switch", switch))
                self.assertEqual(one, {switch: everything[switch]})
            self.assertEqual(report(JELLYFISH, "--format", form, "--switch", 3),
                             report(JELLYFISH, "--format", form))

    def test_unusual_names_of_switches_can_be_read_again(self):
        names = ["a b", "#@ switch 1", "../x", "quote\"", "100%", "\u00e9", "x" * 300]
        graph = networkx.relabel_nodes(networkx.cycle_graph(7), dict(enumerate(names)))
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, "net.json", json.dumps(networkx.node_link_data(graph)))
            for form in ("openflow", "mpls", "json"):
                out = os.path.join(folder, form) + "/"
                self.assertEqual(report(path, "--format", form, "--out", out)["checked"]["pairs"], 42)
                self.assertEqual(len(os.listdir(out)), 7)
                self.assertEqual(weft("route", "rules", path, "--check", out).code, 0)
                text = rules(path, "--format", form)
                same = write(folder, "tables", text)
                self.assertEqual(weft("route", "rules", path, "--check", same).code, 0)
            heads = [line for line in rules(path).splitlines() if line.startswith("#@ switch")]
            self.assertEqual([head.split(" ")[3] for head in heads],
                             ["a%20b", "%23@%20switch%201", "%2e.%2fx", "quote%22",
                              "100%25", "\u00e9", "x" * 300])
            self.assertEqual(tables(rules(path, "--switch", "a b")), {0: tables(rules(path))[0]})


class Tags(unittest.TestCase):
    def test_more_labels_than_vlans_use_mpls(self):
        # two cables from each switch to the next: 8192 paths from end to end, and half as many
        # ways to go on from the second switch
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, "line.edges", "".join(f"{i} {i + 1}\n" * 2 for i in range(13)))
            words = (path, "--ways", 10000, "--algorithm", "ecmp")
            found = report(*words)
            self.assertEqual((found["form"], found["labels"]), ("openflow mpls", 4096))
            self.assertEqual(found["checked"]["paths"], 2 * sum((14 - d) << d for d in range(1, 14)))
            self.assertTrue(found["checked"]["ok"])
            self.assertEqual(report(*words, "--switch", 3)["form"], "openflow mpls")
            run = weft("route", "rules", *words, "--tag", "vlan")
            self.assertEqual((run.code, run.out), (2, ""))
            self.assertIn("need 4096 tags, but there are only 4094 VLANs", run.err)


class Refusals(unittest.TestCase):
    def test_invalid_requests_give_one_line_and_exit_2(self):
        for words in (
            (),
            ("torus:3", "--ways", 0),
            ("torus:3", "--algorithm", "dor"),
            ("torus:3", "--format", "xml"),
            ("torus:3", "--tag", "vlan", "--format", "mpls"),
            ("torus:3", "--switch", "x"),
            ("torus:3", "--switch", 1, "--check", "x"),
            ("torus:3", "--out", "y", "--check", "x"),
            ("torus:3", "--out", "-"),
            ("torus:60x60",),  # more rules than fit
        ):
            run = weft("route", "rules", *words)
            self.assertEqual((run.code, run.out), (2, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")

    def test_too_many_rules_are_refused_with_their_number(self):
        self.assertRegex(weft("route", "rules", "torus:60x60").err,
                         r"3600 switches with servers and 8 ways need about \d+ rules, but only \d+ fit")

    def test_missing_files_are_refused(self):
        for code, *words in ((2, "--check", "/nowhere/x"), (1, "--out", "/nowhere/x"),
                             (2, "--check", "/nowhere/")):
            run = weft("route", "rules", "torus:3", *words)
            self.assertEqual((run.code, run.out), (code, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")


main()
