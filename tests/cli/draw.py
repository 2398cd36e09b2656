"""weft topo draw: pictures are valid, complete, and never partially written."""

import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, sys.path[0] + "/..")
from tap import main, weft

SVG = "{http://www.w3.org/2000/svg}"


class Draw(unittest.TestCase):
    def test_every_kind_of_layout_is_a_picture_of_all_cables(self):
        for spec, layout, nodes, links in (
            ("torus:3x3x3", "auto", 27, 81),
            ("torus:5x5", "grid", 25, 50),
            ("torus:5x5", "circle", 25, 50),
            ("torus:5x5", "spring", 25, 50),
            ("torus:5x5", "levels", 25, 50),
            ("torus:1", "auto", 1, 0),
        ):
            run = weft("topo", "draw", spec, "--layout", layout)
            self.assertEqual(run.code, 0, run.err)
            picture = xml.fromstring(run.out)
            self.assertEqual(len(list(picture.iter(SVG + "path"))), links, spec)
            self.assertEqual(len(list(picture.iter(SVG + "circle"))), nodes, spec)

    def test_all_coordinates_are_inside_the_picture(self):
        picture = xml.fromstring(weft("topo", "draw", "torus:4x4x4").out)
        for circle in picture.iter(SVG + "circle"):
            self.assertLess(0, float(circle.get("cx")))
            self.assertLess(float(circle.get("cx")), float(picture.get("width")))
            self.assertLess(0, float(circle.get("cy")))
            self.assertLess(float(circle.get("cy")), float(picture.get("height")))

    def test_a_failed_write_does_not_change_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.svg")
            run = weft("topo", "draw", "torus:3x3", "--out", path, "--json")
            self.assertEqual(run.json, {"file": path, "bytes": os.path.getsize(path)})
            self.assertEqual(weft("topo", "draw", "torus:0", "--out", path).code, 2)
            self.assertEqual(run.json["bytes"], os.path.getsize(path))
            self.assertEqual(weft("topo", "draw", "torus:3", "--out", folder).code, 1)
            self.assertEqual(weft("topo", "draw", "torus:3", "--out", "/dev/full").code, 1)
            self.assertEqual(os.listdir(folder), ["a.svg"])

    def test_invalid_options_are_refused_in_one_line(self):
        for words in (["torus:3", "--layout", "cubist"], ["torus:99x99"], ["torus:3", "--json"]):
            run = weft("topo", "draw", *words)
            self.assertEqual((run.code, run.out), (2, ""), words)
            self.assertRegex(run.err, r"^weft: [^\n]+\n$")


main()
