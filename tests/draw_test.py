# ctest: TIMEOUT 180
"""`toprun topo draw` as others read it: an XML parser, a real Chromium, a real Graphviz."""

import os
import re
import shlex
import stat
import struct
import subprocess
import unittest
import xml.etree.ElementTree as xml
import zlib

import browser
import support

SVG = "{http://www.w3.org/2000/svg}"
CHROMIUM_LIMIT_S = 100
# Of lines that leave the outermost level's domains and the next one's, and that stay inside.
CLUSTER, RACK, INSIDE = (0xd5, 0x5e, 0x00), (0x00, 0x72, 0xb2), (0x5c, 0x67, 0x73)
DARK_PAGE = (0x20, 0x20, 0x20)


def racks(nodes, count):
    """Lines of a topology file: neighbours in name order are in different racks."""
    return "".join(f"n{i} /c{i % count * 2 // count}/rack{i % count}/x\n" for i in range(nodes))


def pixels(png):
    """{(red, green, blue): how many} of a PNG of 8 bits per channel that is not interlaced."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and not interlaced
            step = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    raw = zlib.decompress(packed)
    found, line, size = {}, bytearray(width * step), width * step
    for row in range(height):
        start = row * (size + 1)
        line = unfiltered(raw[start], bytearray(raw[start + 1:start + 1 + size]), line, step)
        for i in range(0, size, step):
            colour = bytes(line[i:i + 3])
            found[colour] = found.get(colour, 0) + 1
    return {tuple(colour): count for colour, count in found.items()}


def unfiltered(kind, line, above, step):
    """A row of a PNG; `above` is the one before (PNG specification, 9.2)."""
    for i in range(len(line) if kind else 0):
        left = line[i - step] if i >= step else 0
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = above[i]
        elif kind == 3:
            guess = (left + above[i]) // 2
        else:
            guess = min((left, above[i], corner),
                        key=lambda value: abs(left + above[i] - corner - value))
        line[i] = (line[i] + guess) & 0xff
    return line


class Draw(support.TestCase):
    def draw(self, places, *options, **how):
        path = self.folder() / "places"
        path.write_bytes(places if isinstance(places, bytes) else places.encode())
        finished = self.toprun("topo", "draw", "--topology", path, *options, **how)
        self.assert_ok(finished)
        return finished.out

    def test_a_terminal_gets_a_picture_only_if_asked(self):
        (path := self.folder() / "places").write_text(racks(4, 2))
        for words, begins in (([], "toprun: standard output: a terminal does not show a picture .svg.; give -o FILE"), (["-o", "-"], "<"), (["--format", "dot"], "")):
            line = shlex.join(map(str, (support.binary(), "topo", "draw", "--topology", path, *words)))
            finished = self.run_to_end("script", "-qec", line, "/dev/null")
            self.assertRegex(finished.out, rf"\A{begins}")
            self.assertEqual(finished.code, 0 if words else 2)

    def test_the_picture_of_the_guide_is_the_one_of_this_program(self):
        folder = self.folder()
        (folder / "eight.txt").write_text("".join(f"n{i} /core/r{i % 4}/x\n" for i in range(8)))
        finished = self.toprun("topo", "draw", "--topology", "eight.txt", "--nproc-per-node", "8", "-o", "ring.svg", cwd=folder)
        self.assert_ok(finished)
        self.assertEqual((support.REPOSITORY / "docs/guides/ring.svg").read_text(), (folder / "ring.svg").read_text(),
                         "draw docs/guides/ring.svg again, by the command of topology.md")

    def screenshot(self, page, width, height):
        folder = self.folder()
        self.run_to_end(browser.program(), *browser.ALONE, f"--user-data-dir={folder / 'profile'}",
                        f"--screenshot={folder / 'shot.png'}", f"--window-size={width},{height}",
                        page.as_uri(), limit=CHROMIUM_LIMIT_S, env={"HOME": str(folder)})
        shot = folder / "shot.png"
        if not shot.exists():
            raise unittest.SkipTest("chromium takes no screenshots here")
        return pixels(shot.read_bytes())

    def test_chromium_shows_it_in_a_dark_page(self):
        browser.program()
        folder = self.folder()
        svg = self.draw(racks(8, 4), "--order", "given")
        (folder / "ring.svg").write_text(svg)
        inline = svg.partition("?>")[2]
        (folder / "page.html").write_text(
            f'<meta charset="utf-8"><body style="background:#202020; color:#eee; margin:0">'
            f'<img src="ring.svg"><br>{inline}')
        size = xml.fromstring(svg).attrib
        width, height = int(size["width"]), int(size["height"])
        seen = self.screenshot(folder / "page.html", width + 40, 2 * height + 40)
        # Both pictures: as a file and as a part of the page.
        self.assertGreater(seen.get((255, 255, 255), 0), width * height)
        self.assertGreater(seen.get(DARK_PAGE, 0), 1000)
        for colour in (CLUSTER, RACK):
            self.assertGreater(seen.get(colour, 0), 400, colour)
        self.assertGreater(len(seen), 20)

    def test_is_xml_whatever_the_names_hold(self):
        names = [b"<b>", b"a&amp;b", b"'\"", b"]]>", b"\xff\xfe", "räck".encode(), b"\x1b[31m",
                 "\u202Eabc\uFFFF".encode(), b"x" * 200]
        svg = self.draw(b"".join(b"n%d /c/%s/x\n" % (i, name) for i, name in enumerate(names)))
        root = xml.fromstring(svg)
        self.assertEqual(root.tag, SVG + "svg")
        shown = ["".join(text.itertext()) for text in root.iter(SVG + "text")]
        for text in ("rack <b> · 1 node", "rack a&amp;b · 1 node", "rack '\" · 1 node"):
            self.assertIn(text, shown)
        self.assertEqual({child.tag for child in root.iter()},
                         {SVG + tag for tag in ("svg", "g", "rect", "path", "text", "title")})

    def test_all_text_is_large_enough_to_read(self):
        for nodes, count in ((8, 4), (4000, 250)):
            root = xml.fromstring(self.draw(racks(nodes, count)))
            sizes = [float(element.attrib["font-size"]) for element in root.iter()
                     if "font-size" in element.attrib]
            self.assertGreaterEqual(min(sizes), 11)

    def test_graphviz_draws_it(self):
        support.needs_program("dot")
        for places in (racks(8, 4), racks(4000, 250), "n0 /a\"b/\\N<c>&lt;/x\nn1 /räck//x\n"):
            dot = self.draw(places, "--format", "dot")
            drawn = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True,
                                   timeout=100)
            self.assertEqual((drawn.returncode, drawn.stderr), (0, b""))
            root = xml.fromstring(drawn.stdout)
            clusters = len(re.findall("subgraph cluster_", dot))
            edges = len(re.findall("->", dot))
            found = [element.attrib.get("class") for element in root.iter(SVG + "g")]
            self.assertEqual((found.count("cluster"), found.count("edge")), (clusters, edges))

    def test_large_jobs_are_folded(self):
        for nodes, count, most_bytes in ((4000, 250, 500_000), (100_000, 6250, 500_000)):
            for order in ("topology", "torchrun"):
                svg = self.draw(racks(nodes, count), "--order", order)
                self.assertLess(len(svg), most_bytes)
                self.assertIn(f"{nodes} nodes into ", svg)
                self.assertLessEqual(int(xml.fromstring(svg).attrib["width"]), 2000)

    def test_files_are_written_by_their_suffix(self):
        folder = self.folder()
        (folder / "racks").write_text(racks(8, 4))
        draw = ("topo", "draw", "--topology", folder / "racks", "-o")
        for name, start in (("a.svg", b"<?xml"), ("a.dot", b"digraph")):
            done = self.toprun(*draw, folder / name)
            self.assert_ok(done)
            self.assertEqual(done.err, f"toprun: wrote {folder / name}\n")
            self.assertTrue((folder / name).read_bytes().startswith(start), name)
        for name in ("a.jpg", "a"):
            finished = self.toprun(*draw, folder / name)
            self.assertEqual(finished.code, 2)
            self.assertIn("choose one of: svg, png, dot", finished.err)
            self.assertFalse((folder / name).exists())

    def test_a_pipe_gets_the_picture_and_stays_a_pipe(self):
        folder = self.folder()
        (folder / "racks").write_text(racks(8, 4))
        os.mkfifo(folder / "a.svg")
        reader = os.open(folder / "a.svg", os.O_RDWR)
        self.addCleanup(os.close, reader)
        words = ("--topology", folder / "racks", "--format", "svg")
        self.assert_ok(self.toprun("topo", "draw", *words, "-o", folder / "a.svg"))
        self.assertTrue(stat.S_ISFIFO((folder / "a.svg").stat().st_mode))
        drawn = self.toprun("topo", "draw", *words).out
        self.assertEqual(os.read(reader, 1 << 16).decode(), drawn)
        dashed = self.toprun("topo", "draw", *words[:2], "-o", "-", cwd=folder)
        self.assertEqual((dashed.out, (folder / "-").exists()), (drawn, False))
        lost = self.toprun("topo", "draw", *words, "-o", folder / "none/a.svg")
        self.assertRegex(lost.err, rf"^toprun: cannot write {folder}/none/a\.svg: No such file")

    def test_a_png_is_the_same_picture(self):
        support.needs_program("rsvg-convert")
        folder = self.folder()
        (folder / "racks").write_text(racks(8, 4))
        self.assert_ok(self.toprun("topo", "draw", "--topology", folder / "racks", "--order",
                                   "given", "-o", folder / "a.png"))
        seen = pixels((folder / "a.png").read_bytes())
        for colour in (CLUSTER, RACK):
            self.assertGreater(seen.get(colour, 0), 200, colour)

    def test_without_a_converter_it_says_what_to_install(self):
        folder = self.folder()
        (folder / "racks").write_text(racks(8, 4))
        finished = self.toprun("topo", "draw", "--topology", folder / "racks", "-o",
                               folder / "a.png", env={"PATH": str(folder)})
        self.assertEqual(finished.code, 1)
        self.assertIn("librsvg2-bin", finished.err)

    def test_an_order_from_a_file_is_drawn_as_by_its_name(self):
        folder = self.folder()
        places = racks(8, 4)
        (folder / "hosts").write_text("n[0-7]\n")
        listed = self.draw(places, "--order", "file:hosts", cwd=folder)  # a long name makes a wide picture
        named = self.draw(places, "--order", "given")
        words = re.compile(r"(8 nodes in the order|places from file)[^<]*")
        self.assertEqual(words.sub("", listed), words.sub("", named))
        self.assertIn("the order of hosts", listed)

    def test_groups_have_colours_and_numbers(self):
        svg = self.draw(racks(8, 4), "--nproc-per-node", "8", "--parallel", "tp=8,pp=4")
        shown = ["".join(text.itertext()) for text in xml.fromstring(svg).iter(SVG + "text")]
        for team in ("pp 0", "pp 1"):
            self.assertEqual(shown.count(team), 4)
        self.assertNotIn("pp 2", shown)

    def test_spare_nodes_have_no_rank(self):
        svg = self.draw(racks(8, 4), "--nnodes", "6")
        shown = ["".join(text.itertext()) for text in xml.fromstring(svg).iter(SVG + "text")]
        self.assertEqual(shown.count("no rank"), 2)

    def test_loads_of_uplinks(self):
        # 2 · 7/8 · 64 MiB over 0.4 Gbit/s, twice.
        svg = self.draw(racks(8, 4), "--order", "given", "--link", "rack=0.4")
        self.assertIn("· 2 out, 4.7 s", svg)


if __name__ == "__main__":
    unittest.main()
