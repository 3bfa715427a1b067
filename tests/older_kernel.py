"""Runs a command as a kernel of 2018 (4.18, without statx) would: system calls that came later do not exist.

    python3 tests/older_kernel.py COMMAND [ARGUMENT...]
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
LOAD, AT_LEAST, EQUAL, RETURN = 0x20, 0x35, 0x15, 0x06  # of the kernel's filter machine
ALLOW, REFUSE = 0x7fff0000, 0x00050000 | errno.ENOSYS


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def instruction(code, value, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, value)


def rules():
    column = ["x86_64", "aarch64"].index(os.uname().machine)
    numbers = [both[column] for both in OLDER.values()]
    code = [instruction(LOAD, 0)]  # the system call's number
    for at, number in enumerate(numbers):
        code.append(instruction(EQUAL, number, yes=len(numbers) - at + 2))
    code += [instruction(AT_LEAST, LAST_COMMON + 1, yes=1), instruction(AT_LEAST, FIRST_COMMON, yes=1),
             instruction(RETURN, ALLOW), instruction(RETURN, REFUSE)]
    return b"".join(code), len(code)


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    code, length = rules()
    program = Program(length, code)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)):
        sys.exit(f"older_kernel: no filter of system calls: {os.strerror(ctypes.get_errno())}")
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python itself
        signal.signal(ignored, signal.SIG_DFL)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
