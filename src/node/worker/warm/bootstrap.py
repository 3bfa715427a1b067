"""The warm parent's side of toprun: imported as `sitecustomize`, the last thing before a script runs.

Python's command line is that of a rank (python -u SCRIPT ARGS). This module imports what the ranks
will import, then waits for orders and forks. In a fork, a rank, it returns, and Python goes on with
the script as if nothing had been there. The parent itself never returns.

Frames to and from toprun (base/process/frames.h); fields are separated by NUL:
  toprun: modules…                     what to import besides the head of the script
  here:   ready NAMES…                 the modules that were imported
          refused WHY                  this process then ends
  toprun: CPUS NAME=VALUE…             a rank; its stdin, stdout and stderr come with it
  toprun: (empty)                      fork the ranks that were sent
  here:   pids P…, or refused WHY
"""

import os
import sys
from time import sleep

# CHANNEL; CHANNEL:empty where PYTHONPATH was empty; CHANNEL:check to learn whether this module is imported
# at all.
VARIABLE = "TOPRUN_WARM_CHANNEL"
NAME = "sitecustomize"
PR_SET_PDEATHSIG, SIGKILL = 1, 9
SCM_RIGHTS_LEVEL, SCM_RIGHTS = 1, 1  # SOL_SOCKET, SCM_RIGHTS
PRELOAD_FLAGS = 0x400  # ast.PyCF_ONLY_AST
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri", "/dev/infiniband", "/dev/accel", "socket:")
# What libraries written in C read while they are loaded: glibc, Python, OpenMP, BLAS, torch.
READ_BY_C = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "NUMEXPR_", "TORCH_", "PYTORCH_", "ATEN_",
             "PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "TZ")
# … but not these, where NCCL's process groups write: they look when they are made (node/agent/evidence/recorders.h).
READ_LATER = ("TORCH_NCCL_DEBUG_INFO_", "TORCH_FR_DUMP_TEMP_FILE")


class Refused(Exception):
    pass


def given_environment():
    """The environment that toprun gave; Python (PEP 538) and what it imports may have changed theirs."""
    with open("/proc/self/environ", "rb") as file:
        entries = (os.fsdecode(entry).partition("=") for entry in file.read().split(b"\0") if entry)
        given = {name: value for name, _, value in entries}
    was_empty = given.pop(VARIABLE).endswith(":empty")
    archive, _, rest = given.pop("PYTHONPATH").partition(":")
    if rest or was_empty:
        given["PYTHONPATH"] = os.environ["PYTHONPATH"] = rest
    else:
        del os.environ["PYTHONPATH"]
    return given, archive


class Channel:
    def __init__(self, number):
        import _socket  # without the file that wraps it, which a script may never import
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, number)

    def _read(self, size, descriptors):
        data = b""
        while len(data) < size:
            part, control, _, _ = self.socket.recvmsg(size - len(data), 256)
            if not part:
                os._exit(0)  # toprun has ended
            for level, kind, content in control:
                if (level, kind) == (SCM_RIGHTS_LEVEL, SCM_RIGHTS):
                    descriptors += [int.from_bytes(content[i:i + 4], sys.byteorder) for i in range(0, len(content), 4)]
            data += part
        return data

    def receive(self):
        descriptors = []
        size = int.from_bytes(self._read(4, descriptors), "big")
        content = self._read(size, descriptors)
        return content.split(b"\0") if content else [], descriptors

    def send(self, *fields):
        content = b"\0".join(field if isinstance(field, bytes) else os.fsencode(str(field)) for field in fields)
        self.socket.sendall(len(content).to_bytes(4, "big") + content)


def vanish(archive):
    """Takes this module's archive out of everything that programs look at."""
    sys.path.remove(archive)
    sys.path_importer_cache.pop(archive, None)
    sys.modules["zipimport"]._zip_directory_cache.pop(archive, None)
    os.close(int(archive.rpartition("/")[2]))


def import_the_real_one():
    """The site's own sitecustomize. Returns what this module has to raise for it at its end."""
    ours = sys.modules.pop(NAME)
    try:
        __import__(NAME)
        return None
    except Exception as error:
        sys.modules[NAME] = ours
        return error


def parsed_script():
    """The script's statements, none if it is no file of Python; and where its imports look first."""
    if sys.argv[0] in ("", "-", "-c", "-m"):
        return [], os.getcwd()
    statements = parsed(sys.argv[0])
    if statements is None:
        return [], sys.argv[0]  # perhaps a folder or an archive with a __main__.py
    return statements, os.path.dirname(os.path.realpath(sys.argv[0]))


def parsed(path):
    """The statements of a file of Python, None if it is none."""
    try:
        with open(path, "rb") as file:
            return compile(file.read(), path, "exec", PRELOAD_FLAGS, True).body
    except (OSError, SyntaxError, ValueError):
        return None


def finder_in(folder):
    """What finds the modules of the script's own folder, which go before installed ones."""
    for hook in sys.path_hooks:
        try:
            return hook(folder)
        except ImportError:
            continue
    return None


def modules_of(statement):
    kind = type(statement).__name__
    if kind == "Import":
        return [alias.name for alias in statement.names]
    return [statement.module] if kind == "ImportFrom" and statement.level == 0 else []


def is_beside(name, finder):
    spec = finder.find_spec(name.partition(".")[0]) if finder else None
    return spec is not None and spec.loader is not None  # a folder without __init__.py yields to others


def head_of(statements, finder):
    """The modules that the script imports before it does anything else, up to one of its own."""
    names = []
    for statement in statements:
        kind = type(statement).__name__
        if kind == "Expr" and type(statement.value).__name__ == "Constant":
            continue
        found = modules_of(statement)
        if not found or any(is_beside(name, finder) for name in found):
            break
        names += [name for name in found if name != "__future__"]
    return names


def variables_set_before(statements, module, finder):
    """What may be set in os.environ before the script imports the package of `module`: by what stands before that,
    functions and the files of own modules included, or anywhere if its top level does not import it."""
    names = set()
    package = module.partition(".")[0]
    for statement in statements:
        found = modules_of(statement)
        if any(name.partition(".")[0] == package for name in found):
            return names
        todo = [statement]
        for name in found:
            if is_beside(name, finder):
                todo += parsed(finder.find_spec(name.partition(".")[0]).origin) or []
        while todo:
            node = todo.pop()
            kind = type(node).__name__
            target = None
            if kind == "Subscript" and type(node.ctx).__name__ == "Store":
                value = getattr(node.value, "attr", getattr(node.value, "id", None))
                target = node.slice if value == "environ" else None
            elif kind == "Call" and getattr(node.func, "attr", None) in ("setdefault", "putenv") and node.args:
                target = node.args[0]
            target = getattr(target, "value", target)  # ast.Index, until Python 3.8
            names.add(getattr(target, "value", target))
            todo += [child for field in getattr(node, "_fields", ()) for child in children(getattr(node, field, None))]
    return names


def children(value):
    return value if isinstance(value, list) else [value] if hasattr(value, "_fields") else []


def noting_lookups(work):
    """Runs `work` and returns the names that were looked up in os.environ meanwhile."""
    names = set()
    kind = type(os.environ)
    plain = kind.__getitem__

    def noting(self, key):
        names.add(os.fsdecode(key) if isinstance(key, (str, bytes)) else str(key))
        return plain(self, key)

    kind.__getitem__ = noting
    try:
        work()
    finally:
        kind.__getitem__ = plain
    return names


def import_all(wanted, finder, statements):
    before = set(sys.modules)
    for name in wanted:
        if is_beside(name, finder):
            raise Refused("%s is a module of the script's own folder, and --warm runs no code of yours" % name)
    for name in wanted + head_of(statements, finder):
        try:
            __import__(name)
        except BaseException as error:
            text = "exit was called" if isinstance(error, SystemExit) else "%s: %s" % (type(error).__name__, error)
            raise Refused("import %s: %s" % (name, text))
    for name in sorted({name.partition(".")[0] for name in set(sys.modules) - before}):
        if is_beside(name, finder):
            raise Refused("%s in the script's own folder hides an installed module that was imported" % name)


def threads_of_openblas():
    """OpenBLAS ends its threads before a fork and starts them again after it."""
    import ctypes
    count = 0
    with open("/proc/self/maps") as maps:
        libraries = {line.split(None, 5)[5].strip() for line in maps if "openblas" in line}
    for path in libraries:
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads", "openblas_get_num_threads64_",
                     "openblas_get_num_threads"):
            if hasattr(library, name):
                count += getattr(library, name)() - 1
                break
    return count


def open_files():
    """Descriptors and what they lead to."""
    files = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            files[number] = os.readlink("/proc/self/fd/" + number)
        except OSError:
            pass  # the folder's own
    return files


def initialized():
    """The kinds of devices on which torch has a context already."""
    kinds = [(kind, getattr(sys.modules.get("torch"), kind, None)) for kind in ("cuda", "xpu")]
    return ["torch." + kind for kind, module in kinds if getattr(module, "is_initialized", bool)()]


def reason_not_to_fork(files_before):
    for number, path in open_files().items():
        if path.startswith(DEVICES) and files_before.get(number) != path:
            return "its imports opened %s, which ranks must not share" % path
    if initialized():
        return "its imports initialised %s, whose context no fork can use" % " and ".join(initialized())
    try:
        os.waitpid(-1, os.WNOHANG)
        return "its imports started another process"
    except ChildProcessError:
        pass
    threads = os.listdir("/proc/self/task")
    if len(threads) > 1 and len(threads) - 1 > threads_of_openblas():
        names = set()
        for thread in threads:
            if int(thread) != os.getpid():
                with open("/proc/self/task/%s/comm" % thread) as file:
                    names.add(file.read().strip())
        if "threading" in sys.modules:
            names |= {thread.name for thread in sys.modules["threading"].enumerate()} - {"MainThread"}
        return "its imports started threads (%s), which a fork would lose" % ", ".join(sorted(names))
    return None


def is_read_by_c(name):
    return name.startswith(READ_BY_C) and not name.startswith(READ_LATER)


def may_have(cpus):
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
        return os.sched_getaffinity(0) == cpus
    except OSError:
        return False
    finally:
        os.sched_setaffinity(0, before)


def reason_not_to_take(ranks, own, looked_up):
    """Whether a rank's environment differs from what was given here in what has been read already."""
    for cpus, environment, descriptors in ranks:
        if len(descriptors) != 3:
            return "the streams of its ranks are more files than it may open (ulimit -n)"
        if cpus and not may_have(cpus):
            return "a rank cannot be bound to its CPUs"
        if cpus and cpus != os.sched_getaffinity(0) and "OMP_NUM_THREADS" not in environment:
            return "OpenMP counts the CPUs when it is loaded, and each rank has others"
        for name in sorted(set(own) | set(environment)):
            if own.get(name) == environment.get(name):
                continue
            if name in looked_up:
                return "what it imports looked up %s, which is another for each rank" % name
            if is_read_by_c(name):
                return "%s changed after the imports, and libraries read it when they are loaded" % name
    return None


def read_rank(fields, descriptors):
    cpus = {int(cpu) for cpu in fields[0].split(b",") if cpu}
    entries = (os.fsdecode(field).partition("=") for field in fields[1:])
    return cpus, {name: value for name, _, value in entries}, descriptors


def become(rank, changed, agent, between, libc, printed, closed):
    """In the fork: what toprun does to a rank between fork and exec, and the rank's environment."""
    try:
        become_or_fail(rank, changed, agent, between, libc, printed, closed)
    except BaseException as error:
        os.write(2, os.fsencode("toprun: cannot become a rank: %s\n" % error))
        os._exit(127)


def become_or_fail(rank, changed, agent, between, libc, printed, closed):
    cpus, environment, descriptors = rank
    while os.getppid() == between:
        sleep(0.0005)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL)
    if os.getppid() != agent:
        os._exit(127)
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in closed:
        os.close(descriptor)
    for number, text in enumerate(printed, 1):
        while text:
            text = text[os.write(number, text):]
    if cpus:
        os.sched_setaffinity(0, cpus)
    for name in list(os.environ):
        del os.environ[name]
    environment.update(changed)
    for name, value in environment.items():
        if value is not None:
            os.environ[name] = value
    # Else all ranks would draw the same numbers; Python's own module sees to it by itself.
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def refusal_to_fork(error):
    return os.fsencode("refused\0fork: %s" % error.strerror)


def fork_ranks(channel, ranks, changed, agent, libc, printed):
    """Forks each rank from a process that ends at once, so that they become children of toprun.

    Returns true in a rank. toprun hears of the ranks when they are its children.
    """
    said, saying = os.pipe()
    closed = [said, saying, channel.socket.fileno()] + [descriptor for rank in ranks for descriptor in rank[2]]
    try:
        between = os.fork()
    except OSError as error:
        os.write(saying, refusal_to_fork(error))
        between = None
    if between == 0:
        between = os.getpid()
        pids = []
        try:
            for rank in ranks:
                pids.append(os.fork())
                if pids[-1] == 0:
                    become(rank, changed, agent, between, libc, printed, closed)
                    channel.socket.detach()
                    return True
            os.write(saying, b"\0".join([b"pids"] + [b"%d" % pid for pid in pids]))
        except OSError as error:
            for pid in pids:
                os.kill(pid, SIGKILL)
                os.waitpid(pid, 0)
            os.write(saying, refusal_to_fork(error))
        finally:
            if 0 not in pids:
                os._exit(0)
    os.close(saying)
    for rank in ranks:
        for descriptor in rank[2]:
            os.close(descriptor)
    with open(said, "rb") as pipe:
        answer = pipe.read()
    if between:
        os.waitpid(between, 0)
    channel.send(*(answer or b"refused\0the process that forks the ranks was killed").split(b"\0"))
    return False


def serve(channel, given, looked_up, libc, agent):
    """Obeys toprun; returns in each rank."""
    changed = {name: os.environ.get(name) for name in set(given) | set(os.environ)
               if given.get(name) != os.environ.get(name)}
    printed = [os.pread(number, os.fstat(number).st_size, 0) for number in (1, 2)]
    ranks = []
    while True:
        fields, descriptors = channel.receive()
        if fields:
            ranks.append(read_rank(fields, descriptors))
            continue
        why = reason_not_to_take(ranks, given, looked_up)
        if why:
            for rank in ranks:
                for descriptor in rank[2]:
                    os.close(descriptor)
            channel.send("refused", why)
        elif fork_ranks(channel, ranks, changed, agent, libc, printed):
            return
        ranks = []


def without_collections(work):
    """Collections during imports find nothing and take a tenth of the time.

    What was imported is then left out of all later collections: a rank that looks through it would
    copy every page that it shares, and take three times as long to end.
    """
    import gc
    threshold = gc.get_threshold()
    gc.set_threshold(0, *threshold[1:])
    try:
        return work()
    finally:
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*threshold)
        gc.freeze()
        renew_main()


def renew_main():
    """A frozen __main__ would keep what the script puts into it from being deleted at the end."""
    old = sys.modules["__main__"]
    sys.modules["__main__"] = new = type(sys)("__main__")
    new.__dict__.update(old.__dict__)
    if "__annotations__" in new.__dict__:
        new.__annotations__ = {}


def prepare(channel, archive):
    """Imports what ranks will; returns what site is to see of its own sitecustomize, the modules' names, and the
    variables that they looked up."""
    vanish(archive)
    seen = import_the_real_one()
    wanted = [os.fsdecode(name) for name in channel.receive()[0]]
    before = open_files()
    statements, folder = parsed_script()
    finder = finder_in(folder)
    looked_up = without_collections(lambda: noting_lookups(lambda: import_all(wanted, finder, statements)))
    for module in wanted:
        for name in variables_set_before(statements, module, finder):
            if isinstance(name, str) and (name in looked_up or is_read_by_c(name)):
                raise Refused("the script may set %s before it imports %s: import that at its top" % (name, module))
    why = reason_not_to_fork(before)
    if why:
        raise Refused(why)
    return seen, wanted + [name for name in head_of(statements, finder) if name not in wanted], looked_up


def main():
    """Returns in a rank, with what this module has to raise so that site sees what it would have seen."""
    number, _, how = os.environ.pop(VARIABLE).partition(":")
    channel = Channel(int(number))
    if how == "check":
        channel.send("ready")
        os._exit(0)
    try:
        agent = os.getppid()
        given, archive = given_environment()
        seen, imported, looked_up = prepare(channel, archive)
        import ctypes
        libc = ctypes.CDLL(None)
        channel.send("ready", *imported)
        serve(channel, given, looked_up, libc, agent)
        return seen
    except BaseException as error:  # else Python would go on, and the parent would run the script
        channel.send("refused", error if isinstance(error, Refused) else repr(error))
        os._exit(1)


_seen = main()
if _seen is not None:
    raise _seen
