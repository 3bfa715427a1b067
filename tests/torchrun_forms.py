"""Command lines as people write them for torchrun, in READMEs, batch scripts and pods: each is run under
torchrun and under toprun of that name (torchrun_forms_test.py).

A form's words are split as a shell does it; PORT is a free port. `differs` names what is not the same on
purpose, `because` says why in the words of docs/reference/torchrun.md.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Form:
    words: str
    env: dict = dataclasses.field(default_factory=dict)
    second: str = ""  # the words of an agent on a second node, which has the same environment
    differs: str = ""
    because: str = ""


MISTAKE = "exit code 2: the command line is wrong, and nothing was started"

FORMS = [
    # The plain ones.
    Form("show.py"),
    Form("./show.py"),
    Form("show.py --batch-size 32 --lr 1e-3"),
    Form("show.py a 'b c' '' -- d"),
    Form("--nproc_per_node=2 show.py"),
    Form("--nproc-per-node 2 show.py --config 'configs/a b.yaml'"),
    Form("--standalone show.py"),
    Form("--standalone --nproc_per_node=2 show.py"),
    Form("--standalone --nnodes=1 --nproc-per-node=2 show.py"),
    Form("--nnodes=1 --nproc_per_node=3 show.py --epochs 3"),
    Form("--nnodes 1:1 --nproc_per_node 2 show.py"),
    Form("--nproc_per_node=1 --master_port=PORT show.py"),
    Form("--nproc_per_node=2 --master_addr=127.0.0.1 --master_port=PORT show.py"),
    Form("--nproc_per_node 2 --nnodes 1 --node_rank 0 --master_addr localhost --master_port PORT "
         "show.py"),
    # What belongs to the script.
    Form("--standalone --nproc_per_node=2 -m package.show -- --depth=20"),
    Form("-m package.show --depth 20"),
    Form("--nproc_per_node=2 --module package.show"),
    Form("show.py -- --depth=20"),
    Form("show.py -- -- a"),
    Form("-- show.py -- a"),
    Form("show.py a -- b"),
    Form("show.py --nproc_per_node 4 --standalone"),
    Form("show.py --local_rank '${local_rank}'"),
    Form("--nproc_per_node 2 show.py --device 'cuda:${local_rank}'"),
    Form("--no_python ./show.sh a b"),
    Form("--nproc_per_node=2 --no-python env FOO=bar ./show.sh"),
    Form("--run_path show.py a", differs="path, unbuffered",
         because="toprun runs `python -u SCRIPT`, so the script's folder is in `sys.path`, and output is not buffered"),
    # Rendezvous on one node.
    Form("--rdzv_backend=c10d --rdzv_endpoint=localhost:0 --nproc_per_node=2 show.py"),
    Form("--rdzv-backend=c10d --rdzv-endpoint=localhost:0 --rdzv-id=my-job show.py"),
    Form("--nnodes=1 --nproc_per_node=2 --rdzv_id=123456 --rdzv_backend=c10d "
         "--rdzv_endpoint=127.0.0.1:PORT show.py"),
    Form("--rdzv_backend c10d --rdzv_endpoint localhost:PORT --max_restarts 0 show.py"),
    Form("--rdzv_backend=c10d show.py"),
    Form("--rdzv_id=7 --rdzv_endpoint=127.0.0.1:PORT show.py"),
    Form("--rdzv_backend=c10d --rdzv_endpoint=localhost:PORT "
         "--rdzv_conf=join_timeout=60,timeout=60,is_host=1 show.py"),
    Form("--rdzv_backend=c10d --rdzv_endpoint=localhost:PORT --rdzv_conf overlap_timeout=600 show.py"),
    Form("--rdzv-conf rank=0 --standalone show.py"),
    Form("--rdzv-id= --standalone show.py"),
    Form("--rdzv-id= --rdzv-backend=c10d --rdzv-endpoint=localhost:0 show.py",
         differs="TORCHELASTIC_RUN_ID", because="an empty id counts as not set"),
    Form("--nnodes=1:2 --rdzv_backend=c10d --rdzv_endpoint=localhost:PORT "
         "--rdzv_conf=last_call_timeout=1 show.py"),
    Form("--local-addr=127.0.0.1 --rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:PORT show.py"),
    # Two nodes.
    Form("--nnodes=2 --nproc_per_node=2 --node_rank=0 --master_addr=127.0.0.1 --master_port=PORT show.py",
         second="--nnodes=2 --nproc_per_node=2 --node_rank=1 --master_addr=127.0.0.1 "
                "--master_port=PORT show.py"),
    Form("--nnodes 2 --nproc_per_node 1 --node_rank 0 --rdzv_endpoint 127.0.0.1:PORT show.py",
         second="--nnodes 2 --nproc_per_node 2 --node_rank 1 --rdzv_endpoint 127.0.0.1:PORT show.py"),
    Form("--nnodes=2 --nproc_per_node=1 --rdzv_id=job --rdzv_backend=c10d "
         "--rdzv_endpoint=127.0.0.1:PORT show.py",
         second="--nnodes=2 --nproc_per_node=1 --rdzv_id=job --rdzv_backend=c10d "
                "--rdzv_endpoint=127.0.0.1:PORT show.py"),
    # Roles, restarts, limits.
    Form("--role trainer --nproc_per_node 2 show.py"),
    Form("--max_restarts=3 show.py"),
    Form("--max-restarts 1 --nproc_per_node=2 fail_once.py"),
    Form("--monitor_interval=5 show.py"),
    Form("--start_method=fork show.py"),
    Form("--signals-to-handle SIGTERM,SIGINT,SIGUSR1 show.py"),
    Form("--shutdown-timeout 5 show.py"),
    Form("--event-log-handler console show.py"),
    # Output.
    Form("--log_dir logs --tee 3 --nproc_per_node 2 show.py"),
    Form("--log-dir=logs --redirects=3 --nproc_per_node=2 show.py"),
    Form("--log_dir=logs -t 1 -r 2 --nproc_per_node=2 show.py"),
    Form("--log_dir logs --tee 0:3,1:1 --nproc_per_node 2 show.py"),
    Form("--log_dir logs --redirects 1:3 --nproc_per_node 2 show.py"),
    Form("--log-dir /dev/null show.py"),
    Form("--log-dir /dev/null --redirects 3 show.py"),
    Form("--local-ranks-filter 0 --nproc_per_node=2 show.py"),
    Form("--local_ranks_filter=0 --tee 3 --log-dir logs --nproc_per_node=2 show.py"),
    Form("--tee 3 --role worker --nproc_per_node 2 show.py"),
    # The environment.
    Form("show.py", {"PET_NPROC_PER_NODE": "2"}),
    Form("--nproc_per_node 1 show.py", {"PET_NPROC_PER_NODE": "2"}),
    Form("show.py", {"PET_NNODES": "1", "PET_NODE_RANK": "0", "PET_MASTER_ADDR": "127.0.0.1",
                     "PET_MASTER_PORT": "PORT", "PET_NPROC_PER_NODE": "2"}),
    Form("show.py", {"PET_STANDALONE": "1", "PET_NPROC_PER_NODE": "2"}),
    Form("--nproc_per_node=2 show.py", {"OMP_NUM_THREADS": "4"}),
    Form("--nproc_per_node=2 show.py", {"CUDA_VISIBLE_DEVICES": "2,3"}),
    Form("--nproc_per_node=2 --virtual-local-rank show.py", {"CUDA_VISIBLE_DEVICES": "2,3"}),
    Form("show.py", {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "0"}),
    Form("--nproc_per_node=2 show.py", {"MASTER_PORT": "1234", "MASTER_ADDR": "elsewhere",
                                        "RANK": "7", "WORLD_SIZE": "9", "LOCAL_RANK": "3"}),
    # What cannot be.
    Form("--nproc_per_node 2 missing.py", differs="exit codes", because=MISTAKE),
    Form("exit3.py", differs="exit codes", because="toprun ends with the rank's exit code, 3"),
    Form("--nproc_per_node=gpu show.py", differs="exit codes",
         because=MISTAKE),
    Form("--nproc_per_node=2"),
    Form("--nproc-per-node two show.py", differs="exit codes", because=MISTAKE),
    Form("--nnodes 2:1 show.py", differs="exit codes", because=MISTAKE),
    Form("--unknown show.py"),
    Form("--rdzv_backend=etcd --rdzv_endpoint=127.0.0.1:PORT show.py",
         differs="exit codes", because=MISTAKE),
    Form("-m --no_python show.py", differs="exit codes", because=MISTAKE),
    Form("--help"),
]
