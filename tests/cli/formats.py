"""Topology files: exchange with networkx in every format, and errors for broken files."""

import json
import os
import random
import re
import sys
import tempfile
import unittest

import networkx as nx
from networkx.readwrite import json_graph

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

SEED = 20
FULL = ["json", "edgelist", "dot", "graphml"]  # they keep everything
FORMATS = FULL + ["anynet"]


def graphs():
    """Many graphs, as networkx makes them, by name."""
    grid = nx.grid_2d_graph(3, 4, periodic=True)
    multi = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    words = nx.relabel_nodes(nx.petersen_graph(), lambda v: f"rack {v // 2}, switch {v % 2}")
    accents = nx.relabel_nodes(nx.cycle_graph(5), dict(enumerate(["é", "日本", "ß€", "😀", "ñ b"])))
    isolated = nx.cycle_graph(4)
    isolated.add_nodes_from([4, 5, 6])
    shuffled = nx.Graph()
    shuffled.add_nodes_from([3, 0, 2, 1])
    shuffled.add_edges_from([(3, 0), (0, 2), (2, 1)])
    return {
        "torus": nx.convert_node_labels_to_integers(grid),
        "tuples": grid,
        "petersen": nx.petersen_graph(),
        "random": nx.gnm_random_graph(40, 90, seed=SEED),
        "regular": nx.random_regular_graph(5, 30, seed=SEED),
        "multigraph": multi,
        "words": words,
        "accents": accents,
        "isolated": isolated,
        "gaps": nx.Graph([(10, 20), (20, 30)]),
        "shuffled": shuffled,
        "odd": nx.Graph([('a"b', "c'd"), ("<&>", "#x"), ("#x", "a b"), ("-1", "graph"), ("a\\b", "-1")]),
        "directed": nx.DiGraph(nx.path_graph(4)),
    }


def plain(word):
    """A node's name as pydot gives it: with its quotes, if it had any."""
    if isinstance(word, str) and len(word) > 1 and word[0] == word[-1] == '"':
        return word[1:-1].replace('\\"', '"')
    return str(word)


def shape(graph):
    """Names and links as strings: what every format must preserve."""
    edges = graph.edges()
    if graph.is_directed():
        edges = {frozenset(map(str, edge)) for edge in edges}
        links = sorted(sorted(edge) for edge in edges)
    else:
        links = sorted(sorted((plain(a), plain(b))) for a, b in edges)
    return sorted(plain(v) for v in graph.nodes() if v != "\\n"), links


def read(path, form):
    """The file as networkx reads it."""
    if form == "json":
        with open(path, encoding="utf-8") as file:
            return json_graph.node_link_graph(json.load(file))
    if form == "edgelist":
        return nx.read_edgelist(path, create_using=nx.MultiGraph)
    if form == "dot":
        return nx.nx_pydot.read_dot(path)
    return nx.read_graphml(path)


def node_link(data, edges):
    """The graph as node_link_graph of networkx reads it: up to 3.3 from "links", from 3.6 on from "edges"."""
    graph = nx.MultiGraph() if data.get("multigraph", True) else nx.Graph()
    graph.graph = data.get("graph", {})
    assert not data["directed"]
    for node in data["nodes"]:
        graph.add_node(node["id"], **{key: node[key] for key in node if key != "id"})
    for link in data[edges]:
        values = {key: link[key] for key in link if key not in ("source", "target", "key")}
        key = {"key": link["key"]} if graph.is_multigraph() else {}
        graph.add_edge(link["source"], link["target"], **key, **values)
    return graph


def write(graph, path, form):
    """The graph as networkx writes it."""
    if form == "json":
        with open(path, "w", encoding="utf-8") as file:
            json.dump(json_graph.node_link_data(graph), file)
    elif form == "edgelist":
        nx.write_edgelist(graph, path)
    elif form == "dot":
        nx.nx_pydot.write_dot(graph, path)
    else:
        nx.write_graphml(graph, path)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content)
        return self.path(name)

    def good(self, *words, **more):
        run = weft(*words, **more)
        self.assertEqual((run.code, run.err), (0, ""), words)
        return run

    def refused(self, run, code, pattern):
        self.assertEqual(run.code, code, run.err)
        self.assertEqual(run.out, "")
        self.assertRegex(run.err, r"\Aweft: [^\n]+\n\Z")
        self.assertRegex(run.err, pattern)


class FromNetworkx(Folder):
    def test_json_and_graphml_of_networkx_are_read(self):
        for name, graph in graphs().items():
            for form in ["json", "graphml"]:
                with self.subTest(graph=name, form=form):
                    path = self.path(f"{name}.{form}")
                    write(graph, path, form)
                    made = json_graph.node_link_graph(self.good("topo", "build", path).json)
                    self.assertEqual(shape(made), shape(graph))
                    self.assertFalse(made.is_directed())

    def test_edge_lists_of_networkx_are_read(self):
        for name, graph in graphs().items():
            if any(set(" #") & set(str(v)) for v in graph) or graph.is_directed():
                continue  # networkx itself does not read these back
            with self.subTest(graph=name):
                path = self.path(f"{name}.edgelist")
                write(graph, path, "edgelist")
                made = json_graph.node_link_graph(self.good("topo", "build", path).json)
                lonely = {str(v) for v in nx.isolates(graph)}  # the file has only links
                nodes, links = shape(graph)
                self.assertEqual(shape(made), ([v for v in nodes if v not in lonely], links))

    def test_dot_of_networkx_is_read(self):
        for name, graph in graphs().items():
            if name == "odd":
                continue  # pydot writes names that graphviz refuses
            with self.subTest(graph=name):
                path = self.path(f"{name}.dot")
                write(graph, path, "dot")
                made = json_graph.node_link_graph(self.good("topo", "build", path).json)
                self.assertEqual(shape(made), shape(graph))

    def test_attributes_of_networkx_are_read(self):
        graph = nx.cycle_graph(4)
        for v in graph:
            graph.nodes[v].update(servers=v, ports=9, group=v % 2, level=1)
        for form in ["json", "graphml", "dot"]:
            with self.subTest(form=form):
                path = self.path(f"a.{form}")
                write(graph, path, form)
                made = self.good("topo", "build", path).json
                self.assertFalse(made["graph"]["direct"])
                want = [{"id": v, "servers": v, "ports": 9, "level": 1, "group": v % 2} for v in graph]
                self.assertEqual(made["nodes"], want)

    def test_the_key_edges_is_read_like_links(self):
        data = json_graph.node_link_data(nx.petersen_graph())
        links = self.good("topo", "build", "-", stdin=json.dumps(data)).json
        data["edges"] = data.pop("links")
        self.assertEqual(self.good("topo", "build", "-", stdin=json.dumps(data)).json, links)


class ToNetworkx(Folder):
    def test_networkx_reads_files_of_weft(self):
        for name, graph in graphs().items():
            source = self.path(f"{name}.json")
            write(graph, source, "json")
            for form in FULL:
                if name == "odd" and form == "dot":
                    continue  # pydot cannot read escaped quotes; graphviz can
                with self.subTest(graph=name, form=form):
                    path = self.path(f"{name}.out.{form}")
                    self.good("topo", "export", source, "--out", path)
                    made = read(path, form)
                    if form == "edgelist":
                        made.add_nodes_from(nx.isolates(graph))
                        if any(set(" #") & set(str(v)) for v in graph):  # the file has numbers instead
                            made = nx.relabel_nodes(made, {str(i): v for i, v in enumerate(graph)})
                    self.assertEqual(shape(made), shape(graph))

    def test_networkx_reads_ports_and_servers(self):
        for form in FULL:
            path = self.path("t." + form)
            self.good("topo", "build", "torus:4x3", "--out", path)
            made = read(path, form)
            with self.subTest(form=form):
                if form != "edgelist":
                    self.assertEqual({int(d["servers"]) for _, d in made.nodes(data=True) if d}, {1})
                ports = sorted((int(d["source_port"]), int(d["target_port"]))
                               for *_, d in made.edges(data=True))
                self.assertEqual(ports, [(0, 1)] * 12 + [(2, 3)] * 12)

    def test_a_torus_equals_that_of_networkx(self):
        made = json_graph.node_link_graph(self.good("topo", "build", "torus:4x5").json)
        self.assertTrue(nx.is_isomorphic(made, nx.grid_2d_graph(4, 5, periodic=True)))

    def test_every_version_of_networkx_reads_the_file_without_an_option(self):
        for words, stdin in ((["torus:4x5"], ""), (["fattree:k=4"], ""), (["-"], "a b\nb a\nb c\n")):
            data = self.good("topo", "build", *words, stdin=stdin).json
            made = json_graph.node_link_graph(data)  # of the version that is installed
            for key in ("links", "edges"):
                graph = node_link(data, key)
                self.assertEqual(graph.is_multigraph(), made.is_multigraph())
                self.assertEqual((graph.graph, graph._node, graph._adj), (made.graph, made._node, made._adj))

    def test_either_list_of_links_is_read_and_two_must_agree(self):
        whole = self.good("topo", "build", "torus:3x3").json
        for key in ("links", "edges"):
            data = {**whole}
            del data[key]
            self.assertEqual(self.good("topo", "build", "-", stdin=json.dumps(data)).json, whole)

        def changed(change):
            data = json.loads(json.dumps(whole))
            change(data["edges"])
            return weft("topo", "build", "-", stdin=json.dumps(data, indent=1))

        for change, entry in ((lambda edges: edges.pop(), 17), (lambda edges: edges.append(edges[0]), 18),
                              (lambda edges: edges[4].update(target=0), 4),
                              (lambda edges: edges[5].update(source_port=9), 5), (list.reverse, 0)):
            self.refused(changed(change), 2, rf'line \d+: "links" and "edges" differ at entry {entry}, ')
        twice = json.dumps(whole)[:-1] + ', "edges": []}'
        self.refused(weft("topo", "build", "-", stdin=twice), 2, "edges is given twice")

    def test_a_multigraph_has_keys(self):
        made = self.good("topo", "build", "-", stdin="0 1\n1 0\n1 2\n").json
        self.assertTrue(made["multigraph"])
        self.assertEqual([link["key"] for link in made["links"]], [0, 1, 0])
        self.assertFalse(self.good("topo", "build", "torus:3").json["multigraph"])


class RoundTrips(Folder):
    def test_every_format_preserves_the_topology(self):
        sources = []
        for name, graph in graphs().items():
            chance = random.Random(SEED)
            for v in graph:
                if name in ("random", "words", "isolated"):
                    graph.nodes[v].update(servers=chance.randrange(4), group=chance.randrange(3),
                                          ports=60, level=chance.randrange(2))
            write(graph, self.path(f"{name}.json"), "json")
            sources.append(self.path(f"{name}.json"))
        for source in sources + ["torus:3x3x3", "torus:2x5", "torus:1"]:
            want = self.good("topo", "build", source).out
            for form in FULL:
                with self.subTest(source=source, form=form, seed=SEED):
                    file = self.good("topo", "export", source, "--format", form).out
                    self.assertEqual(self.good("topo", "build", "-", stdin=file).out, want)

    def test_anynet_preserves_routers_servers_and_links(self):
        for source in ["torus:3x4", self.put("s.json", json.dumps(
                {"nodes": [{"id": v, "servers": v % 3} for v in range(6)],
                 "links": [{"source": v, "target": (v + 1) % 6} for v in range(6)]}))]:
            want = self.good("topo", "build", source).json
            file = self.good("topo", "export", source, "--format", "anynet").out
            made = self.good("topo", "build", self.put("a.anynet", file)).json
            self.assertEqual(made["nodes"], want["nodes"])
            self.assertEqual(made["graph"]["direct"], want["graph"]["direct"])
            ends = lambda topology: sorted(sorted((link["source"], link["target"])) for link in topology["links"])
            self.assertEqual(ends(made), ends(want))

    def test_the_spec_is_kept_unless_the_links_contradict_it(self):
        for form in FULL:
            path = self.path("t." + form)
            self.good("topo", "build", "torus:4x3", "--out", path)
            self.assertEqual(self.good("topo", "build", path).json["graph"]["spec"], "torus:4x3")
            with open(path) as file:
                lie = file.read().replace("torus:4x3", "torus:3x4")
            self.assertNotIn("spec", self.good("topo", "build", self.put("l." + form, lie)).json["graph"])


class Broken(Folder):
    def test_a_file_truncated_at_any_byte_is_refused_with_a_line_or_complete(self):
        for form in FORMATS:
            whole = self.good("topo", "export", "torus:3", "--format", form).out
            for size in range(len(whole)):
                run = weft("topo", "build", self.put("cut." + form, whole[:size]))
                with self.subTest(form=form, size=size):
                    if run.code:
                        self.refused(run, 2, r"cut\.\w+: line \d+: \S")
                        line = int(re.search(r"line (\d+):", run.err)[1])
                        self.assertLessEqual(line, whole[:size].count("\n") + 1)
                    elif form in ("json", "dot", "graphml"):  # all but the last white space
                        self.assertEqual(whole[size:].strip(), "")

    def test_each_mistake_is_reported_with_its_line(self):
        nodes = '{"nodes": [{"id": 0},\n{"id": 1}],\n"links": ['
        for name, content, line, reason in [
            ("a.json", '{"nodes": [}', 1, "'}' where a value"),
            ("a.json", nodes + '{"source": 0, "target": 2}]}', 3, "node '2', which is not among"),
            ("a.json", nodes + '{"source": 1,\n"target": 1}]}', 3, "linked to itself"),
            ("a.json", nodes + '{"source": 1}]}', 3, "has no target"),
            ("a.json", '{"nodes": [{"id": 0,\n\n"servers": -4}]}', 3, "servers is '-4'"),
            ("a.json", '{"nodes": [{"id": 0,\n"ports": "x"}]}', 2, "ports should be a whole number"),
            ("a.json", '{"nodes": [{"id": 0},\n{"id": 0}]}', 2, "listed twice"),
            ("a.json", nodes + '{"source": 0, "target": 1, "source_port": 1},\n'
                       '{"source": 0, "target": 1, "source_port": 1}]}', 4, "port 1 of node '0'"),
            ("a.json", '{"directed": true,\n' + nodes[1:] + '{"source": 0, "target": 1}]}', 4,
             "no reverse"),
            ("a.json", '{"nodes": []}\n{}', 2, "the end of the file"),
            ("a.json", '{"a":\n' + "[" * 500, 2, "more than 64 brackets"),
            ("a.edgelist", "0 1\n2\n", 2, "only one node"),
            ("a.edgelist", "0 1\n0 0\n", 2, "linked to itself"),
            ("a.txt", "0 1\n0 2 {'a': 1\n", 2, "dictionary has no end"),
            ("a.edges", "0 1 many\n", 1, "'many' where a number"),
            ("a.dot", "graph {\n0 -- 1\n0 -> 2\n}", 3, "'->' where --"),
            ("a.dot", "digraph {\n0 -> 1\n}", 2, "no reverse"),
            ("a.gv", 'graph {\n"abc\n\n}', 2, "has no end"),
            ("a.gv", "graph {\na [servers=many]\n}", 2, "servers is 'many'"),
            ("a.graphml", "<graphml>\n<graph>\n<node>", 3, "has no id"),
            ("a.graphml", "<graphml>\n<graph>\n</node>", 3, "not XML"),
            ("a.graphml", '<!DOCTYPE x [\n<!ENTITY a "b">]>\n<graphml/>', 2, "entities"),
            ("a.anynet", "router 0 router 1\nrouter 1 router x\n", 2, "'x' where the number"),
            ("a.anynet", "router 0 router 1 -5\n", 1, "latency"),
            ("a.anynet", "router 0 node 0\n\nrouter 1 node 0\n", 3, "second router"),
        ]:
            with self.subTest(content=content):
                path = self.put(name, content)
                run = weft("topo", "build", path)
                self.refused(run, 2, re.escape(f"{path}: line {line}: ") + ".*" + re.escape(reason))

    def test_an_unreadable_file_is_refused(self):
        self.refused(weft("topo", "build", self.folder), 2, "directory")
        self.refused(weft("topo", "build", self.path("absent.json")), 2, "No such file")
        self.refused(weft("topo", "build", "-", stdin=""), 2, "standard input: line 1: ")
        self.refused(weft("topo", "build", self.put("a.json", b"\x00\xff" * 99)), 2, "line 1: ")

    def test_an_unknown_topology_is_refused(self):
        self.refused(weft("topo", "build", "taurus:3x3"), 2,
                     r"no such topology: taurus:3x3 \(did you mean 'torus'\?\); there are .*torus")
        with open(self.path("taurus:3x3"), "w") as file:
            file.write("0 1\n")
        self.assertEqual(len(weft("topo", "build", "taurus:3x3", cwd=self.folder).json["links"]), 1)


class Manual(Folder):
    def test_the_examples_of_the_manual_are_read(self):
        page = os.path.join(os.path.dirname(__file__), "../../man/weft-topology-file.5")
        with open(page) as file:
            examples = re.findall(r"^\.EX\n(.*?)^\.EE$", file.read(), re.M | re.S)
        examples = [text.replace("\\-", "-") for text in examples if not text.startswith("weft:")]
        self.assertEqual(len(examples), len(FORMATS))
        nodes = [len(self.good("topo", "build", "-", stdin=text).json["nodes"]) for text in examples]
        self.assertEqual(nodes, [3, 2, 3, 2, 3])


class Commands(Folder):
    def test_the_ending_of_the_name_selects_the_format(self):
        for ending, form in [("json", "json"), ("edges", "edgelist"), ("txt", "edgelist"), ("gv", "dot"),
                             ("graphml", "graphml"), ("anynet", "anynet"), ("", "json")]:
            path = self.path("a." + ending if ending else "a")
            summary = self.good("topo", "build", "torus:3x3", "--out", path, "--json").json
            self.assertEqual(summary, {"file": path, "format": form, "kind": "torus", "spec": "torus:3x3",
                                       "nodes": 9, "servers": 9, "switches": 0, "links": 18})
            with open(path) as file:
                written = file.read()
            self.assertEqual(written, self.good("topo", "export", "torus:3x3", "--format", form).out)

    def test_the_option_overrides_the_ending(self):
        path = self.path("a.json")
        line = self.good("topo", "build", "torus:3x3", "--out", path, "--format", "anynet").out
        self.assertRegex(line, r"\A[^\n]+9 nodes, 18 links, 9 servers, as anynet\n\Z")
        with open(path) as file:
            self.assertTrue(file.read().startswith("router 0"))

    def test_the_content_determines_the_format_if_the_name_does_not(self):
        want = self.good("topo", "build", "torus:4").json
        for form in FORMATS:
            path = self.put("unnamed", self.good("topo", "export", "torus:4", "--format", form).out)
            made = self.good("topo", "build", path).json
            self.assertEqual(len(made["links"]), len(want["links"]), form)

    def test_export_needs_a_format(self):
        self.refused(weft("topo", "export", "torus:3"), 2, "which format")
        self.refused(weft("topo", "export", "torus:3", "--format", "gml"), 2, "json, edgelist, dot")
        self.refused(weft("topo", "export", "torus:3", "--format", "dot", "--json"), 2, "--out")

    def test_a_topology_that_a_format_cannot_store_is_refused(self):
        self.refused(weft("topo", "export", "-", "--format", "anynet", stdin="0 1\n0 1\n"), 2, "more than one cable")

    def test_a_failed_write_leaves_nothing(self):
        run = weft("topo", "build", "torus:3x3", "--out", "/dev/full")
        self.refused(run, 1, "/dev/full: No space left")
        self.refused(weft("topo", "build", "torus:3x3", "--out", self.folder), 1, "directory")
        self.refused(weft("topo", "build", "torus:3x3", "--out", self.path("no/such/a.json")), 1, "No such file")
        self.refused(weft("topo", "build", self.put("bad.json", "{"), "--out", self.path("a.json")), 2, "line 1")
        self.assertEqual(os.listdir(self.folder), ["bad.json"])

    def test_a_failure_keeps_the_old_file(self):
        path = self.put("a.anynet", "precious")
        self.refused(weft("topo", "build", "-", "--out", path, stdin="0 1\n0 1\n"), 2, "anynet")
        with open(path) as file:
            self.assertEqual(file.read(), "precious")

    def test_a_folder_that_cannot_be_written_is_reported(self):
        folder = self.folder
        if os.geteuid() == 0:
            folder = "/dev/null"  # no folder at all: even root makes no file there
        else:
            os.chmod(folder, 0o500)
            self.addCleanup(os.chmod, folder, 0o700)
        self.refused(weft("topo", "build", "torus:3", "--out", folder + "/a.json"), 1, "a.json: ")


main()
