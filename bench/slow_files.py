"""A folder as a distant file server shows it: each request takes a while, many go on at once.

    slow_files.py FOLDER MOUNT_POINT MILLISECONDS      until it is killed; as root

Speaks FUSE with the kernel itself (linux/fuse.h, 7.31), read-only. One request is a look at a name, an open, or
at most 128 KiB of a file: what the kernel's read-ahead asks for at a time, as it does of NFS and Lustre.
"""

import concurrent.futures
import ctypes
import errno
import os
import signal
import stat
import struct
import sys
import time

IN, OUT = struct.Struct("<IIQQIIIHH"), struct.Struct("<IiQ")
ATTRIBUTES = struct.Struct("<6Q10I")
LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ, RELEASE, FLUSH, INIT = 1, 2, 3, 5, 14, 15, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 27, 28, 29, 36, 42
SILENT = {FORGET, INTERRUPT, BATCH_FORGET}
DELAYED = {LOOKUP, GETATTR, READLINK, OPEN, READ, OPENDIR, READDIR}
KEEP_CACHE, CACHE_FOLDER, MOST_BYTES, VALID_S = 2, 8, 128 * 1024, 3600
ASYNC_READ, PARALLEL_LOOKUPS, CACHE_LINKS = 1, 1 << 18, 1 << 23
WORKERS = 128


class Files:
    def __init__(self, folder, delay_s):
        self.delay_s = delay_s
        self.paths = {1: os.fsencode(folder)}  # by node; the kernel forgets none of them
        self.nodes = {self.paths[1]: 1}

    def node(self, path):
        if path not in self.nodes:
            number = len(self.paths) + 1
            self.nodes[path], self.paths[number] = number, path
        return self.nodes[path]

    def attributes(self, path):
        of = os.lstat(path)
        times = [of.st_atime_ns, of.st_mtime_ns, of.st_ctime_ns]
        return ATTRIBUTES.pack(of.st_ino, of.st_size, of.st_blocks, *(t // 10**9 for t in times),
                               *(t % 10**9 for t in times), of.st_mode, of.st_nlink, of.st_uid, of.st_gid, 0, 4096, 0)

    def answer(self, code, node, body):
        if code in DELAYED:
            time.sleep(self.delay_s)
        path = self.paths[node]
        if code == LOOKUP:
            child = path + b"/" + body.rstrip(b"\0")
            try:
                attributes = self.attributes(child)
            except FileNotFoundError:  # which the kernel remembers, too
                return struct.pack("<4Q2I", 0, 0, VALID_S, 0, 0, 0) + bytes(ATTRIBUTES.size)
            return struct.pack("<4Q2I", self.node(child), 0, VALID_S, VALID_S, 0, 0) + attributes
        if code == GETATTR:
            return struct.pack("<QII", VALID_S, 0, 0) + self.attributes(path)
        if code == READLINK:
            return os.readlink(path)
        if code in (OPEN, OPENDIR):
            return struct.pack("<QIi", os.open(path, os.O_RDONLY), KEEP_CACHE | CACHE_FOLDER, 0)
        file, offset, size = struct.unpack_from("<QQI", body) if len(body) >= 20 else (0, 0, 0)
        if code == READ:
            return os.pread(file, size, offset)
        if code == READDIR:
            return self.entries(path, offset, size)
        if code in (RELEASE, RELEASEDIR):
            os.close(struct.unpack_from("<Q", body)[0])
            return b""
        if code == FLUSH:
            return b""
        raise OSError(errno.ENOSYS, "")

    def entries(self, path, offset, size):
        found = b""
        for number, name in enumerate(sorted(os.listdir(path))[offset:], offset + 1):
            kind = stat.S_IFMT(os.lstat(path + b"/" + name).st_mode) >> 12
            entry = struct.pack("<QQII", 1, number, len(name), kind) + name
            entry += bytes(-len(entry) % 8)
            if len(found) + len(entry) > size:
                break
            found += entry
        return found


def serve(device, files):
    def reply(unique, error, body=b""):
        try:
            os.write(device, OUT.pack(OUT.size + len(body), -error, unique) + body)
        except OSError:
            pass  # who asked is gone

    def handle(code, unique, node, body):
        try:
            reply(unique, 0, files.answer(code, node, body))
        except OSError as failed:
            reply(unique, failed.errno)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        while True:
            try:
                request = os.read(device, MOST_BYTES + 8192)
            except OSError:
                return  # unmounted
            _, code, unique, node, *_ = IN.unpack_from(request)
            body = request[IN.size:]
            if code == INIT:
                reply(unique, 0, struct.pack("<4I2H2I2H3I12H", 7, 31, MOST_BYTES, ASYNC_READ | PARALLEL_LOOKUPS | CACHE_LINKS, WORKERS,
                                             WORKERS, 4096, 1, MOST_BYTES // 4096, 0, 0, 0, 0, *[0] * 12)[:64])
            elif code not in SILENT:
                workers.submit(handle, code, unique, node, body)


def main():
    folder, point, delay_ms = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other,max_read={MOST_BYTES}"
    libc = ctypes.CDLL(None, use_errno=True)
    nosuid_nodev_readonly = 2 | 4 | 1
    if libc.mount(b"slow_files", os.fsencode(point), b"fuse", nosuid_nodev_readonly, os.fsencode(options)) != 0:
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    serve(device, Files(os.path.abspath(folder), float(delay_ms) / 1000))


if __name__ == "__main__":
    main()
