"""A training that hangs in one of many ways: the script, its guilty rank, and the line on which that stands."""

GUILTY = 3  # of four ranks

# What the guilty rank does in place of its part, by the name of the case. The line that is to be named ends
# with a mark. When it begins, it writes the time into the file `hangs` beside the script.
SCRIPT = """\
import ctypes, datetime, os, pathlib, pprint, struct, subprocess, sys, threading, time
import torch, torch.distributed as dist
kind, folder = sys.argv[1], pathlib.Path(__file__).parent
rank, guilty = int(os.environ["RANK"]), GUILTY
is_guilty = rank == guilty
timeout = datetime.timedelta(seconds=int(os.environ.get("GLOO_TIMEOUT_S", 1800)))

def sleeps():
    time.sleep(600)  # sleeps

def spins():
    n = 0
    while True: n += 1  # spins

class Stuck(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        if is_guilty and i == 5:
            time.sleep(600)  # in the worker
        return torch.zeros(1)

def loads():
    for batch in torch.utils.data.DataLoader(Stuck(), num_workers=1):  # loads
        pass

def locks():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()  # locks

def joins():
    worker = threading.Thread(target=sleeps)
    worker.start()
    worker.join()  # joins

def reads_what_hangs():
    '''A file server that never answers: a FUSE mount whose server, this process, does not read its requests.'''
    place = folder / "mount"
    place.mkdir()
    server = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
    assert ctypes.CDLL(None).mount(b"hangs", os.fsencode(place), b"fuse", 0, options) == 0
    open(place / "file").read()  # reads

def waits_for_a_child():
    subprocess.run(["sleep", "600"])  # waits for a child

def works(seconds):
    '''Long phases without a word, of one rank or of all.'''
    a = torch.rand(300, 300)
    phases = {"computes": lambda: a @ a, "writes": lambda: torch.save(a, folder / f"{rank}.pt"),
              "formats": lambda: pprint.pformat([{"a": [i, str(i)]} for i in range(200)]),
              "runs_a_child": lambda: subprocess.run([sys.executable, "-c", "for i in range(10**7): pass"])}
    for phase in phases.values():
        until = time.monotonic() + seconds
        while is_guilty and time.monotonic() < until:
            phase()
        dist.barrier()

def gives_up():
    '''What the watchdog of NCCL does in the rank that times out first.'''
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    store.set("exception_dump", struct.pack("i", rank))

def begin_to_hang():
    (folder / "begun").write_text(repr(time.time()))
    (folder / "begun").rename(folder / "hangs")

def main():
    if kind == "init" and is_guilty:
        begin_to_hang()
        time.sleep(600)  # init
    dist.init_process_group("gloo", timeout=timeout)
    dist.all_reduce(torch.ones(1))
    (folder / f"{rank}.pid").write_text(str(os.getpid()))
    if is_guilty:
        begin_to_hang()
    if kind == "order":
        if is_guilty:
            dist.broadcast(torch.ones(4), 0)  # order
        dist.all_reduce(torch.ones(4))
        dist.broadcast(torch.ones(4), 0)
    elif kind == "size":
        dist.all_reduce(torch.ones(400_000 if not is_guilty else 4_000))  # size
    elif kind == "monitored_barrier":
        if is_guilty:
            sleeps()
        dist.monitored_barrier(timeout=timeout)
    elif kind == "stopped":
        while True:
            dist.all_reduce(torch.ones(4))
            time.sleep(0.01)
    elif kind == "works":
        works(float(sys.argv[2]))
    elif kind == "gives_up":
        if rank == 1:
            threading.Timer(1, gives_up).start()
        elif is_guilty:
            sleeps()
    elif is_guilty:
        {"sleeps": sleeps, "spins": spins, "loads": loads, "locks": locks, "joins": joins, "reads": reads_what_hangs,
         "child": waits_for_a_child}[kind]()
    dist.all_reduce(torch.ones(4))  # waits

main()
if kind == "works":
    dist.destroy_process_group()
""".replace("GUILTY", str(GUILTY))


def line_of(mark):
    """The number of the line that ends with this mark."""
    return next(i for i, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith(f"# {mark}"))
