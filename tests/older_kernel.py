"""Runs a command as a kernel of 2018 (4.18, without statx) would: system calls that came later do not exist.

    python3 tests/older_kernel.py COMMAND [ARGUMENT...]
    python3 tests/older_kernel.py --no-subreaper COMMAND [ARGUMENT...]   also without PR_SET_CHILD_SUBREAPER, which
                                                                         emulators and sandboxes may lack
"""

import ctypes
import errno
import os
import signal
import struct
import sys

# By name, with the numbers of x86-64 and aarch64; all since 424 have one number everywhere.
OLDER = {"statx": (332, 291), "rseq": (334, 293)}
FIRST_COMMON, LAST_COMMON = 424, 511  # pidfd_send_signal (5.1), io_uring, open_tree, clone3, close_range, openat2 …
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
PRCTL, PR_SET_CHILD_SUBREAPER = (157, 167), 36
LOAD, AT_LEAST, EQUAL, RETURN = 0x20, 0x35, 0x15, 0x06  # of the kernel's filter machine
ALLOW, REFUSE, INVALID = 0x7fff0000, 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EINVAL
NUMBER, FIRST_ARGUMENT = 0, 16  # where the kernel's description of a call has them


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def instruction(code, value, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, value)


def rules(subreaper):
    column = ["x86_64", "aarch64"].index(os.uname().machine)
    numbers = [both[column] for both in OLDER.values()]
    code = [] if subreaper else [
        instruction(LOAD, NUMBER), instruction(EQUAL, PRCTL[column], no=3), instruction(LOAD, FIRST_ARGUMENT),
        instruction(EQUAL, PR_SET_CHILD_SUBREAPER, no=1), instruction(RETURN, INVALID)]
    code.append(instruction(LOAD, NUMBER))
    for at, number in enumerate(numbers):
        code.append(instruction(EQUAL, number, yes=len(numbers) - at + 2))
    code += [instruction(AT_LEAST, LAST_COMMON + 1, yes=1), instruction(AT_LEAST, FIRST_COMMON, yes=1),
             instruction(RETURN, ALLOW), instruction(RETURN, REFUSE)]
    return b"".join(code), len(code)


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    command = sys.argv[1:]
    subreaper = command[0] != "--no-subreaper"
    if not subreaper:
        command = command[1:]
    code, length = rules(subreaper)
    program = Program(length, code)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
        sys.exit(f"older_kernel: no filter of system calls: {os.strerror(ctypes.get_errno())}")
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python itself
        signal.signal(ignored, signal.SIG_DFL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
