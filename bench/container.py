"""What a container start costs beyond the runtime's own: `toprun --container` beside the runtime, in turns.

    python3 bench/container.py [--rounds 15] [--json FILE]

Both start a container of the same image by the same words (`toprun --dry-run` prints them) for one
rank that does nothing; the runtime is a real Podman with a store of its own. Needs root, podman,
runc and a built toprun (TOPRUN, else build/release/toprun). See README.md.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import containers
import support

RUN_LIMIT_S = 60
TARGET_OWN_S = 0.050


def seconds(argv, env, cwd):
    start = time.perf_counter()
    finished = support.Run(argv, env=env, cwd=cwd).wait(RUN_LIMIT_S)
    if finished.code != 0:
        sys.exit(f"{shlex.join(map(str, argv))}: {finished}")
    return time.perf_counter() - start


def runtimes_words(ours, env, cwd):
    """What toprun would start, with `true` in place of what it runs inside."""
    told = support.Run([ours[0], "--dry-run", *ours[1:]], env=env, cwd=cwd).wait(RUN_LIMIT_S).out
    line = next(line for line in told.splitlines() if line.startswith("container "))
    words = shlex.split(line)[1:]
    place = words.index("FOLDER:FOLDER")  # of one run only
    del words[place - 1:place + 1]
    return [*words[:words.index(containers.IMAGE) + 1], "true"]


def compare(rounds, binary):
    podman = containers.Podman()
    try:
        with tempfile.TemporaryDirectory(prefix="toprun-bench-") as cwd:
            ours = [binary, "--container", containers.IMAGE, "--no-python", "true"]
            bare = runtimes_words(ours, podman.env, cwd)
            alone = [binary, "--no-python", "true"]
            seconds(ours, podman.env, cwd)  # the first start of an image
            rows = [[seconds(argv, podman.env, cwd) for argv in (bare, ours, alone)]
                    for _ in range(rounds)]
    finally:
        podman.remove()
    own = statistics.median(row[1] - row[0] for row in rows)
    runtime, with_toprun, without = (statistics.median(row[i] for row in rows) for i in range(3))
    return {"runtime_s": runtime, "toprun_s": with_toprun, "toprun_without_container_s": without,
            "own_s": own}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    containers.needs_podman()
    row = compare(arguments.rounds, support.binary())
    print(f"podman run {1000 * row['runtime_s']:.0f} ms, toprun --container "
          f"{1000 * row['toprun_s']:.0f} ms (without a container "
          f"{1000 * row['toprun_without_container_s']:.0f} ms)")
    met = row["own_s"] <= TARGET_OWN_S
    print(f"our own time per node {1000 * row['own_s']:.1f} ms, median of pairs "
          f"(limit {1000 * TARGET_OWN_S:.0f} ms): {'met' if met else 'MISSED'}")
    if arguments.json:
        arguments.json.write_text(json.dumps(row, indent=2) + "\n")
    sys.exit(not met)


if __name__ == "__main__":
    main()
