"""Small scripts that print what a program can see of its start: {name: Script}. Started cold and as forks
of a warm parent they have to print, and to end with, the same."""

import dataclasses
import textwrap


@dataclasses.dataclass
class Script:
    text: str
    env: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)  # beside it, {name: text}
    command: tuple = ()  # in place of the script's path: ("-m", "package")
    torch: bool = False  # needs a Python with torch
    refused: bool = False  # what it imports first cannot be imported

    def __post_init__(self):
        self.text = textwrap.dedent(self.text)
        self.files = {name: textwrap.dedent(text) for name, text in self.files.items()}


def fails(expression):
    return Script(f"import sys\nprint('before', flush=True)\n{expression}\n")


SCRIPTS = {
    "arguments": Script("""
        import sys
        print(sys.argv, sys.orig_argv[1:] if hasattr(sys, 'orig_argv') else None)
        print(open('/proc/self/cmdline').read())
    """),
    "main": Script("""
        '''Its doc.'''
        import sys
        print(__name__, __file__, __spec__, __doc__, __package__, type(__loader__).__name__, type(__builtins__).__name__)
        print(sorted(name for name in globals()), sys.modules['__main__'].__dict__ is globals())
        print(repr(sys.modules['__main__']))
    """),
    "path": Script("""
        import sys
        print(sys.path, [str(hook)[:30] for hook in sys.path_hooks], [str(one)[:40] for one in sys.meta_path])
        print([path for path in sys.path_importer_cache if 'fd' in path], sys.path_importer_cache.get(sys.path[0]) is None)
    """),
    "flags": Script("""
        import sys
        print(sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode, sys.pycache_prefix)
        print(sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.platlibdir)
    """),
    "environment": Script("""
        import os, subprocess
        varied = ('TORCHELASTIC_ERROR_FILE', 'TORCHELASTIC_RUN_ID', 'MASTER_PORT', 'TEST_RUN_MARK', '_')
        show = lambda entries: [entry for entry in sorted(entries) if entry.partition('=')[0] not in varied]
        print(show(name + '=' + value for name, value in os.environ.items()))
        print(show(subprocess.run(['env'], stdout=subprocess.PIPE, text=True).stdout.splitlines()))
    """, env={"ODD": "a=b\nc\u00e9", "EMPTY": ""}),
    "environment of C": Script("""
        import ctypes
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_char_p
        print([getenv(name) for name in (b'RANK', b'WORLD_SIZE', b'TOPRUN_WARM_CHANNEL', b'PYTHONPATH', b'LC_CTYPE')])
    """),
    "environment without a locale": Script("import os; print(os.environ.get('LC_CTYPE'), os.environ.get('LC_ALL'))",
                                            env={"LC_ALL": "", "LANG": "C", "LC_CTYPE": ""}),
    "files": Script("""
        import os
        for number in sorted(int(name) for name in os.listdir('/proc/self/fd')):
            try:
                print(number, os.readlink('/proc/self/fd/%d' % number).split(':')[0].split('/')[-1], os.get_inheritable(number))
            except OSError:
                pass
    """),
    "signals": Script("""
        import signal
        print([line for line in open('/proc/self/status') if line[:3] in ('Sig', 'Shd')][1:])
        print([(number, str(signal.getsignal(number))[:40]) for number in sorted(signal.valid_signals())])
        print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    """),
    "process": Script("""
        import os
        print(os.getpgid(0) == os.getpid(), os.getsid(0) == os.getpid(), open('/proc/%d/comm' % os.getppid()).read())
        print(open('/proc/self/comm').read(), [line for line in open('/proc/self/status') if line[:6] in ('Umask:', 'Thread', 'NoNewP')])
        print(os.getcwd(), os.nice(0), os.getpriority(os.PRIO_PROCESS, 0))
    """),
    "death signal": Script("""
        import ctypes
        number = ctypes.c_int()
        ctypes.CDLL(None).prctl(2, ctypes.byref(number))
        print(number.value)
    """),
    "limits": Script("""
        import resource
        print([(name, resource.getrlimit(getattr(resource, name))) for name in dir(resource) if name.startswith('RLIMIT')])
    """),
    "cpus": Script("import os; print(os.sched_getaffinity(0), os.cpu_count())"),
    "threads": Script("""
        import threading, os
        print(threading.enumerate(), threading.current_thread() is threading.main_thread(), len(os.listdir('/proc/self/task')))
        print(threading.main_thread().ident == threading.get_ident(), threading.get_native_id() == os.getpid())
    """),
    "a thread that is waited for": Script("""
        import threading, time
        threading.Thread(target=lambda: (time.sleep(0.1), print('thread ends'))).start()
        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
        print('main ends')
    """),
    "warning filters": Script("""
        import warnings
        print(warnings.filters)
        warnings.warn('once')
        warnings.warn('old', DeprecationWarning)
    """),
    "warnings are errors": Script("import warnings; warnings.warn('this')", env={"PYTHONWARNINGS": "error::UserWarning"}),
    "frames": Script("""
        import inspect, sys, traceback
        print([(frame.function, frame.lineno) for frame in inspect.stack()], sys._getframe().f_back, sys.getrecursionlimit())
        traceback.print_stack()
        def depth(n):
            try:
                return depth(n + 1)
            except RecursionError:
                return n
        print(depth(0))
    """),
    "locale": Script("""
        import locale, sys
        print(locale.getlocale(), locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencoding())
        print(sys.getfilesystemencodeerrors(), sys.flags.utf8_mode, sys.getdefaultencoding())
    """),
    "locale of the user": Script("import locale, sys; print(locale.setlocale(locale.LC_CTYPE), sys.stdout.encoding)",
                                 env={"LC_ALL": "C.UTF-8"}),
    "UTF-8 mode": Script("import sys; print(sys.flags, sys.stdout.encoding, sys.stdin.errors)", env={"PYTHONUTF8": "1"}),
    "encoding of streams": Script("import sys; print(sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors)",
                                  env={"PYTHONIOENCODING": "latin-1:replace"}),
    "streams": Script("""
        import sys
        for stream in sys.stdin, sys.stdout, sys.stderr:
            print(stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering, stream.write_through,
                  stream.isatty(), stream.fileno(), stream.newlines, type(stream.buffer).__name__, stream.buffer.mode)
        print(sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)
        print(repr(sys.stdin.read()))
    """),
    "output": Script("""
        import os, sys
        print('no line end', end='')
        sys.stderr.write('error ')
        os.write(1, b' raw\\n')
        sys.stdout.buffer.write(b'bytes \\xff\\n')
        print('\\u00e9\\u4e2d')
    """, env={"LC_ALL": "C.UTF-8"}),
    "umask": Script("import os; print(oct(os.umask(0)))"),
    "spawned child": Script("""
        import multiprocessing, os, sys
        def work(queue):
            queue.put((__name__, sys.argv, os.environ['RANK'], sys.modules['__main__'].__name__))
        if __name__ == '__main__':
            context = multiprocessing.get_context('spawn')
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start()
            print(queue.get(timeout=30))
            child.join()
            print(child.exitcode, multiprocessing.get_start_method(allow_none=True))
    """),
    "forked child": Script("""
        import multiprocessing, os
        def work(queue):
            queue.put((__name__, os.environ['RANK'], os.getppid()))
        context = multiprocessing.get_context('fork')
        queue = context.Queue()
        child = context.Process(target=work, args=(queue,))
        child.start()
        name, rank, parent = queue.get(timeout=30)
        child.join()
        print(name, rank, parent == os.getpid(), child.exitcode)
    """),
    "child of a fork server": Script("""
        import multiprocessing, os
        def work(queue):
            queue.put((__name__, os.environ['RANK']))
        if __name__ == '__main__':
            context = multiprocessing.get_context('forkserver')
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start()
            print(queue.get(timeout=30))
            child.join()
            print(child.exitcode)
    """),
    "pool": Script("""
        import concurrent.futures, multiprocessing
        def square(x):
            return x * x
        if __name__ == '__main__':
            with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context('spawn')) as pool:
                print(list(pool.map(square, range(5))))
    """),
    "pickles": Script("""
        import pickle
        class Own:
            def __init__(self, x):
                self.x = x
        text = pickle.dumps(Own(3))
        print(text, pickle.loads(text).x, Own.__module__, Own.__qualname__)
    """),
    "fork": Script("""
        import os
        child = os.fork()
        if child == 0:
            print('child', os.environ['RANK'])
            os._exit(5)
        print('child ended with', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """),
    "Python of its own": Script("""
        import subprocess, sys
        print(subprocess.run([sys.executable, '-c', 'import sys; print(sys.path, sys.flags, "sitecustomize" in sys.modules)'],
                             stdout=subprocess.PIPE, text=True).stdout)
    """),
    "another executable": Script("""
        import multiprocessing, sys
        def work():
            print('spawned', sys.executable)
        if __name__ == '__main__':
            sys.executable = '/no/such/python'
            multiprocessing.set_executable('/usr/bin/python3')
            child = multiprocessing.get_context('spawn').Process(target=work)
            child.start()
            child.join()
            print(child.exitcode)
    """),
    "executes itself": Script("""
        import os, sys
        if 'AGAIN' not in os.environ:
            os.environ['AGAIN'] = '1'
            os.execv(sys.executable, [sys.executable, '-u'] + sys.argv)
        print('again', sys.argv, os.environ['RANK'], 'sitecustomize' in sys.modules)
    """),
    "module beside it": Script("import own; print(own.__file__, own.value)", files={"own.py": "value = 5\n"}),
    "module beside it that hides an installed one": Script("import decimal; print(decimal.__file__, decimal.value)",
                                                           files={"decimal.py": "value = 5\n"}, refused=True),
    "folder beside it that hides nothing": Script("import decimal; print(decimal.__file__)", files={"decimal/data": ""}),
    "package": Script("", command=("-m", "package.tool", "x", "--y"), files={
        "package/__init__.py": "print('package')\n",
        "package/tool.py": "import sys\nfrom . import other\n"
                           "print(__name__, __spec__.name, __package__, __file__, sys.argv, sys.path[0], other.x)\n",
        "package/other.py": "x = 4\n"}),
    "package with a main": Script("", command=("-m", "package"), files={
        "package/__init__.py": "", "package/__main__.py": "print(__name__, __spec__.name, __file__)\n1/0\n"}),
    "no such module": Script("", command=("-m", "package.none"), files={"package/__init__.py": ""}),
    "folder": Script("", command=("folder", "x"), files={
        "folder/__main__.py": "import sys\nprint(__file__, sys.argv, sys.path[0], __spec__.name)\n"}),
    "exit handlers": Script("""
        import atexit
        atexit.register(print, 'first')
        atexit.register(print, 'second')
        class Last:
            def __del__(self):
                print('deleted')
        last = Last()
        print('end')
    """),
    "traceback": Script("""
        def inner():
            raise ValueError('inner')
        def outer():
            try:
                inner()
            except ValueError as error:
                raise RuntimeError('outer') from error
        print('begin')
        outer()
    """),
    "traceback of a group": Script("raise ExceptionGroup('several', [ValueError(1), TypeError('x')])"),
    "hook for exceptions": Script("""
        import sys
        sys.excepthook = lambda kind, value, trace: print('hook', kind.__name__, value, trace.tb_lineno, trace.tb_next)
        1 / 0
    """),
    "syntax error": Script("print('never')\ndef f(:\n    pass\n"),
    "missing import": Script("import no_such_module_at_all", refused=True),
    "exit 3": fails("sys.exit(3)"),
    "exit with a text": fails("sys.exit('a text')"),
    "exit with nothing": fails("sys.exit()"),
    "exit with True": fails("sys.exit(True)"),
    "exit with a number that is none": fails("sys.exit(3.5)"),
    "exit with a tuple": fails("sys.exit((1, 2))"),
    "exit 261": fails("sys.exit(261)"),
    "exit -1": fails("sys.exit(-1)"),
    "exit at once": fails("import os; os._exit(9)"),
    "exit of a class of its own": fails("class Own(SystemExit): pass\nraise Own(6)"),
    "exit in a thread": fails("import threading; t = threading.Thread(target=sys.exit, args=(4,)); t.start(); t.join()"),
    "interrupt": fails("import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)"),
    "interrupt that is caught": Script("""
        import os, signal, time
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(9)
        except KeyboardInterrupt:
            print('caught')
            raise SystemExit(4)
    """),
    "terminated": fails("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"),
    "a handler": Script("""
        import os, signal
        signal.signal(signal.SIGUSR1, lambda number, frame: print('got', number, frame.f_code.co_name))
        os.kill(os.getpid(), signal.SIGUSR1)
    """),
    "fault": Script("import ctypes; ctypes.string_at(0)", env={"PYTHONFAULTHANDLER": "1"}),
    "hash seed": Script("print(hash('text'), list({'a', 'b', 'c', 'd'}))", env={"PYTHONHASHSEED": "7"}),
    "optimized": Script("'''doc'''\nassert False\nprint(__debug__, __doc__)", env={"PYTHONOPTIMIZE": "2"}),
    "path of the user": Script("import sys, os; print(sys.path, os.environ['PYTHONPATH'])", env={"PYTHONPATH": "/one:/two:"}),
    "empty path of the user": Script("import sys, os; print(sys.path, repr(os.environ.get('PYTHONPATH')))",
                                     env={"PYTHONPATH": ""}),
    "safe path": Script("import sys; print(sys.path)", env={"PYTHONSAFEPATH": "1"}),
    "collector": Script("import gc; print(gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks), gc.garbage)"),
    "logging": Script("""
        import logging, sys
        logging.getLogger('a').warning('before')
        logging.basicConfig(stream=sys.stdout)
        logging.getLogger('a').error('after')
        print(logging.getLogger().handlers[0].stream is sys.stdout)
    """),
    "coroutines": Script("""
        import asyncio
        async def work():
            child = await asyncio.create_subprocess_exec('echo', 'hello', stdout=asyncio.subprocess.PIPE)
            print((await child.communicate())[0], child.returncode)
        asyncio.run(work())
    """),
    "temporary files": Script("""
        import os, tempfile
        with tempfile.TemporaryDirectory() as folder:
            print(os.path.isdir(folder), tempfile.gettempdir())
    """),
    "clock": Script("import time; print(time.process_time() < 5, time.tzname, time.get_clock_info('monotonic').implementation)"),
    "threads of torch": Script("""
        import torch
        print(torch.get_num_threads(), torch.get_num_interop_threads(), torch.__config__.parallel_info()[:60])
        print(torch.randn(3, generator=torch.Generator().manual_seed(1)))
        print(torch.cuda.is_available(), torch.distributed.is_available(), torch.get_default_dtype())
        x = torch.randn(200, 200)
        print((x @ x).shape, sorted(torch.multiprocessing.get_all_start_methods()))
    """, torch=True),
    "data loader": Script("""
        import threading
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Own(Dataset):
            def __len__(self):
                return 8
            def __getitem__(self, i):
                info = torch.utils.data.get_worker_info()
                return torch.tensor([i, info.id, info.num_workers])
        if __name__ == '__main__':
            for method in 'fork', 'spawn':
                print([batch.tolist() for batch in DataLoader(Own(), 4, num_workers=2, multiprocessing_context=method)])
            # Python ends these threads where they stand: one that has unlinked its semaphore and not yet
            # told the resource tracker leaves a warning of it.
            for thread in threading.enumerate():
                if thread.name == 'QueueFeederThread':
                    thread.join()
    """, torch=True),
    "compiled": Script("""
        import torch
        @torch.compile(backend='eager')
        def f(x):
            return torch.sin(x) + 1
        print(f(torch.zeros(3)))
    """, torch=True),
    "training": Script("""
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        dist.init_process_group('gloo')
        torch.manual_seed(dist.get_rank())
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        best = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(3):
            best.zero_grad()
            loss = model(torch.ones(2, 4) * (dist.get_rank() + 1)).pow(2).mean()
            loss.backward()
            best.step()
        print([parameter.tolist() for parameter in model.parameters()])
        dist.destroy_process_group()
    """, torch=True),
}
