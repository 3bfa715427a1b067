"""Much output at once: the writer and the counting of launch.py, here with --tee 3 --log-dir."""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import launch

HALF_LINES = 1_000  # of each rank, as for torchrun in the table of the issue
# What a writer itself used is not the launcher's, nor is what its interpreter's end would cost.
SAYS_ITS_CPU = """
with open(os.path.join(sys.argv[3], f"cpu.{rank}"), "w") as file:
    file.write(str(sum(os.times()[:2])))
os._exit(0)
"""


def written(launcher, pieces, lines):
    """(CPU seconds of the launcher alone, lines lost, lines torn)."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        os.environ["OMP_NUM_THREADS"], os.environ["TMPDIR"] = "1", temporary
        writer = folder / "writer.py"
        writer.write_text(launch.WRITER + SAYS_ITS_CPU)
        words = ["--nnodes", "1", "--nproc-per-node", str(launch.RANKS), "--tee", "3", "--log-dir",
                 str(folder / "logs"), "--no-python"]
        program = [sys.executable, "-u", str(writer), str(pieces), str(lines), temporary]
        all_cpu = launch.measured([*launcher.command, *words, *program], folder / "out")[1]
        writers_cpu = [float(path.read_text()) for path in folder.glob("cpu.*")]
        whole, torn = launch.count_lines(folder / "out")
        return all_cpu - sum(writers_cpu), max(0, launch.RANKS * lines - whole - torn), torn


def whole_lines(_, launcher, __):
    cpu, lost, torn = written(launcher, 1, launch.LINES)
    return {"cpu": cpu, "lost": lost, "torn": torn}


def lines_in_halves(_, launcher, __):
    _, lost, torn = written(launcher, 2, HALF_LINES)
    return {"lost": lost, "torn": torn}
