"""A soak's own process and mount namespaces: whatever happens, nothing of it outlives it."""

import ctypes
import os
import signal
import subprocess
import sys

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
ENDS = signal.SIGINT, signal.SIGTERM
OWN_FOLDERS = "/tmp", "/dev/shm", "/run/user"


def run(work):
    """work()'s exit code. Its child is process 1 of the namespace: with it, the kernel ends all others."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWPID):
        sys.exit(f"soak: unshare: {os.strerror(ctypes.get_errno())}; it needs root")
    first = os.fork()
    if first == 0:
        os._exit(_reap_until_end(work))
    _forward_to(first)
    return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])


def _forward_to(pid):
    for number in ENDS:
        signal.signal(number, lambda received, _: os.kill(pid, received))


def _reap_until_end(work):
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    worker = os.fork()
    if worker == 0:
        os._exit(_work_in_own_folders(work))
    _forward_to(worker)
    while True:
        pid, status = os.wait()
        if pid == worker:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _work_in_own_folders(work):
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
    for folder in OWN_FOLDERS:
        if os.path.isdir(folder):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "soak", folder], check=True)
    try:
        code = work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    return code
