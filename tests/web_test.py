# ctest: TIMEOUT 300
"""The page of a job as a browser has it: a real Chromium, a real server, pictures of jobs of any size; reports."""

import json
import math
import os
import pty
import select
import socket
import subprocess
import threading
import unittest

import hostile_texts
import support
import web_cases
import web_pictures


class Wire:
    """Between a browser and a server: can be cut."""

    def __init__(self, port):
        self.port, self.open, self.ends = port, True, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if not self.open:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.port))
            self.ends += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    @staticmethod
    def carry(source, sink):
        try:
            while part := source.recv(65536):
                sink.sendall(part)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.open = False
        for end in self.ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.cut()
        self.listener.close()


class Chromium(web_cases.Windows):
    def test_shows_a_job_of_any_size(self):
        for nodes, words in ((8, "64 ranks on 8 nodes"), (512, "4,096 ranks on 512 nodes"),
                             (12_500, "100,000 ranks on 12,500 nodes")):
            player = self.player(web_pictures.Picture(nodes))
            page = self.opened(player)
            self.assertEqual(page.text("name"), "train")
            self.assertEqual(page.text("stage"), "running")
            self.assertIn(words, page.text("facts"))
            self.assertEqual(page.text("legend"), f"{nodes * 8:,} running")
            self.assertEqual(page.text("link"), "live")
            self.assertIn("first collective" + "after 11.3 s", page.text("phases"))
            self.assertLess(page.run("document.querySelectorAll('*').length"), 400)
            self.assert_clean(page, player)

    def test_follows_a_failure_and_the_end(self):
        picture = web_pictures.Picture(512)
        player = self.player(picture)
        page = self.opened(player)
        self.assertTrue(page.run("document.getElementById('alert').hidden"))
        picture.fail(1234)
        player.show(job=picture.job, figures=picture.figures())
        page.until("!document.getElementById('alert').hidden")
        self.assertEqual(page.text("alert-title"), "rank 1234 on node00154 ended with exit code 1")
        self.assertTrue(page.run("$('said').hidden"), "a victim may have printed last")
        self.assertIn("illegal memory access", page.text("alert-text"))
        self.assertTrue(page.text("alert-output").startswith("step 1200 loss 2.31\nTraceback"), page.text("alert-output"))
        self.assertEqual(page.text("alert-next"), "Next: see train.py, line 88, in step\n"
                         "Logs: /scratch/logs/4711/node00154/attempt_0/2/*.log on node00154")
        picture.job["node_log"] = "/home/me/logs/4711"
        player.show(job=picture.job)
        page.until("$('alert-next').textContent.endsWith('Output: /home/me/logs/4711/node00154.out')")
        self.assertIn("Logs: /scratch/logs/4711/node00154/attempt_0/2/*.log on node00154\n", page.text("alert-next"))
        page.run("choose(1234)")
        self.assertIn("Logs/scratch/logs/4711/node00154/attempt_0/2/*.log on node00154", page.text("details-list"))
        self.assertIn("Output of its node" + "/home/me/logs/4711/node00154.out", page.text("details-list"))
        self.assertRegex(page.text("facts"), r"started 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d")
        page.until("document.getElementById('legend').textContent.includes('1 failed')")
        picture.end(1)
        player.show(job=picture.job)
        player.send("end")
        page.until("document.getElementById('link').textContent === 'the job has ended'")
        self.assertEqual(page.text("stage"), "ended with exit code 1")
        self.assertRegex(page.text("details-list"), r"Measuredat \d\d:\d\d:\d\d", "no age that grows no more")
        asked = len(page.requests())
        player.process.wait(10)
        self.assertEqual(page.text("link"), "the job has ended")
        self.assertEqual(len(page.requests()), asked)
        self.assert_clean(page, player)

    def test_two_nodes_of_one_name(self):
        picture = web_pictures.Picture(2)
        picture.name = lambda i: "localhost"
        nodes = picture.node_part()
        nodes["logs"] = ["/logs/first", "/logs/second"]
        picture.fail(9)
        player = self.player(picture)
        player.show(nodes=nodes)
        page = self.opened(player)
        page.until("$('alert-next').textContent.endsWith('Logs: /logs/second/attempt_0/1/*.log on localhost')")
        page.run("choose(9)")
        self.assertIn("Logs" + "/logs/second/attempt_0/1/*.log on localhost", page.text("details-list"))
        page.run("choose(0)")
        self.assertIn("Logs" + "/logs/first/attempt_0/0/*.log on localhost", page.text("details-list"))

    def test_the_last_line_of_a_node_is_that_of_its_failed_rank(self):
        picture = web_pictures.Picture(1)
        picture.lines = {2: "boom: disk full", 5: "destroyed", 6: "destroyed"}
        picture.fail(2)
        player = self.player(picture)
        page = self.opened(player)
        page.run("model.figures.ranks.output_age = [9, 9, 9, 9, 9, 1, 1, 9]; $('table').open = true")
        page.until("$('table-body').textContent.includes('rank 2: boom: disk full')")

    def test_a_job_without_a_name_is_called_by_its_program(self):
        picture = web_pictures.Picture(8, name="0292b82a-b7f0-45e2-a019-4e2e059b897c")
        picture.job["program"] = "/home/me/pretrain.py"
        page = self.opened(self.player(picture))
        self.assertEqual(page.text("name"), "pretrain.py")
        self.assertTrue(page.run("document.title").startswith("pretrain.py (job 4711): running"))

    def test_an_engines_name_is_not_the_title(self):
        picture = web_pictures.Picture(8, name="slurm.day.36.0")
        picture.job["program"] = "/home/me/pretrain.py"
        self.assertEqual(self.opened(self.player(picture)).text("name"), "pretrain.py")

    def test_the_name_that_its_user_chose_and_the_time_left(self):
        picture = web_pictures.Picture(8, name="slurm.day.36.0")
        picture.job.update(title="bigrun", program="/home/me/pretrain.py", limit="2026-11-25T08:14:34.000Z")
        page = self.opened(self.player(picture))
        self.assertEqual(page.text("name"), "bigrun")
        self.assertRegex(page.text("facts"), r"· (2 min 00|1 min \d+) s left ·")

    def test_the_last_line_of_every_rank(self):
        picture = web_pictures.Picture(8)
        picture.lines = {5: "step 229 <b>loss</b> 0.5", 9: "step 230 loss 0.4"}
        player = self.player(picture)
        page = self.opened(player)
        ages = page.run("[model.figureOf('output_age', 5), model.figureOf('output_age', 9)]")
        newest = 5 if ages[0] < ages[1] else 9
        self.assertEqual(page.text("said"), f"rank {newest}: {picture.lines[newest]}")
        page.run("choose(9)")
        self.assertIn("Last line" + "step 230 loss 0.4", page.text("details-list"))
        self.assertIn("Local rank" + "1 of 8", page.text("details-list"))
        page.run("document.getElementById('table').open = true")
        page.until("document.getElementById('table-body').textContent.includes('rank 5: step 229')")
        self.assertRegex(page.text("table-body"), r"\d of 16" r"[\d.]+ GiB of 512 GiB")
        self.assert_clean(page, player)

    def test_a_state_is_found_by_any_form_of_its_word(self):
        picture = web_pictures.Picture(8)
        picture.hang([13])
        picture.state[60:62] = "fr"
        page = self.opened(self.player(picture))
        for words, found in (("hang", "1 node"), ("hangs", "1 node"), ("hanging", "1 node"), ("failure", "1 node"),
                             ("run", "1 node"), ("waiting", "8 nodes"), ("lost", "nothing found")):
            page.run(f"document.getElementById('search').value = '{words}'; search()")
            self.assertEqual(page.text("found"), found, words)
        page.run("$('search').value = '13'; search()")
        self.assertEqual(page.text("found"), "rank 13 on node00001")
        page.run("$('search').value = ''; search(); $('table').open = true")
        page.until("$('pages').textContent === '8 nodes'")

    def test_nothing_black_before_the_first_drawing(self):
        page = self.opened(self.player(web_pictures.Picture(1)))
        pixel = page.run("(() => { picture.canvas.width = 99; "
                         "return Array.from(picture.context.getImageData(9, 9, 1, 1).data).join(); })()")
        self.assertEqual(pixel, "0,0,0,0", "what is behind it shows")

    def test_a_rank_that_does_next_to_nothing_is_not_dark(self):
        picture = web_pictures.Picture(1)
        figures = picture.figures()
        for part, names in (("ranks", ("cpu", "memory", "gpu_memory", "output_age")), ("nodes", ("received", "sent"))):
            for name in names:
                figures[part][name] = [0.04] * len(figures[part][name])
        player = self.player()
        player.show(job=picture.job, nodes=picture.node_part(), figures=figures)
        page = self.opened(player)
        for figure, most in (("cpu", "1 CPU"), ("memory", "1 GiB"), ("gpu_memory", "1 GiB"), ("silence", "1 min 00 s"),
                             ("received", "1 MB/s"), ("sent", "1 MB/s")):
            page.run(f"picture.show(FIGURES.find(({{id}}) => id === '{figure}'))")
            page.until(f"$('legend').textContent.startsWith('0 {most}')")
            self.assertTrue(page.run("picture.shades.indexOf(picture.colourOf(0, 0)) < picture.shades.length / 5"), figure)
        page.run("choose(0)")
        self.assertIn("CPU" + "0.04 CPUs", page.text("details-list"))

    def test_a_small_job_fills_the_picture(self):
        page = self.opened(self.player(web_pictures.Picture(1)))
        share = page.run("Math.max(picture.layout.width * picture.scale / picture.canvas.width, "
                         "picture.layout.height * picture.scale / picture.canvas.height)")
        self.assertGreater(share, 0.6)

    def test_the_room_of_a_small_job_is_as_high_as_the_job(self):
        for nodes, width in ((1, 1400), (1, 400), (2, 1400), (2, 400)):
            page = self.opened(self.player(web_pictures.Picture(nodes)), width=width, height=900)
            share = page.run("picture.layout.width * picture.layout.height * picture.scale ** 2 "
                             "/ (picture.canvas.width * picture.canvas.height)")
            self.assertGreater(share, 0.6, f"{nodes} nodes, {width} px")
        page = self.opened(self.player(web_pictures.Picture(1)), width=400, height=900)
        tall = page.run("$('picture').clientHeight")
        page.resize(1400, 900)
        page.until(f"$('picture').clientHeight > {tall}")
        page.resize(400, 900)
        page.until(f"$('picture').clientHeight === {tall}")

    def test_a_live_hang_is_on_the_first_screen(self):
        picture = web_pictures.Picture(8)
        picture.hang([13])
        player = self.player(picture)
        page = self.opened(player, width=1280, height=500)
        bottom = page.run("document.getElementById('alert').getBoundingClientRect().bottom")
        self.assertTrue(0 < bottom < 500, bottom)
        self.assert_clean(page, player)

    def test_a_hang_and_a_launch(self):
        picture = web_pictures.Picture(8)
        picture.hang([13])
        picture.job["phases"] = picture.phases(5)
        picture.job["awaited"] = {"phase": "import", "came": 62, "of": 64, "rank": 17, "node": "node00002"}
        player = self.player(picture)
        page = self.opened(player)
        self.assertEqual(page.text("stage"), "running, hangs")
        self.assertIn("rank 13 on node00001 did not come to all_reduce", page.text("hang-what"))
        self.assertEqual(page.run("document.body.innerText.split('did not come to all_reduce').length"), 2, "told once")
        self.assertIn("63 ranks (0-12,14-63) wait in all_reduce, train.py:88", page.text("hang-groups"))
        self.assertTrue(page.text("hang-groups").startswith("rank 13: data.py:41 in recv"), page.text("hang-groups"))
        self.assertIn("63 waiting for others", page.text("legend"))
        self.assertEqual(page.text("alert-title"), "Hangs: " + picture.job["hang"]["what"])
        self.assertRegex(page.text("alert-text"), r"^No rank has made progress for 3\d s, since \d\d:12:00$")
        was = page.text("alert-text")
        page.until(f"$('alert-text').textContent !== {json.dumps(was)}")
        self.assertRegex(page.text("alert-text"), r"^No rank has made progress for 3\d s, since \d\d:12:00$", "it grows")
        picture.job["hangs"] = False
        player.show(job=picture.job)
        page.until("document.getElementById('hang-what').textContent.startsWith('The ranks go on. No rank had made progress for ')")
        self.assertEqual(page.text("hang-title"), "A hang that is over")
        self.assertTrue(page.run("document.getElementById('alert').hidden"))
        self.assertEqual(page.text("stage"), "running")
        self.assertTrue(page.text("hang-groups").startswith("rank 13: data.py:41 in recv"), page.text("hang-groups"))
        # Messages have one form, and leave to the box what it says.
        headline = f"no rank has made progress for 30 s: {picture.job['hang']['what']}"
        picture.job["hang_text"] = headline
        picture.job["messages"] += [{"time": "2026-11-25T08:12:30.000Z", "text": text} for text in (
            headline, "toprun: 2026-11-25 08:00:00 → 08:12:40 (12 min 40 s): 64 ranks on 8 nodes, exit code 1\n")]
        player.show(job=picture.job)
        page.until("document.getElementById('messages-list').textContent.includes('exit code 1')")
        self.assertEqual(page.run("[...document.querySelectorAll('#messages-list li')].map((item) => item.lastChild.data)"),
                         ["8 nodes, 64 ranks", "ran 12 min 40 s: 64 ranks on 8 nodes, exit code 1\n"])
        picture.job["hang"].update(after_ms=None, alarm={"key": "exception_dump", "rank": 3})
        player.show(job=picture.job)
        page.until("document.getElementById('hang-what').textContent.includes('Rank 3 wrote exception_dump')")
        self.assertEqual(page.text("awaited"), "62 of 64 ranks have reached the store, not rank 17 on node00002 and "
                                               "1 other.")
        self.assertEqual(page.run("document.querySelector('[aria-current=step]').textContent"),
                         "all at the store" + "awaited")
        self.assert_clean(page, player)

    def test_a_hung_job_that_somebody_ended_has_not_failed(self):
        """As on the page of its report."""
        picture = web_pictures.Picture(1)
        picture.hang([3])
        player = self.player(picture)
        page = self.opened(player)
        kinds = "[$('stage').dataset.kind, $('alert').dataset.kind]"
        self.assertEqual(page.run(kinds), ["bad", "hang"])
        picture.state = ["k"] * 8
        picture.job["attempts"][-1].update(ended="2026-11-25T08:13:00.000Z", hang=picture.job["hang"], cause={
            "kind": "interrupted", "what": "interrupted by SIGTERM", "rank": None, "node": None, "message": "", "last_output": []})
        picture.job["hangs"] = False
        picture.end(143)
        player.show(job=picture.job, figures=picture.figures())
        player.send("end")
        page.until("$('link').textContent === 'the job has ended' && $('legend').textContent === '7 stopped1 hung'")
        self.assertEqual(page.run(kinds), ["stopped", "stopped"])
        self.assertEqual(page.text("alert-title"), "Hung: rank 3 on node00000 did not come to all_reduce; then interrupted by SIGTERM")
        self.assert_clean(page, player)

    def test_a_job_without_the_store_has_no_bars_for_long(self):
        picture = web_pictures.Picture(8)
        picture.job["phases"] = picture.phases(4)
        picture.job["now"] = "2026-11-25T08:01:00.000Z"
        player = self.player(picture)
        page = self.opened(player, width=320)
        launch = "[$('launch').dataset.launch, $('phases').children.length, $('awaited').textContent]"
        words = "No rank has connected to the store yet, as init_process_group() does."
        self.assertEqual(page.run(launch), ["goes on", 6, words])
        picture.job["phases"].update(join=0, order=0)
        picture.job["nnodes"] = [1, 1]
        player.show(job=picture.job)
        page.until("$('phases').children.length === 4")
        widths = "[...$('phases').children].map((bar) => Math.round(bar.getBoundingClientRect().width))"
        self.assertEqual(len(set(page.run(widths))), 1, page.run(widths))
        picture.job["now"] = "2026-11-25T08:02:10.000Z"
        player.show(job=picture.job)
        page.until("$('launch').dataset.launch === 'over'")
        self.assertEqual(page.run(launch), ["over", 1, "No rank has connected to the store."])
        self.assertEqual(page.text("phases"), "ranks started" + "after 1.4 s")
        # A restart begins anew.
        picture.job["attempts"].append({**picture.job["attempts"][0], "attempt": 1, "started": "2026-11-25T08:02:00.000Z"})
        player.show(job=picture.job)
        page.until("$('launch').dataset.launch === 'goes on'")
        picture.job["phases"] = picture.phases(5)
        picture.job["now"] = "2026-11-25T08:30:00.000Z"
        player.show(job=picture.job)
        page.until("$('phases').textContent.includes('all at the store' + 'awaited')")

    def test_a_failure_before_a_restart(self):
        picture = web_pictures.Picture(8)
        picture.fail(3, message="RuntimeError: out of shards\nof the second epoch")
        cause = picture.job["attempts"][0]["cause"]
        cause["last_output"] = [f"line {i}" for i in range(30)] + ["RuntimeError: out of shards"]
        picture.state = ["r"] * picture.ranks
        picture.job["attempts"].append({"attempt": 1, "started": "2026-11-25T08:13:00.000Z", "ended": None, "cause": None})
        picture.job.update(attempt=1, restarts=1, stage="running")
        player = self.player(picture)
        page = self.opened(player)
        self.assertEqual(page.text("alert-title"), "Attempt 0: rank 3 on node00000 ended with exit code 1: "
                         "RuntimeError: out of shards")
        page.run("document.querySelector('#attempts-list summary').click()")
        lines = "document.querySelector('#attempts-list pre')"
        page.until(f"{lines}.scrollTop > 0")
        self.assertLessEqual(page.run(f"{lines}.scrollHeight - {lines}.clientHeight - {lines}.scrollTop"), 1, "at its end")

    def test_nothing_but_a_table_is_wider_than_a_phone(self):
        for width in 400, 320:
            picture = web_pictures.Picture(16)
            picture.name = lambda i: f"ip-10-0-137-{i}.us-west-2.compute.internal.of-a-long-domain.example.org"
            picture.job["title"] = "a-name-of-a-job-that-somebody-made-long-and-without-any-blank-in-it"
            picture.fail(40, message="RuntimeError: " + "x" * 300)
            page = self.opened(self.player(picture), width=width, height=900)
            page.press("n")
            page.until("!$('details').hidden")
            page.run("$('table').open = true")
            page.until("Boolean(document.querySelector('#table-body button'))")
            wide = page.run(f"[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().width > {width} "
                            "&& !e.closest('svg, .scroll table')).map((e) => e.outerHTML)")
            self.assertEqual(wide, [])
            scroll = "document.querySelector('.scroll')"
            last = f"[...{scroll}.querySelectorAll('thead th:not([hidden])')].at(-1).getBoundingClientRect().right <= {width}"
            self.assertFalse(page.run(last))
            self.assertEqual(page.run(f"getComputedStyle({scroll}).backgroundAttachment"), "local, local, scroll, scroll",
                             "a shadow says that there is more")
            page.run(f"{scroll}.scrollLeft = 1e6")
            self.assertTrue(page.run(last), "the last column can be reached")
            page.run(f"{scroll}.scrollLeft = 0")
            out = page.run(f"[...document.querySelectorAll('button')].filter((e) => e.getBoundingClientRect().right > {width}).map((e) => e.outerHTML)")
            self.assertEqual(out, [])
            tops = page.run("['out', 'in', 'fit'].map((id) => $(id).getBoundingClientRect().top)")
            self.assertEqual(len(set(tops)), 1, tops)
            picture = web_pictures.Picture(1)
            picture.name = lambda i: "vm"
            page = self.opened(self.player(picture), width=width, height=900)
            page.run("$('table').open = true")
            page.until("$('table-body').rows.length === 1")
            self.assertLess(page.run("document.querySelector('#table-body button').getBoundingClientRect().height"), 30, "one line")

    def test_no_line_ends_within_a_date_or_an_option(self):
        picture = web_pictures.Picture(2)
        picture.fail(3)
        picture.job["attempts"][-1]["cause"]["next"] = "give `toprun submit --venv /home/me/venv`"
        page = self.opened(self.player(picture), width=420)
        for width in range(320, 460, 10):
            page.resize(width, 800)
            broken = page.run("[...document.querySelectorAll('.unbroken')].filter((e) => e.getClientRects().length > 1).map((e) => e.textContent)")
            self.assertEqual(broken, [], width)
        self.assertEqual(page.run("[...document.querySelectorAll('.unbroken')].map((e) => e.textContent)"), ["2026-11-25", "--venv"])

    def test_the_order_of_the_nodes(self):
        picture = web_pictures.Picture(4)
        picture.job["order"] = {"name": "topology", "why": "", "ring": [{"level": "leaf", "ordered": 2, "given": 4, "minimum": 2}],
                                "warnings": [], "notes": ["slurm gives spine, leaf for 2 of 4 nodes"]}
        page = self.opened(self.player(picture))
        self.assertIn("For 2 of 4 nodes, the next node in the order is in another leaf of the network", page.text("order-list"))
        self.assertIn("The levels of the network (spine, leaf) are known from slurm for 2 of 4 nodes", page.text("order-list"))

    def test_a_job_whose_numbers_can_be_read_stays_whole(self):
        page = self.opened(self.player(web_pictures.Picture(2)), width=420)
        fitted = page.run("[picture.scale, picture.x, picture.y]")
        page.run("choose(9, true)")
        self.assertEqual(page.run("[picture.chosen, picture.scale, picture.x, picture.y]"), [9, *fitted])

    def test_enter_goes_to_the_details_of_a_rank_that_is_large_already(self):
        player = self.player(web_pictures.Picture(1))
        page = self.opened(player, width=400, height=700)
        page.run("$('picture').focus()")
        page.press("Enter")
        self.assertEqual(page.run("document.activeElement.id"), "picture", "no rank is selected")
        page.press("ArrowRight")
        page.press("Enter")
        self.assertEqual(page.run("document.activeElement.id"), "details")
        page.until("$('details').getBoundingClientRect().top < innerHeight")
        self.assert_clean(page, player)

    def test_keys_of_the_whole_page(self):
        page = self.opened(self.player(web_pictures.Picture(512)), height=400)
        fitted = page.run("picture.scale")
        self.assertEqual(page.run("document.activeElement.tagName"), "BODY")
        page.press("+")
        self.assertGreater(page.run("picture.scale"), fitted)
        page.press("0")
        self.assertEqual(page.run("picture.scale"), fitted)
        page.run("choose(7)")
        page.press("Escape")
        self.assertEqual(page.run("picture.chosen"), -1)
        page.press("ArrowDown")
        page.until("scrollY > 0")
        self.assertEqual(page.run("picture.chosen"), -1, "arrow keys scroll the page")
        self.assertTrue(page.text("keys").startswith("In the picture, arrow keys select a rank"))
        page.press("n")
        page.press("ArrowRight")
        self.assertEqual(page.run("picture.chosen"), 0, "n goes to the picture")

    def test_by_keyboard_alone(self):
        picture = web_pictures.Picture(512)
        picture.hang([4000])
        player = self.player(picture)
        page = self.opened(player)
        focus = "document.activeElement.id"
        seen = []
        while not seen or seen[-1] != "picture":
            page.press("Tab")
            seen.append(page.run(focus))
            self.assertLess(len(seen), 12, seen)
        self.assertEqual([name for name in seen if name], ["figure", "search", "trouble", "out", "in", "fit", "picture"])
        for key, rank in (("ArrowRight", 0), ("ArrowRight", 1), ("ArrowDown", 5), ("End", 4095), ("Home", 0)):
            page.press(key)
            self.assertEqual(page.run("picture.chosen"), rank, key)
        self.assertEqual(page.text("details-title"), "Rank 0")
        self.assertEqual(page.text("chosen"), "rank 0 on node00000, waiting for others")
        # All nodes can be reached: right from a node's last column comes the next node.
        for _ in range(4):
            page.press("ArrowRight")
        self.assertEqual(page.run("picture.chosen"), 8)
        fitted = page.run("picture.scale")
        page.press("Enter")
        self.assertGreater(page.run("picture.scale"), fitted)
        page.press("Enter")
        self.assertEqual(page.run(focus), "details", "nothing is left to zoom")
        page.press("n")
        self.assertEqual(page.run(focus), "picture")
        page.press("-")
        page.press("0")
        self.assertEqual(page.run("picture.scale"), fitted)
        page.press("n")
        self.assertEqual(page.text("details-title"), "Rank 4000")
        self.assertIn("hanging", page.text("details-list"))
        page.press("/")
        self.assertEqual(page.run(focus), "search")
        page.write("node00077")
        self.assertEqual(page.text("found"), "1 node")
        page.press("Enter")
        self.assertEqual(page.text("details-title"), "Rank 616")
        page.press("Escape")
        self.assertEqual((page.run(focus), page.text("found")), ("picture", ""))
        page.press("Escape")
        self.assertTrue(page.run("document.getElementById('details').hidden"))
        while page.run("document.activeElement.tagName") != "SUMMARY":
            page.press("Tab")
        page.press("Enter")
        page.until("document.getElementById('table-body').rows.length === 50")
        self.assertEqual(page.text("pages"), "nodes 1 to 50 of 512")
        while page.run("document.activeElement.textContent") != "node00002":
            page.press("Tab")
        page.press("Enter")
        self.assertEqual(page.text("details-title"), "Rank 16")
        self.assert_clean(page, player)

    def test_what_can_be_used_has_a_name_for_who_listens(self):
        picture = web_pictures.Picture(8)
        picture.fail(3)
        page = self.opened(self.player(picture))
        page.run("document.getElementById('table').open = true")
        page.call("Accessibility.enable")
        nodes = page.call("Accessibility.getFullAXTree")["nodes"]
        value = lambda node, name: node.get(name, {}).get("value", "")
        usable = {"button", "combobox", "searchbox", "textbox", "application", "link", "DisclosureTriangle"}
        nameless = [node for node in nodes if value(node, "role") in usable and not value(node, "name")
                    and not node.get("ignored")]
        self.assertEqual(nameless, [])
        roles = [value(node, "role") for node in nodes]
        self.assertGreaterEqual(roles.count("button"), 4)
        for role in ("application", "searchbox", "combobox", "table", "alert", "main", "banner", "complementary"):
            self.assertIn(role, roles)
        names = [value(node, "name") for node in nodes]
        self.assertIn("Picture of 64 ranks on 8 nodes, 1 with a problem", names)

    def test_fits_every_window_in_light_and_dark(self):
        picture = web_pictures.Picture(512)
        picture.fail(99)
        player = self.player(picture)
        for dark in (False, True):
            for width in (320, 768, 1280, 2560):
                page = self.opened(player, width=width, height=900, dark=dark)
                self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
                for colours in (("ink", "surface"), ("soft", "surface"), ("soft", "page"), ("bad", "bad-surface"),
                                ("accent", "surface"), ("ink", "node"), ("warn", "surface"), ("good", "raised")):
                    self.assertGreaterEqual(self.contrast(page, *colours), 4.5, (dark, colours))
                found = page.run("[...new Set(picture.buffer)].length")
                self.assertGreaterEqual(found, 4)  # the back, domains, stopped, failed
                other = "light" if dark else "dark"
                page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": other}])
                page.until("picture.back " + ("===" if dark else "!==") + " 0xffffffff")
                page.close()  # a browser has six connections to a server

    @staticmethod
    def contrast(page, one, other):
        """Of two of the page's colours (WCAG 2.2, relative luminance)."""
        def light(name):
            text = page.run(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()")
            parts = [int(text[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue
        lighter, darker = sorted((light(one), light(other)), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)

    def test_colours_by_figures(self):
        player = self.player(web_pictures.Picture(8))
        page = self.opened(player)
        for figure in page.run("FIGURES.map((figure) => figure.id)")[1:]:
            page.run(f"$('figure').value = '{figure}'; $('figure').dispatchEvent(new Event('change'))")
            page.until(f"$('legend').dataset.key.includes('{figure}')")
            self.assertGreater(page.run("[...new Set(picture.buffer)].length"), 6, figure)
        self.assert_clean(page, player)

    def test_a_low_value_is_not_the_colour_of_an_unknown_one(self):
        picture = web_pictures.Picture(8)
        figures = picture.figures()
        figures["ranks"]["memory"] = [8] * picture.ranks
        player = self.player()
        player.show(job=picture.job, nodes=picture.node_part(), figures=figures)
        for dark in (False, True):
            page = self.opened(player, dark=dark)
            page.run("picture.show(FIGURES.find(({id}) => id === 'memory'))")
            page.until("$('legend').textContent === '0 1 GiB'")
            colour = "(pixel) => [pixel & 255, pixel >> 8 & 255, pixel >> 16 & 255]"
            low, unknown, node = (page.run(f"({colour})(picture.{name})") for name in ("colourOf(0, 0)", "unknown", "nodeColour"))
            for one, other in ((low, unknown), (low, node), (unknown, node)):
                self.assertGreater(math.dist(one, other), 45, (dark, low, unknown, node))
            page.close()
        figures["ranks"]["memory"][5] = None
        player.show(figures=figures)
        page = self.opened(player)
        page.run("picture.show(FIGURES.find(({id}) => id === 'memory'))")
        page.until("$('legend').textContent === '0 1 GiBunknown'")

    def test_the_mouse(self):
        player = self.player(web_pictures.Picture(512))
        page = self.opened(player)
        rank = 2001  # not at an edge, where the picture would be moved to stay in sight
        x, y = page.run(f"(() => {{ const box = picture.boxOf({rank}), at = $('picture').getBoundingClientRect();"
                        "return [at.left + box.x + box.width / 2, at.top + box.y + box.height / 2]; })()")
        mouse = lambda kind, x, y, **more: page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        mouse("mouseMoved", x, y)
        self.assertIn(f"rank {rank} on node00250, running", page.text("hint"))
        for kind in ("mousePressed", "mouseReleased"):
            mouse(kind, x, y, button="left", clickCount=1)
        self.assertEqual(page.text("details-title"), f"Rank {rank}")
        before = page.run("picture.scale")
        mouse("mouseWheel", x, y, deltaX=0, deltaY=-600)  # the press has put the picture in use
        page.until(f"picture.scale > {before}")
        under = (f"(() => {{ const at = $('picture').getBoundingClientRect();"
                 f"return picture.at({x} - at.left, {y} - at.top).rank; }})()")
        self.assertEqual(page.run(under), rank)
        mouse("mousePressed", x, y, button="left", clickCount=1)
        mouse("mouseMoved", x + 100, y, button="left", buttons=1)
        mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
        self.assertNotEqual(page.run(under), rank)
        self.assertEqual(page.run("picture.chosen"), rank)  # a pull chooses nothing

    def test_hostile_texts_stay_text(self):
        texts = hostile_texts.HOSTILE
        picture = web_pictures.Picture(len(texts), name="".join(texts))
        picture.fail(5, message=texts[0])
        picture.hang([9])
        job, nodes = picture.job, picture.node_part()
        cause = job["attempts"][0]["cause"]
        cause.update(node=texts[2], message="\n".join(texts), last_output=texts, kernel_evidence=texts[1])
        job["attempts"] = [{**job["attempts"][0], "attempt": i, "cause": {**cause, "what": text, "message": text, "node": text}}
                           for i, text in enumerate(texts)]
        job["messages"] = [{"time": text, "text": text} for text in texts]
        job.update(attempt=len(texts) - 1, id=texts[3], root=texts[4], stage=texts[5], missing=texts, missing_count=len(texts))
        job["hang"].update(what=texts[6], groups=[{"ranks": text, "count": 1, "place": text, "doing": text} for text in texts])
        job["awaited"] = {"phase": texts[7], "came": 1, "of": 3, "rank": 1, "node": texts[8]}
        job["slowest"] = {"import": {"node": texts[9], "rank": 3, "ms": 10_000, "median_ms": 5, "counted": 9}}
        nodes["name"] = texts
        nodes["location"] = [f"/{text}/rack/{text}" for text in texts]
        nodes["logs"] = texts
        player = self.player()
        player.show(job=job, nodes=nodes, figures=picture.figures())
        page = self.opened(player)
        elements = "[...document.querySelectorAll('script,img,svg,iframe,link,style,object,embed,form,base,math,video,meta')].length"
        expected = page.run(elements)
        self.assertEqual(expected, 6)  # the page's own: three <meta>, two <link>, one <script>
        page.run("$('table').open = true")
        page.until(f"$('table-body').rows.length === {min(50, len(texts))}")
        for rank in range(0, picture.ranks, 8):
            page.run(f"choose({rank}, true)")
        page.run("$('search').value = '<script>'; $('search').dispatchEvent(new Event('input'))")
        page.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.assertEqual(page.run(elements), expected)
        self.assertIsNone(page.run("window.hacked"))
        shown = page.run("[...document.querySelectorAll('#messages-list li')].map((item) => item.lastChild.data)")
        self.assertEqual(shown, texts)
        self.assertEqual(page.text("alert-output"), "\n".join(texts))
        self.assert_clean(page, player)

    def test_finds_its_way_back(self):
        picture = web_pictures.Picture(8)
        player = self.player(picture)
        wire = Wire(player.port)
        self.addCleanup(wire.close)
        page = self.browser.page()
        page.open(f"http://127.0.0.1:{wire.listener.getsockname()[1]}/#token={player.token}")
        page.until(web_cases.SHOWN)
        # The token has left the address, and a reload does not need it.
        self.assertNotIn("token", page.run("location.href"))
        page.call("Page.reload")
        page.until(web_cases.SHOWN)
        wire.cut()
        page.until("document.getElementById('link')?.dataset.link === 'lost'")
        self.assertIn("connection lost", page.text("link"))
        self.assertEqual(page.text("name"), "train")  # what was known stays
        picture.job["name"] = "train again"
        player.show(job=picture.job)
        wire.open = True
        page.until("document.getElementById('name').textContent === 'train again'")
        self.assertEqual(page.text("link"), "live")

    def test_a_hidden_tab_lets_go(self):
        picture = web_pictures.Picture(8)
        player = self.player(picture)
        page = self.opened(player)
        self.assertEqual(player.process.stdout.readline(), "looked at\n")
        page.run("""stream.hiddenMs = 0;
            Object.defineProperty(document, 'hidden', {get: () => window.isHidden});
            window.hide = (hidden) => { window.isHidden = hidden; document.dispatchEvent(new Event('visibilitychange')); };
            hide(true)""")
        page.until("document.getElementById('link').textContent === 'paused while this tab is hidden'")

        def has_gone():
            player.show(job=picture.job)  # who has gone is noticed at a write
            return select.select([player.process.stdout], [], [], 0)[0]
        support.wait_until(has_gone, 30, "nobody looks")
        self.assertEqual(player.process.stdout.readline(), "not looked at\n")
        page.run("hide(false)")
        page.until("document.getElementById('link').textContent === 'live'")

    def test_a_wrong_token_is_said(self):
        player = self.player(web_pictures.Picture(8))
        for width in 320, 400, 1000, 1400:
            page = self.browser.page(width=width, height=900)
            page.open(f"{player.address}/#token=wrong")
            page.until("document.getElementById('link')?.dataset.link === 'refused'")
            self.assertIn("token is missing or wrong", page.text("link"))
            self.assertIn("toprun status JOB shows the address of a job of toprun submit --web", page.text("link"))
            self.assertNotIn("node00000", page.run("document.documentElement.outerHTML"))
            self.assertLess(page.run("$('name').getBoundingClientRect().height"), 40, f"the title is one line at {width} px")
            self.assertEqual(page.run("document.body.innerText").split(), f"toprun {page.text('link')}".split(), "nothing else")
            page.close()


class Report(web_cases.Windows):
    """`toprun report --html`: the finished job's page in one file."""

    def report(self, script, *options):
        folder = self.folder()
        (folder / "job.py").write_text(script)
        finished = self.toprun("--nproc-per-node", 2, "--report", folder / "report.json", *options, folder / "job.py",
                               env=support.without_torch())
        page = folder / "page.html"
        written = self.toprun("report", folder / "report.json", "--html", "-o", page)
        self.assert_ok(written)
        self.assertEqual(written.err, f"toprun: wrote {page}\n")
        return finished, page

    def shown(self, page_file):
        page = self.browser.page()
        page.open(page_file.as_uri())
        page.until("document.getElementById('link')?.textContent === 'report of the job'")
        page.until("picture.drawMs > 0")
        return page

    def test_is_not_printed_on_a_terminal(self):
        _, page = self.report("pass")
        report = page.with_name("report.json")
        for words, code in ((["--html"], 2), (["--html", "-o", "-"], 0), ([], 0)):
            shown, terminal = pty.openpty()
            self.addCleanup(os.close, shown)
            with open(terminal, "wb") as out:
                finished = subprocess.Popen([support.binary(), "report", report, *words], stdout=out, stderr=subprocess.PIPE)
            while select.select([shown], [], [], 0.2)[0] or finished.poll() is None:
                try:
                    os.read(shown, 65536)
                except OSError:  # nobody has it open any more
                    break
            said = finished.communicate()[1].decode()
            self.assertEqual(finished.returncode, code, said)
            self.assertEqual(said, "toprun: standard output: it is a terminal, which does not show HTML; "
                                   "give -o FILE, or -o - to print it anyway\n" if code else "")

    def test_a_failure(self):
        finished, file = self.report("import os, sys\nif os.environ['RANK'] == '1':\n    sys.exit('the disk is full')\n"
                                     "import time; time.sleep(60)")
        self.assertEqual(finished.code, 1)
        page = self.shown(file)
        self.assertEqual(page.text("stage"), "ended with exit code 1")
        self.assertIn("rank 1 on ", page.text("alert-title"))
        self.assertIn("the disk is full", page.text("alert-text") + page.text("alert-output"))
        self.assertIn("1 failed", page.text("legend"))
        self.assertIn("2 ranks on 1 node", page.text("facts"))
        self.assertRegex(page.text("facts"), r"started 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d")
        self.assertIn("Next: the program ended by itself with 1", page.text("alert-next"))
        self.assertEqual(page.text("name"), "job.py", "toprun made its id up")
        self.assertEqual(page.complaints(), [])
        self.assertEqual([url for url in page.requests() if not url.startswith(("file:", "data:", "about:"))], [])

    def test_a_rank_that_ended_early_has_not_failed(self):
        folder = self.folder()
        node = {"name": "n0", "group_rank": 0, "first_rank": 0, "nproc": 3, "location": "", "logs": ""}
        cause = {"kind": "ended_early", "what": "rank 1 on n0 had ended with 0", "rank": 1, "node": "n0", "message": ""}
        order = {"name": "topology", "why": "known", "ring": [
            {"level": "spine", "ordered": 0, "given": 0, "minimum": 0},
            {"level": "leaf", "ordered": 2, "given": 4, "minimum": 2}]}
        attempt = {"attempt": 0, "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "phases_ms": {},
                   "nodes": [node], "hang": None, "cause": cause, "order": order}
        (folder / "report.json").write_text(json.dumps(
            {"schema": "toprun.report/1", "job": "uneven", "root": {"host": "n0", "pid": 1}, "exit_code": 1,
             "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "updated": None, "restarts": 0,
             "attempts": [attempt]}))
        self.assert_ok(self.toprun("report", folder / "report.json", "--html", "-o", folder / "page.html"))
        page = self.shown(folder / "page.html")
        self.assertEqual(page.text("legend"), "2 stopped" + "1 ended early")
        self.assertEqual(page.run("model.troubled()"), [1])
        self.assertNotIn("spine", page.text("order-list"), "a level with nothing to say")
        self.assertIn("the next node in the order is in another leaf of the network (in the order as given: 4; in the best order: 2)",
                      page.text("order-list"))

    def shown_attempt(self, name, ranks, code=1, **members):
        folder = self.folder()
        node = {"name": "n0", "group_rank": 0, "first_rank": 0, "nproc": ranks, "location": "", "logs": ""}
        attempt = {"attempt": 0, "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "phases_ms": {},
                   "nodes": [node], "hang": None, "cause": None, **members}
        (folder / "report.json").write_text(json.dumps(
            {"schema": "toprun.report/1", "job": name, "root": {"host": "n0", "pid": 1}, "exit_code": code,
             "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "updated": None, "restarts": 0,
             "attempts": [attempt]}))
        self.assert_ok(self.toprun("report", folder / "report.json", "--html", "-o", folder / "page.html"))
        return self.shown(folder / "page.html")

    def test_ranks_that_failed_too_are_not_shown_as_stopped(self):
        cause = {"kind": "exit", "what": "rank 1 on n0 ended with exit code 3", "rank": 1, "node": "n0", "message": "",
                 "exit_code": 3, "signal": None}
        page = self.shown_attempt("both", 6, cause=cause, failed_too=[
            {"ranks": "2,4-5", "exit_code": 7, "signal": None, "lost_peer": False, "message": "ValueError: x"}])
        self.assertEqual(page.text("legend"), "4 failed" + "2 stopped")
        self.assertEqual(page.run("panel.stateText(5)"), "failed, exit code 7")
        self.assertIn("ranks 2,4-5 failed too, exit code 7: ValueError: x", page.text("attempts-list"))
        self.assertFalse(page.run("$('attempts').hidden"))
        self.assertEqual(page.complaints(), [])

    def test_what_is_to_be_typed_is_code(self):
        """And no markup of a report has an effect. A rank's words are shown as they are."""
        said = "KeyError: <i>`a`</i>: undefined reference to `foo'; more undefined references to `bar' follow"
        cause = {"kind": "exit", "what": "rank 1 on n0 ended with exit code 7", "rank": 1, "node": "n0", "exit_code": 7,
                 "message": said, "next": "run `toprun net env --to <b>HOST</b>` there; a ` alone stays"}
        page = self.shown_attempt("typed", 2, cause=cause)
        self.assertEqual(page.run("$('alert-next').innerHTML"),
                         "Next: run <code>toprun net env <span class=\"unbroken\">--to</span> &lt;b&gt;HOST&lt;/b&gt;</code> there; a ` alone stays")
        self.assertEqual(page.text("alert-text"), said)
        self.assertEqual(page.run("document.querySelectorAll('main i:not([style]), main b b').length"), 0)
        self.assertEqual(page.complaints(), [])
        own = {"kind": "launcher", "what": "the launcher failed", "rank": None, "node": "n0", "exit_code": 1,
               "message": "no room for the store; run `df /tmp` there"}
        page = self.shown_attempt("launcher", 2, cause=own)
        self.assertEqual(page.run("$('alert-text').innerHTML"), "no room for the store; run <code>df /tmp</code> there")

    def test_a_hang_that_a_signal_ended_is_in_the_headline(self):
        hang = {"what": "rank 1 on n0 sleeps", "next": "look at rank 1", "noticed": "2026-11-28T05:38:40Z", "over": None,
                "after_ms": 30000, "groups": [], "suspects": [{"rank": 1, "node": "n0"}]}
        cause = {"kind": "interrupted", "what": "interrupted by SIGTERM", "rank": None, "node": None, "message": "ended by SIGTERM"}
        page = self.shown_attempt("hung", 2, cause=cause, hang=hang)
        self.assertEqual(page.text("alert-title"), "Hung: rank 1 on n0 sleeps; then interrupted by SIGTERM")
        self.assertEqual(page.run("[$('stage').dataset.kind, $('alert').dataset.kind]"), ["stopped", "stopped"])
        self.assertIn("No rank had made progress for 30 s", page.text("alert-text"))
        self.assertEqual(page.text("alert-next"), "Next: look at rank 1")
        with self.subTest("it hangs no more"):
            self.assertEqual(page.text("legend"), "1 stopped" + "1 hung")
            self.assertEqual(page.run("panel.stateText(1)"), "hung")
        with self.subTest("a report has no figures to colour by"):
            self.assertEqual(page.run("[...$('figure').options].map(({value}) => value)"), ["state"])
            self.assertTrue(page.run("$('figure').parentElement.hidden"))
        page = self.shown_attempt("over", 2, cause=cause, hang={**hang, "over": "2026-11-28T05:38:50Z"})
        self.assertEqual(page.text("alert-title"), "interrupted by SIGTERM")

    def test_the_headline_of_a_hang_that_ended_the_job_names_its_rank(self):
        cause = {"kind": "hang", "what": "the job hung", "rank": None, "node": "n0", "message": "no rank has made progress for 30 s: rank 1 on n0 sleeps", "last_output": []}
        hang = {"noticed": "2026-11-28T05:38:30Z", "over": None, "after_ms": 30000, "alarm": None, "what": "rank 1 on n0 sleeps",
                "suspects": [], "groups": [], "evidence": None, "unseen": None}
        page = self.shown_attempt("aborted", 2, cause=cause, hang=hang)
        self.assertEqual(page.text("alert-title"), "the job hung: rank 1 on n0 sleeps")
        self.assertEqual(page.text("alert-text"), "no rank has made progress for 30 s")

    def test_a_hang_before_a_restart_that_went_well_is_past(self):
        folder = self.folder()
        node = {"name": "n0", "group_rank": 0, "first_rank": 0, "nproc": 2, "location": "", "logs": ""}
        cause = {"kind": "hang", "what": "the job hung: rank 1 on n0 sleeps", "rank": 1, "node": "n0", "message": "", "last_output": ["x"]}
        both = {"started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "phases_ms": {"join": 0, "order": 0, "spawn": 20},
                "nodes": [node, {**node, "name": "n1", "first_rank": 2}], "hang": None}
        (folder / "report.json").write_text(json.dumps(
            {"schema": "toprun.report/1", "job": "j", "program": "train.py", "root": {"host": "n0", "pid": 1}, "exit_code": 0,
             "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "updated": None, "restarts": 1, "max_restarts": 3,
             "attempts": [{"attempt": 0, "cause": cause, **both}, {"attempt": 1, "cause": None, **both}]}))
        self.assert_ok(self.toprun("report", folder / "report.json", "-o", folder / "page.html"))  # a page by its ending
        for name, why in (("page.pdf", "a report is a page (.html) or JSON (.json)"), ("sub/", "it is not a file's name")):
            refused = self.toprun("report", folder / "report.json", "-o", f"{folder}/{name}")
            self.assertNotEqual(refused.code, 0, refused)
            self.assertIn(why, refused.err)
            self.assertFalse(os.path.exists(f"{folder}/{name}".rstrip("/")), refused)
        page = self.shown(folder / "page.html")
        self.assertEqual(page.text("stage"), "ended, all well")
        self.assertEqual(page.text("alert-title"), "Attempt 0, then restarted: the job hung: rank 1 on n0 sleeps")
        self.assertEqual(page.run("$('alert').dataset.kind"), "past")
        self.assertTrue(page.run("$('alert-output').hidden"))
        self.assertNotIn("train.py", page.text("facts"), "it is the title")
        self.assertIn("attempt 1, 1 restart of at most 3", page.text("facts"))
        self.assertEqual(page.text("phases"), "ranks started" + "after 20 ms", "the nodes were there")
        self.assertEqual(page.text("launch-of"), "Launch of attempt 1")
        joining = {"stage": "gathering", "nnodes": [3, 3], "joined": 2, "here": ["n0", "n1"], "waits_until": "2026-11-28T05:48:00Z"}
        self.assertRegex(page.run(f"panel.awaitedLines({json.dumps(joining)}).join(' ')"),
                         r"^2 of 3 nodes have joined: n0, n1\. toprun waits until \d\d:48:00\.$")
        self.assertEqual(page.complaints(), [])

    def test_a_job_that_somebody_ended_has_not_failed(self):
        """The page has the words of `status`, which the job's story and not its report has."""
        folder, no_engine = self.folder(), {"PATH": "/nowhere"}
        node = {"name": "n0", "group_rank": 0, "first_rank": 0, "nproc": 1, "location": "", "logs": ""}
        for id, cancelled, cause, title in (
                ("999991", True, "interrupted", r"cancelled by alice at (\S+ )?\d\d:38:50"),
                ("999992", True, "signal", r"cancelled by alice at (\S+ )?\d\d:38:50"),
                ("999993", False, "interrupted", "interrupted by SIGTERM, exit code 143")):
            attempt = {"attempt": 0, "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "phases_ms": {},
                       "nodes": [node], "hang": None,
                       "cause": {"kind": cause, "what": cause, "rank": None, "node": None, "message": "ended by SIGTERM"}}
            (folder / "logs" / id).mkdir(parents=True)
            (folder / "logs" / id / "report.json").write_text(json.dumps(
                {"schema": "toprun.report/1", "job": "train", "root": {"host": "n0", "pid": 1}, "exit_code": 143,
                 "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:39:00Z", "updated": "2026-11-28T05:39:00Z",
                 "restarts": 0, "attempts": [attempt]}))
            if cancelled:
                (folder / "logs" / id / "story.jsonl").write_text(
                    '{"act":"cancelled","by":"alice","at":"2026-11-28T05:38:50Z"}\n')
            told = self.toprun("report", id, cwd=folder, env=no_engine)
            self.assert_ok(told)
            self.assertRegex(json.loads(told.out)["told"], rf"\A{title}\Z")
            self.assertEqual(json.loads(told.out)["state"], "cancelled" if cancelled else None)
            self.assert_ok(self.toprun("report", id, "--html", "-o", folder / f"{id}.html", cwd=folder, env=no_engine))
            page = self.shown(folder / f"{id}.html")
            self.assertRegex(page.text("alert-title"), rf"\A{title}\Z")
            self.assertEqual(page.text("stage"), "ended with exit code 143")
            self.assertEqual(page.run("[document.getElementById('alert').hidden, "
                                      "document.getElementById('alert').dataset.kind, "
                                      "document.getElementById('stage').dataset.kind]"), [False, "stopped", "stopped"])
            if cause == "interrupted":
                self.assertIsNone(page.run("document.querySelector('#attempts-list p.cause')"), "it is not red")
            self.assertEqual(page.complaints(), [])

    def test_a_success(self):
        finished, file = self.report("", "--rdzv-id", "bigrun")
        self.assert_ok(finished)
        page = self.shown(file)
        self.assertEqual(page.text("stage"), "ended, all well")
        self.assertEqual(page.text("name"), "bigrun")
        self.assertTrue(page.run("document.getElementById('alert').hidden"))
        self.assertEqual(page.text("legend"), "2 done")
        self.assertTrue(page.text("phases").startswith("ranks started"), "one node awaits no others")
        with self.subTest("nothing twice, nothing empty"):
            self.assertEqual(page.run("[...document.querySelectorAll('aside > section:not([hidden])')].map(({id}) => id)"), [])
            self.assertEqual(page.run("getComputedStyle($('more')).display"), "block")
            page.run("choose(0)")
            self.assertEqual(page.run("getComputedStyle($('more')).display"), "none")
        self.assertEqual(page.complaints(), [])

    def test_a_job_whose_ranks_ended_well_after_a_signal(self):
        page = self.shown_attempt("told", 2, interrupted={"signal": 15, "at": "2026-11-28T05:38:50Z", "grace_ms": 25000}, code=0)
        self.assertEqual(page.text("stage"), "ended with 0 after SIGTERM")
        self.assertEqual(page.run("$('stage').dataset.kind"), "good")

    def test_hostile_texts_stay_text(self):
        folder = self.folder()
        for i, text in enumerate(hostile_texts.HOSTILE):
            cause = {"kind": "exit", "what": text, "rank": 0, "local_rank": 0, "node": text, "exit_code": 1, "signal": None,
                     "message": text, "error_file": text, "last_output": [text], "kernel_evidence": text}
            node = {"name": text, "group_rank": 0, "first_rank": 0, "nproc": 1, "location": f"/{text}/x", "logs": text}
            attempt = {"attempt": 0, "started": text, "ended": text, "phases_ms": {}, "slowest": {}, "awaited": None,
                       "hang": None, "nodes": [node], "network": [], "cause": cause,
                       "order": {"name": text, "why": text, "source": text, "ring": [], "unplaced": [text],
                                 "warnings": [text], "notes": [text], "verified": True}}
            (folder / f"{i}.json").write_text(json.dumps(
                {"schema": "toprun.report/1", "job": text, "root": {"host": text, "pid": 1}, "exit_code": 1,
                 "started": text, "ended": text, "updated": text, "attempts": [attempt]}))
            file = folder / f"{i}.html"
            self.assert_ok(self.toprun("report", folder / f"{i}.json", "--html", "-o", file))
            page = self.shown(file)
            self.assertIsNone(page.run("window.hacked"), text)
            self.assertEqual(page.run("document.querySelectorAll('img,svg,iframe,object,embed,form,base,video').length"), 0)
            self.assertEqual(page.run("document.querySelectorAll('script').length"), 2, text)
            self.assertEqual(page.text("alert-output"), text)
            self.assertEqual(page.complaints(), [], text)
            page.close()

    def test_of_a_job_that_hangs_it_says_so_as_of_its_time(self):
        hang = {"noticed": "2026-11-28T05:39:30Z", "over": None, "after_ms": 15000, "alarm": None,
                "what": "rank 2 on n2 sleeps at hang.py:16", "suspects": [], "groups": [], "evidence": None, "unseen": None}
        attempt = {"attempt": 0, "started": "2026-11-28T05:38:00Z", "ended": None, "phases_ms": {}, "nodes": [],
                   "hang": hang, "cause": None}
        report = {"schema": "toprun.report/1", "job": "hang", "root": {"host": "n0", "pid": 1}, "exit_code": None,
                  "started": "2026-11-28T05:38:00Z", "ended": None, "updated": "2026-11-28T05:39:40Z", "restarts": 0,
                  "attempts": [attempt]}
        folder = self.folder()
        for over, begins, stage in ((None, r"No rank had made progress for 15 s when it was noticed, at \d\d:39:30: rank 2", "running, hangs"),
                                    ("2026-11-28T05:39:35Z", r"The ranks go on since \d\d:39:35\. No rank had made progress for 15 s when it was noticed, at "
                                     r"\d\d:39:30: rank 2", "running")):
            hang["over"], hang["next"] = over, "compare the calls"
            (folder / "report.json").write_text(json.dumps(report))
            self.assert_ok(self.toprun("report", folder / "report.json", "--html", "-o", folder / "page.html"))
            page = self.browser.page()
            page.open((folder / "page.html").as_uri())
            page.until("document.getElementById('link')?.textContent === 'report of the job'")
            self.assertRegex(page.text("hang-what"), f"^{begins}")
            self.assertEqual(page.text("hang-next"), "Next: compare the calls")
            self.assertEqual(page.text("stage"), stage)
            self.assertRegex(page.text("facts"), r"for 1 min 40 s .* as of \d\d:39:40")

    HUNG = "rank 1 on n1 sleeps in recv, data.py:41"

    def hung_job(self):
        """(folder, id) of a job on three nodes that hung, as its files tell."""
        folder = self.folder()
        nodes = [{"name": f"n{i}", "group_rank": i, "first_rank": i, "nproc": 1, "location": "", "logs": ""} for i in range(3)]
        frames = [{"function": "recv", "file": "/home/me/data.py", "line": 41}, {"function": "main", "file": "/home/me/train.py", "line": 7}]
        groups = [{"ranks": "0,2", "count": 2, "doing": "communicates", "text": "wait in all_reduce, train.py:9", "frames": frames[1:]},
                  {"ranks": "1", "count": 1, "doing": "sleeps", "text": "sleeps in recv, data.py:41", "frames": frames}]
        hang = {"noticed": "2026-11-28T05:38:30Z", "over": None, "after_ms": 15000, "alarm": None, "what": self.HUNG,
                "suspects": [{"rank": 1, "node": "n1"}], "groups": groups, "evidence": [], "unseen": None}
        cause = {"kind": "hang", "what": f"the job hung: {self.HUNG}", "rank": 1, "local_rank": 0, "node": "n1", "exit_code": None,
                 "signal": None, "message": "", "last_output": [f"step {i}" for i in range(40)]}
        attempt = {"attempt": 0, "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:38:31.900Z", "phases_ms": {},
                   "nodes": nodes, "hang": hang, "cause": cause}
        logs = folder / "logs/999994"
        logs.mkdir(parents=True)
        (logs / "n1.out").write_text("step 39\n")
        (logs / "report.json").write_text(json.dumps(
            {"schema": "toprun.report/1", "job": "train", "program": "/home/me/train.py", "root": {"host": "n0", "pid": 1}, "exit_code": 1,
             "started": "2026-11-28T05:38:00Z", "ended": "2026-11-28T05:38:31.900Z", "updated": None, "restarts": 0,
             "attempts": [attempt]}))
        return folder, "999994"

    def test_a_hung_job_by_its_id(self):
        folder, id = self.hung_job()
        self.assert_ok(self.toprun("report", id, "--html", "-o", folder / "page.html", cwd=folder, env={"PATH": "/nowhere"}))
        page = self.shown(folder / "page.html")
        with self.subTest("whose page it is"):
            self.assertRegex(page.text("facts"), r"^job 999994 ")
            self.assertTrue(page.run("document.title").startswith("train.py (job 999994): ended"), page.run("document.title"))
        with self.subTest("a rank's place, output and file"):
            page.run("choose(1)")
            text = page.text("details-list")
            for words in ("sleeps in recv, data.py:41", "recv (/home/me/data.py:41)\nmain (/home/me/train.py:7)", "step 38\nstep 39",
                          f"{folder}/logs/999994/n1.out"):
                self.assertIn(words, text)
            self.assertIn("Local rank0Last lines", text)
            page.run("choose(2)")
            self.assertIn("main (/home/me/train.py:7)", page.text("details-list"))
            self.assertNotIn("step 39", page.text("details-list"))
        with self.subTest("the hang once"):
            page.run("choose(-1)")
            shown = page.run("document.body.innerText")
            self.assertEqual(shown.count(self.HUNG), 1, shown)
            self.assertTrue(page.run("$('attempts').hidden"), "the only attempt is told above")
            self.assertRegex(page.text("hang-what"), r"^No rank had made progress for 15 s when it was noticed, at \d\d:38:30\.$")
        with self.subTest("one form of a duration"):
            self.assertIn("ran 31.9 s", page.text("facts"))
            self.assertIn("took 31.9 s", page.text("attempts-list"))
        with self.subTest("the file with the output of its node"):
            self.assertEqual(page.text("alert-next"), f"Output: {folder}/logs/999994/n1.out")
        with self.subTest("by its folder"):
            by_folder = json.loads(self.toprun("report", "logs/999994", cwd=folder).out)
            self.assertEqual((by_folder["id"], by_folder["node_output"]), ("999994", {"n1": f"{folder}/logs/999994/n1.out"}))
        with self.subTest("no empty columns, no button without a use"):
            page.run("document.getElementById('table').open = true")
            page.until("document.getElementById('table-body').rows.length === 3")
            self.assertEqual(page.run("[...document.getElementById('table-head').cells].filter((cell) => !cell.hidden)"
                                      ".map((cell) => cell.textContent)"), ["Node", "Ranks", "State"])
            self.assertEqual(page.run("[document.getElementById('before').hidden, document.getElementById('after').hidden]"), [True, True])
        with self.subTest("whole lines"):
            above = page.run("(() => { const box = $('alert-output'); return box.scrollTop % parseFloat(getComputedStyle(box).lineHeight); })()")
            self.assertTrue(above < 1 or above > 17, above)
        self.assertEqual(page.complaints(), [])

    def test_what_is_no_report(self):
        folder = self.folder()
        for name, text in (("x", "{}"), ("empty", ""), ("cut", '{"schema": "toprun.rep')):
            (folder / f"{name}.json").write_text(text)
        for name, code, why in (("x.json", 2, f"cannot read the report {folder}/x.json: its schema is not toprun.report/1"),
                                ("empty.json", 2, f"cannot read the report {folder}/empty.json: it is empty"),
                                ("cut.json", 2, f"cannot read the report {folder}/cut.json: it is not JSON, or .*"),
                                ("none.json", 2, f"{folder}/none.json: there is no such file; .*")):
            with self.subTest(name):
                finished = self.toprun("report", folder / name, "--html")
                self.assertEqual((finished.code, finished.out), (code, ""), finished)
                self.assert_one_line(finished, why)


if __name__ == "__main__":
    unittest.main()
