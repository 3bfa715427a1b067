"""Which files an import reads in this environment, and which parts of them: --prefetch starts it once for each
environment, as `python - MODULES...` (3.8 or later). node/prepare/prefetch/prefetch_record.h has the form of its answer.

Of libraries those pages count that are mapped into this process after the import: of several GB an import
touches some dozen MB. It runs no script, and nothing of the folder in which it is started.
"""

import sys

if sys.path and sys.path[0] == "":
    del sys.path[0]
opened = {module.__spec__.cached: None for module in list(sys.modules.values())  # those of Python's own start
          if getattr(getattr(module, "__spec__", None), "cached", None)}
sys.addaudithook(lambda event, args: event == "open" and isinstance(args[0], str) and opened.setdefault(args[0]))

import os

answer = os.dup(1)
os.dup2(2, 1)  # what modules print is not the answer
os.nice(19)
for name in sys.argv[1:]:
    __import__(name)
trace = list(opened)

import array
import importlib.machinery
import importlib.util

PAGE = os.sysconf("SC_PAGESIZE")
PRESENT, SWAPPED = 1 << 63, 1 << 62  # Documentation/admin-guide/mm/pagemap.rst
# A hole that is read along costs less than a second request.
HOLE = 128 * 1024
suffixes = importlib.machinery.EXTENSION_SUFFIXES


def touched(start, end):
    """Which of its pages this process has touched; all if the kernel does not say."""
    entries = array.array("Q")
    count = (end - start) // PAGE
    try:
        with open("/proc/self/pagemap", "rb", 0) as pagemap:
            pagemap.seek(start // PAGE * 8)
            entries.frombytes(pagemap.read(count * 8))
        return [number for number, entry in enumerate(entries) if entry & (PRESENT | SWAPPED)]
    except (OSError, ValueError):
        return range(count)


def mapped():
    """{path: [(start, end) of what was touched]} of the files that are mapped here."""
    files = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            addresses, _, offset, _, inode, *path = line.rstrip("\n").split(None, 5)
            if inode == "0" or not path or not path[0].startswith("/") or path[0].endswith(" (deleted)"):
                continue
            start, end = (int(address, 16) for address in addresses.split("-"))
            files.setdefault(path[0], []).extend((int(offset, 16) + PAGE * number, int(offset, 16) + PAGE * (number + 1))
                                                 for number in touched(start, end))
    return files


def joined(ranges):
    """Ranges, those with small holes between them as one."""
    found = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1] + HOLE:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


def read():
    """(kind, path) of what was opened, in that order, and what is looked at before."""
    for path in trace:
        if path.endswith(".pyc"):
            try:
                source = importlib.util.source_from_cache(path)
            except ValueError:
                source = path[:-1]
            stem, is_package = os.path.splitext(source)[0], os.path.basename(source) == "__init__.py"
            for name in [stem + suffix for suffix in suffixes if is_package] + [source]:
                yield "look", name
        if os.path.isfile(path):
            yield "whole", path


def plain(path):
    """Whether it can be a file of the environment, on one line."""
    return os.path.isabs(path) and "\n" not in path and not path.startswith(("/proc/", "/sys/", "/dev/"))


packages = [path for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
lines = [("packages %d" % os.stat(path).st_mtime_ns, path) for path in packages]
lines += [("whole", path) for path, finder in sys.path_importer_cache.items() if finder and os.path.isdir(path)]
lines += read()
lines += [("part %d %d" % (start, end - start), path) for path, ranges in mapped().items() for start, end in joined(ranges)]
with os.fdopen(answer, "w", encoding=sys.getfilesystemencoding(), errors=sys.getfilesystemencodeerrors()) as out:
    for line in [("toprun prefetch 1",), *(line for line in lines if plain(line[1])), ("end",)]:
        print(*line, file=out)
