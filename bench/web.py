#!/usr/bin/env python3
"""What the page of a running job costs at 12,500 nodes, in a real Chromium.

    make bench-web      or: python3 bench/web.py [--nodes 12500] [--rounds 5]

TOPRUN names the binary (build/release/toprun), beside which the tests' web_player is: the real server, with
pictures of a job that is played to it. Measured: from the begin of the navigation until all ranks are drawn;
from the text of a failure until the page shows it; the drawing of all ranks; the server's CPU time for each
picture that it sends, and its memory. Exit code 1 if a figure misses its target.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import browser  # noqa: E402
import web_pictures  # noqa: E402

OPEN_LIMIT_S = 1.0
FOLLOW_LIMIT_S = 1.0
DRAW_LIMIT_MS = 16
DRAWN_AT = """new Promise((done) => { const look = () => model.ranks > 0 && model.figures.ranks.state && picture.drawMs > 0
    ? done(performance.now()) : requestAnimationFrame(look); look(); })"""


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024


def opening(chromium, player):
    page = chromium.page()
    page.open(player.url)
    page.until("typeof model !== 'undefined'")
    seconds = page.run(DRAWN_AT) / 1000
    return page, seconds


def following(page, player, picture, rank):
    picture.fail(rank)
    job, figures = picture.job, picture.figures()
    start = time.monotonic()
    player.show(job=job, figures=figures)
    page.until(f"$('alert-title').textContent.startsWith('rank {rank} ') && "
               "$('legend').textContent.includes('1 failed')")
    return time.monotonic() - start


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--nodes", type=int, default=12_500)
    options.add_argument("--rounds", type=int, default=5)
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chromium = browser.Browser(folder)
        player = web_pictures.Player()
        try:
            picture = web_pictures.Picture(options.nodes)
            player.show_all(picture)
            opened, followed, drawn = [], [], []
            for round_number in range(options.rounds):
                page, seconds = opening(chromium, player)
                opened.append(seconds)
                followed.append(following(page, player, picture, 100 + round_number))
                for _ in range(20):
                    drawn.append(page.run("(picture.draw(), picture.drawMs)"))
                page.close()
            page, _ = opening(chromium, player)
            cpu, pictures = cpu_s(player.process.pid), 20
            for _ in range(pictures):
                tick = player_tick(player, picture)
                page.until(f"model.figures.tick === {tick}")
            cpu = (cpu_s(player.process.pid) - cpu) / pictures
            complaints = page.complaints()
            size = peak_mib(player.process.pid)
        finally:
            player.close()
            chromium.close()
    median = statistics.median
    print(f"{picture.ranks:,} ranks on {options.nodes:,} nodes, {options.rounds} rounds: median (largest)")
    print(f"page opened, all drawn   {median(opened):.2f} s ({max(opened):.2f})")
    print(f"failure shown after      {median(followed):.2f} s ({max(followed):.2f})")
    print(f"all ranks drawn in       {median(drawn):.1f} ms ({max(drawn):.1f})")
    print(f"server, for each picture {cpu * 1000:.1f} ms of CPU, {size:.0f} MiB at most")
    print(f"complaints of the console: {complaints or 'none'}")
    sys.exit(max(opened) > OPEN_LIMIT_S or max(followed) > FOLLOW_LIMIT_S or median(drawn) > DRAW_LIMIT_MS
             or bool(complaints))


def player_tick(player, picture):
    figures = picture.figures()
    figures["tick"] = picture.tick
    player.show(figures=figures)
    return picture.tick


if __name__ == "__main__":
    main()
