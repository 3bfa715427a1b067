"""Much output at once: the writer and the counting of launch.py, here with --tee 3 --log-dir."""

import os
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import launch

HALF_LINES = 1_000  # of each rank, as for torchrun in the table of the issue


def written(launcher, pieces, lines):
    """(launcher's CPU seconds beyond the writers' own, lines lost, lines torn)."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        os.environ["OMP_NUM_THREADS"], os.environ["TMPDIR"] = "1", temporary
        writer = folder / "writer.py"
        writer.write_text(launch.WRITER)
        program = [sys.executable, "-u", str(writer), str(pieces), str(lines)]
        bare = ["sh", "-c", 'for r in 0 1 2 3; do RANK=$r "$@" >"$OUT.$r" & done; wait', "sh"]
        os.environ["OUT"] = str(folder / "bare")
        base = launch.measured([*bare, *program])[1]
        for path in folder.glob("bare.*"):
            path.unlink()
        words = ["--nnodes", "1", "--nproc-per-node", str(launch.RANKS), "--tee", "3", "--log-dir",
                 str(folder / "logs"), "--no-python"]
        cpu = launch.measured([*launcher.command, *words, *program], folder / "out")[1]
        whole, torn = launch.count_lines(folder / "out")
        shutil.rmtree(folder / "logs")
        return cpu - base, max(0, launch.RANKS * lines - whole - torn), torn


def whole_lines(_, launcher, __):
    cpu, lost, torn = written(launcher, 1, launch.LINES)
    return {"cpu": cpu, "lost": lost, "torn": torn}


def lines_in_halves(_, launcher, __):
    _, lost, torn = written(launcher, 2, HALF_LINES)
    return {"lost": lost, "torn": torn}
