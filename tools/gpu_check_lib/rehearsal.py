"""Stand-ins for a machine without a GPU: a program nvidia-smi, and the libraries of the tests beside the binary."""

import pathlib

FIGURES = {"name": "Stand-in", "driver_version": "0", "memory.total": "81559", "pci.bus_id": "00000000:10:00.0",
           "uuid": "GPU-00000000-0000-4000-8000-000000000000", "utilization.gpu": "57", "memory.used": "2048"}
NVIDIA_SMI = f"""\
#!/usr/bin/env python3
import sys
figures = {FIGURES!r}
for word in sys.argv[1:]:
    if word.startswith("--query-gpu="):
        print(", ".join(figures[name] for name in word.removeprefix("--query-gpu=").split(",")))
        sys.exit()
print("a stand-in for nvidia-smi")
"""


def environment(folder: pathlib.Path, toprun: str, path: str):
    """Variables under which toprun and gpu_check find the stand-ins."""
    program = folder / "nvidia-smi"
    program.write_text(NVIDIA_SMI)
    program.chmod(0o755)
    fakes = pathlib.Path(toprun).resolve().parent / "fake_gpu"
    return {"PATH": f"{folder}:{path}", "LD_LIBRARY_PATH": str(fakes), "FAKE_NCCL_DIR": str(folder)}
