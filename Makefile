# The front of the house: `make help` says what there is. Every target first installs what it lacks
# (tools/setup), which takes no time when nothing is lacking.

# A Python that has torch. Another than the one in build/venv: `make test PYTHON=/path/to/python`.
PYTHON ?= $(CURDIR)/build/venv/bin/python
export PYTHON
export TOPRUN := $(CURDIR)/build/release/toprun

ARCH ?= $(shell uname -m)
OTHER_ARCH = $(filter-out $(shell uname -m),$(ARCH))
FUZZ_SECONDS ?= 30  # for each fuzzer
PREDICTION ?=       # --turns 3, --only 2x100,4x400 : see bench/prediction.py
PAIRS ?=            # --rounds 5, --seed N: see bench/pairs.py
FAILURES ?=         # --full, --only fail,kill,… : see bench/failures.py
OUR_SOURCES = $(shell git ls-files 'src/*.cc' 'src/*.h' 'apps/*.cc')

.PHONY: release wheel docs dev help demo simulate check test test-newer test-roots test-aarch64 bench bench-tests bench-failures bench-prediction bench-pairs bench-container bench-fabric bench-ssh bench-scale bench-start bench-hangs bench-quiet bench-signals bench-web bench-looked-at bench-top bench-soak asan tsan fuzz fuzz-keep lint format tidy clean

release:  ## build/release/toprun: the one static binary; beside it the programs of bench; ARCH=aarch64: build/release-aarch64/toprun
	tools/setup build $(OTHER_ARCH)
	cmake --preset release$(OTHER_ARCH:%=-%)
	cmake --build build/release$(OTHER_ARCH:%=-%) --target toprun bench_programs

wheel: release  ## build/wheels: toprun for pip, and a second wheel that gives it the name torchrun
	tools/setup wheel
	tools/wheel $(TOPRUN) build/wheels

docs: release  ## build/site: the pages as a site with search, and every verb's help; a broken link is an error
	tools/setup docs
	TOPRUN=$(TOPRUN) NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --quiet --strict

help:  ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

simulate: release  ## whole runs with faults, from SEEDS (100000) seeds, a hundredth of them with the drivers; what breaks is printed with its seed
	cmake --build build/release --target run_sim
	build/release/run_sim --seeds $(or $(SEEDS),100000)
	build/release/run_sim --drivers --seeds $$(($(or $(SEEDS),100000) / 100))

demo: release  ## eight virtual hosts, a real Slurm, torchrun's order beside ours
	tools/setup cluster --python
	tools/demo

check: lint release  ## what takes two minutes once all is built: lint, the rooms' unit tests, quick end-to-end tests
	cmake --build build/release --target unit_tests
	python3 -B tests/run.py 'build/release:(room|quick)'

test: lint  ## the end-to-end tests of the release build, and the unit tests under ASan and UBSan
	tools/setup build
	@cmake --preset asan & sanitized=$$!; cmake --preset release && wait $$sanitized
	@tools/setup clang cluster modules mpi draw old wheel release recipes container schema kubernetes --python & others=$$!; \
	  cmake --build build/release; built=$$?; wait $$others && exit $$built
	python3 -B tests/run.py 'build/release:(e2e|unit)' build/asan:unit:unit_tests

test-newer: release  ## tests with the Slurm and Apptainer of Debian's next release, or of NEWER_SUITE=trixie
	tools/setup newer
	@missed=0; for file in newer/slurm newer/apptainer newer/setup_image slurm slurm_signals in_place joining submit \
	  after queue; do \
	  tools/newer env TOPRUN=$(TOPRUN) python3 -B tests/report.py tests/$${file}_test.py || missed=1; \
	done; exit $$missed

test-roots: release  ## the installer and two ranks in clean roots of Debian 11 to 13 and Ubuntu 22.04 and 24.04, of x86-64 and of aarch64 (qemu-user)
	tools/setup roots release
	$(MAKE) release ARCH=aarch64
	python3 -B tests/report.py tests/roots/roots_test.py

test-aarch64:  ## unit tests and launches of the aarch64 build, run by qemu-user (registers it with the kernel: binfmt_misc)
	tools/setup build aarch64 --python
	cmake --preset release-aarch64
	cmake --build build/release-aarch64 --target toprun unit_tests
	python3 -B tests/run.py 'build/release-aarch64:(room|unit|emulated)'

bench-tests: release  ## the tests tested: cases that a program which only exits would pass; options that none misses
	tools/setup cluster modules mpi draw old wheel container schema kubernetes --python
	cmake --build build/release
	@missed=0; python3 -B tests/dummies.py || missed=1; \
	  python3 -B tests/dropped_options.py record && python3 -B tests/dropped_options.py drop || missed=1; exit $$missed

bench: release  ## a launch beside torchrun, mpirun and a bare loop; the order; the store beside libuv's; the heart; a soak of 3 minutes; bench-tests
	tools/setup cluster mpi --python
	cmake --build build/release --target bench_run
	python3 -B bench/launch.py
	@missed=0; for part in topology store; do python3 -B bench/$$part.py || missed=1; done; \
	  build/release/bench/run || missed=1; python3 -B bench/soak.py --minutes 3 || missed=1; $(MAKE) bench-tests || missed=1; exit $$missed

bench-failures: release  ## what happens when something breaks, beside torchrun; the kill matrices, with one strike and with two
	tools/setup cluster --python
	python3 -B bench/failures.py $(FAILURES)

bench-prediction: release  ## topo score beside real all-reduces on the virtual cluster
	tools/setup cluster --python
	python3 -B bench/prediction.py $(PREDICTION)

bench-pairs: release  ## whether `toprun bench pairs` names what is slow on the virtual cluster, drawn by chance
	tools/setup cluster
	python3 -B bench/pairs.py $(PAIRS)

bench-container: release  ## a container start by toprun beside the runtime's own
	tools/setup container
	python3 -B bench/container.py

bench-fabric: release  ## what the look at the network costs a launch, on machines with many adapters
	python3 -B bench/fabric.py

bench-ssh: release  ## starting a job by ssh beside as many bare logins
	tools/setup cluster --python
	python3 -B bench/ssh.py

bench-scale: release  ## one real root and 12,000 agents over loopback: its CPU, and how soon all hear of a death
	python3 -B bench/scale.py

bench-start: release  ## command to first all-reduce, restarts, cold and warm, beside torchrun; an environment to 8 hosts
	tools/setup cluster --python
	python3 -B bench/start.py

bench-web: release  ## the page of a job of 12,500 nodes, in a real Chromium
	tools/setup draw
	cmake --build build/release --target web_player
	python3 -B bench/web.py

bench-looked-at: release  ## what it costs an agent that somebody looks at its job, in CPU time and memory
	python3 -B bench/looked_at.py

bench-top: release  ## toprun top of a job of 512 ranks and of one of 100,000: its first frame, its keys, its memory
	python3 -B bench/top.py

bench-hangs: release  ## twelve kinds of hang: when toprun names the guilty rank, and what torchrun says
	tools/setup cluster --python
	python3 -B bench/hangs.py

bench-signals: release  ## a thousand jobs that `timeout` ends while their ranks save: none may lose what it saves
	python3 -B bench/signals.py

bench-quiet: release  ## an hour of a training with long silent phases under --hang-timeout: no alarm is allowed
	tools/setup build --python
	python3 -B bench/quiet.py

bench-soak: release  ## HOURS (8) of short jobs that end, fail, hang or are killed, beside a long one: what grows, what stays behind; SOAK=--seed N …
	tools/setup cluster
	python3 -B bench/soak.py --hours $(or $(HOURS),8) $(SOAK)

dev:  ## everything, with debug information and dynamic libraries
	tools/setup build
	cmake --preset dev
	cmake --build build/dev

asan tsan:  ## unit tests and whole runs under ASan and UBSan; under TSan
	tools/setup build clang --python
	cmake --preset $@
	cmake --build build/$@ --target unit_tests toprun
	python3 -B tests/run.py build/$@:unit build/$@:sanitized

# A million hosts, the most that a list may have, take 1.1 GiB under ASan and 0.6 without.
fuzz:  ## every fuzzer for FUZZ_SECONDS (30), from the inputs in tests/corpus on
	tools/setup build clang
	cmake --preset fuzz
	cmake --build build/fuzz --target fuzzers
	tools/corpus unpack build/fuzz
	@set -e; for fuzzer in build/fuzz/src/*_fuzz; do \
	  corpus=build/fuzz/corpus/$$(basename $$fuzzer); mkdir -p $$corpus; \
	  echo "$$fuzzer"; \
	  $$fuzzer -max_total_time=$(FUZZ_SECONDS) -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
	    -artifact_prefix=$$corpus/ $$corpus; \
	done

fuzz-keep:  ## what the fuzzers found worth keeping, into tests/corpus
	tools/corpus keep build/fuzz

lint:  ## looks at the sources without building them: format, clang-tidy on what changed, unused names, shell, scripts
	tools/setup lint
	tools/lint $(LINT)

format:  ## clang-format over our sources
	tools/setup lint
	clang-format -i $(OUR_SOURCES)

tidy:  ## clang-tidy over our sources (slow)
	rm -f build/tidy/compile_commands.json
	$(MAKE) build/tidy/compile_commands.json
	clang-tidy-19 --quiet -p build/tidy --extra-arg=-Wno-unknown-warning-option \
	  $(filter %.cc,$(OUR_SOURCES))

build/tidy/compile_commands.json:
	tools/setup build lint
	cmake --preset dev -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON

clean:  ## removes what was built; build/venv and build/newer stay
	rm -rf $(filter-out build/venv build/newer,$(wildcard build/*))
