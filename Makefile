# Builds, tests and measures einsum-dist. `make` lists all targets. Most targets install missing packages and build
# before they run.
#
# On Debian and Ubuntu, MPICH and Open MPI can be installed at the same time, so the names of their compilers and
# launchers have suffixes. Each MPI has its own target directory. Example for other systems:
#     make demo MPICC=mpicc MPIRUN=mpirun

MPICC  ?= mpicc.mpich
MPIRUN ?= mpirun.mpich

# All features, except for LIBXSMM or hwloc if that library is not installed.
FEATURES = $$(./.ci/features)

BUILD   = MPICC=$(MPICC) CARGO_TARGET_DIR=target/mpich cargo
PROGRAM = target/mpich/release/einsum-dist

# Example: make bench ONLY=tccg-small,gemm THREADS=1 KERNEL=portable QUICK=1. By default, all suites run with 1 and with
# 2 threads, and with the kernel that the library selects. This takes more than an hour, whereas QUICK=1 takes minutes.
# PEERS_PYTHON is a Python interpreter with the packages in benches/requirements.txt; by default, a virtual environment
# is created.
ONLY         ?= all
THREADS      ?= 1,2
KERNEL       ?=
QUICK        ?=
PEERS_PYTHON ?=

# make bench-networks BUDGETS=0.1,1,10,60 NETWORKS="A.json B.json": seconds of search, and files instead of generated networks.
BUDGETS  ?= 0.1,1,10
NETWORKS ?=

# make bench-trees KERNEL=avx2 ROUNDS=3 TREES="A.cfg B.cfg": without AVX-512, and files instead of benches/data/trees. FULL=1
# includes the tree that takes minutes. EINSUM_IR_BENCH is the path of bench_tree, einsum_ir's own program, if it is installed.
TREES  ?=
FULL   ?=
ROUNDS ?=

# make fuzz SECONDS=600 or RUNS=100000 (inputs per target); TARGETS="parse sizes" restricts the fuzz targets.
# make test-long COMMANDS=100000 or SECONDS=3600; SEED=7 COMMAND=12 repeats only command 12 of seed 7; SIGNALS=0 KILLS=0
# skips the signals and the kills.
SECONDS  ?=
RUNS     ?=
TARGETS  ?=
COMMANDS ?= $(if $(SECONDS),,20000)
SEED     ?=
COMMAND  ?=

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz test-long test-python test-torch test-aarch64 test-asan test-large test-numa bench bench-python bench-networks bench-trees bench-prices bench-first bench-network bench-ranks bench-steps volumes scaling thesis mlp packages build install wheel book

help:
	@echo "make demo          contract files of data/ on 2 MPI ranks; print the plan, the time, GFLOP/s and the check"
	@echo "make test          run all tests that can run on this machine, under MPICH and Open MPI"
	@echo "make fuzz          test the parsers of expressions, flags and files on random inputs: SECONDS=60 or RUNS= per target, TARGETS="
	@echo "make test-long     send signals and SIGKILL at random moments, and run random command lines: SIGNALS=200, KILLS=20, COMMANDS=20000 or SECONDS=, SEED=, COMMAND="
	@echo "make test-python   build the Python package, and test it in a virtual environment with NumPy, opt_einsum, cotengra, quimb, PySCF"
	@echo "make test-torch    as test-python, and test the contraction of PyTorch tensors; PyTorch takes several gigabytes"
	@echo "make test-aarch64  run the kernel tests for AArch64, in an emulator on other processors"
	@echo "make test-numa     test thread binding and first touch on a machine with two NUMA domains, emulated by qemu"
	@echo "make test-asan     run the tests of unsafe code under AddressSanitizer"
	@echo "make test-large    move and store blocks of more than 2^31 elements and 4 GiB, in files and with every transport;"
	@echo "                   needs several minutes and 22 GB of memory"
	@echo "make bench         compare local contractions with NumPy, torch, TBLIS, OpenBLAS and MKL: benches/results/local.md;"
	@echo "                   measure the overhead per step, and the overlap of transfers and computation"
	@echo "make bench-python  compare the Python package with NumPy, opt_einsum, torch, pytblis, cotengra and PySCF:"
	@echo "                   benches/results/python.md, .csv and .svg; installs several gigabytes"
	@echo "make bench-networks compare the search of contraction orders and the time to the result with cotengra, on tensor networks:"
	@echo "                   benches/results/networks.md, .csv and .svg; BUDGETS=0.1,1,10 (seconds of search), NETWORKS=FILES"
	@echo "make bench-trees   compare trees of contractions with torch, NumPy, cotengra and einsum_ir, first run and warm:"
	@echo "                   benches/results/trees.md and .csv; KERNEL=avx2, FULL=1, TREES=FILES, EINSUM_IR_BENCH=PATH/bench_tree"
	@echo "make bench-prices  compare predicted with measured times of the cases of make bench, first run and warm, by class:"
	@echo "                   benches/results/prices.md and .csv; THREADS=1,2, QUICK=1"
	@echo "make bench-first   compare the first run of a process with warm runs and with the time to write new memory:"
	@echo "                   benches/results/first.md and .csv; THREADS=1,2, QUICK=1"
	@echo "make volumes       count the words that ranks receive, on 2 to 18,432 ranks: benches/results/volumes*.csv and .svg"
	@echo "make scaling       simulate products and a tensor network on up to 16,384 ranks: docs/scaling-*.svg"
	@echo "make thesis        compare two ranks with one rank, by algorithm and size: benches/results/thesis.csv and .svg"
	@echo "make mlp           run slicing from and to all distributions, and compare predicted with measured times:"
	@echo "                   benches/results/mlp.md, .csv and .svg"
	@echo "make bench-network run rings, slicing and grids between network namespaces with links of 1 and 4 Gbit/s (as root):"
	@echo "                   benches/results/network.md, .csv and .svg"
	@echo "make bench-ranks   measure the overhead per task on two ranks, and the bandwidth between processes of this machine with"
	@echo "                   each transport, compared with a plain copy: benches/results/tasks.txt and transports.txt"
	@echo "make bench-steps   measure the time to plan, run and report long trees, by their length: benches/results/steps.txt"
	@echo "make build         build the program with all features: $(PROGRAM)"
	@echo "make wheel         build the Python package: target/wheels/*.whl and *.tar.gz"
	@echo "make book          build the documentation as a web site: target/book/index.html"
	@echo "make install       install the program, its manual page and completion scripts, the C interface and pxgemm below PREFIX=$(PREFIX)"
	@echo
	@echo "Without any system package: cargo run --release -- \"mk,kn->mn\""

packages:
	@MPICC=$(MPICC) MPIRUN=$(MPIRUN) ./.ci/packages mpich

build: packages
	$(BUILD) build --release --features $(FEATURES)

# With the linker of zig, the wheel runs on systems from 2018 on (glibc 2.28); without zig, on systems like this one.
target/packaging/ready:
	@python3 -c "import ensurepip" 2> /dev/null || ./.ci/packages python
	python3 -m venv target/packaging
	target/packaging/bin/python -m pip install --quiet "maturin>=1.16,<2" ziglang
	@touch $@

wheel: target/packaging/ready
	@rm -rf target/wheels
	PATH="$$PWD/target/packaging/bin:$$PATH" CARGO_TARGET_DIR=target/portable maturin build --release --locked --zig --compatibility manylinux_2_28 --manifest-path python/Cargo.toml --out target/wheels
	target/packaging/bin/maturin sdist --manifest-path python/Cargo.toml --out target/wheels

book:
	@command -v mdbook > /dev/null || [ -x target/tools/bin/mdbook ] || cargo install --quiet --locked mdbook --root target/tools
	@PATH="$$PWD/target/tools/bin:$$PATH" mdbook build 2>&1 | tee target/book.log
	@! grep -q -e WARN -e ERROR target/book.log

# Example: make install PREFIX=$HOME/.local DESTDIR=
PREFIX  ?= /usr/local
DESTDIR ?=
SHARE    = $(DESTDIR)$(PREFIX)/share

install: build
	$(BUILD) build --release -p einsum-dist-cli -p einsum-dist-capi -p einsum-dist-pxgemm --features $(FEATURES)
	capi/install.sh target/mpich/release $(PREFIX) $(DESTDIR)
	install -Dm755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/einsum-dist
	mkdir -p $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	$(PROGRAM) --man-page > $(SHARE)/man/man1/einsum-dist.1
	$(PROGRAM) --completions bash > $(SHARE)/bash-completion/completions/einsum-dist
	$(PROGRAM) --completions zsh > $(SHARE)/zsh/site-functions/_einsum-dist
	$(PROGRAM) --completions fish > $(SHARE)/fish/vendor_completions.d/einsum-dist.fish

demo: build
	@MPIRUN=$(MPIRUN) ./.ci/demo $(PROGRAM)

test:
	@MPICC=$(MPICC) MPIRUN=$(MPIRUN) ./.ci/packages mpich openmpi scalapack
	@./tests/all.sh

fuzz:
	@FUZZ_SECONDS=$(SECONDS) FUZZ_RUNS=$(RUNS) FUZZ_SEED=$(SEED) ./fuzz/run.sh $(TARGETS)

test-long:
	@MPICC=$(MPICC) MPIRUN=$(MPIRUN) ./.ci/packages mpich openmpi
	@SIGNALS=$(SIGNALS) KILLS=$(KILLS) WALK_COMMANDS=$(COMMANDS) WALK_SECONDS=$(SECONDS) WALK_SEED=$(SEED) WALK_ONLY=$(COMMAND) ./tests/long.sh

test-python:
	@./tests/python.sh

test-torch:
	@TORCH=1 ./tests/python.sh

test-aarch64:
	@./tests/aarch64.sh

test-numa: build
	@./tests/numa_guest.sh $(PROGRAM)

test-asan:
	@MPICC=$(MPICC) MPIRUN=$(MPIRUN) ./.ci/packages mpich
	@MPICC=$(MPICC) ./tests/asan.sh

test-large:
	@MPICC=$(MPICC) MPIRUN=$(MPIRUN) ./.ci/packages mpich openmpi
	@./tests/large.sh

bench: packages $(if $(PEERS_PYTHON),,target/peers/ready)
	MPICC=$(MPICC) CARGO_TARGET_DIR=target/mpich SERVER_FLAGS="--features $(FEATURES)" \
		$(or $(PEERS_PYTHON),target/peers/bin/python) benches/compare.py \
		--only "$(ONLY)" --threads "$(THREADS)" --kernel "$(KERNEL)" $(if $(QUICK),--quick)
	$(BUILD) build --release --features $(FEATURES)
	$(or $(PEERS_PYTHON),target/peers/bin/python) benches/overhead.py $(PROGRAM)
	EINSUM_DIST_MPIRUN=$(MPIRUN) $(BUILD) bench --features $(FEATURES) --bench overlap
	$(BUILD) bench --features $(FEATURES) --bench pipeline

target/peers/ready: benches/requirements.txt
	@python3 -c "import ensurepip" 2> /dev/null || ./.ci/packages python
	python3 -m venv target/peers
	target/peers/bin/python -m pip install --quiet --requirement benches/requirements.txt
	@touch $@

PYTHON_PEERS = target/python-peers
# A benchmark that fails must not be hidden by tee.
bench-python: SHELL = /bin/bash -o pipefail
bench-python: wheel $(PYTHON_PEERS)/ready
	$(PYTHON_PEERS)/bin/python -m pip install --quiet --force-reinstall --no-deps target/wheels/*.whl
	@rm -f target/python.part
	for benchmark in calls molecules networks; do \
		$(PYTHON_PEERS)/bin/python benches/python/$$benchmark.py | tee -a target/python.part || exit 1; \
	done
	mv target/python.part benches/results/python.csv
	$(PYTHON_PEERS)/bin/python benches/python/draw.py
	$(PYTHON_PEERS)/bin/python benches/python/neighbours.py > target/neighbours.part
	mv target/neighbours.part benches/results/neighbours.csv
	$(PYTHON_PEERS)/bin/python benches/python/overhead.py

$(PYTHON_PEERS)/ready: benches/python/requirements.txt
	@python3 -c "import ensurepip" 2> /dev/null || ./.ci/packages python
	python3 -m venv $(PYTHON_PEERS)
	$(PYTHON_PEERS)/bin/python -m pip install --quiet --requirement benches/python/requirements.txt
	@touch $@

# cotengra's searches exceed their budget, so this takes hours. PEERS_PYTHON is an interpreter with the packages in
# benches/networks/requirements.txt, of which torch and quimb may be missing.
NETWORK_PEERS  = target/network-peers
NETWORK_PYTHON = $(or $(PEERS_PYTHON),$(NETWORK_PEERS)/bin/python)
bench-networks: SHELL = /bin/bash -o pipefail
bench-networks: build $(if $(PEERS_PYTHON),,$(NETWORK_PEERS)/ready)
	@mkdir -p target
	$(if $(NETWORKS),,$(NETWORK_PYTHON) benches/networks/generate.py target/networks)
	$(NETWORK_PYTHON) benches/networks/search.py --program $(PROGRAM) --budgets $(BUDGETS) $(or $(NETWORKS),target/networks/*.json) \
		| tee target/networks.part
	$(NETWORK_PYTHON) benches/networks/run.py --program $(PROGRAM) $(or $(NETWORKS),target/networks/*.json) | tee target/networks-run.part
	mv target/networks.part benches/results/networks.csv
	mv target/networks-run.part benches/results/networks-run.csv
	$(NETWORK_PYTHON) benches/networks/draw.py --program $(PROGRAM)

$(NETWORK_PEERS)/ready: benches/networks/requirements.txt
	@python3 -c "import ensurepip" 2> /dev/null || ./.ci/packages python
	python3 -m venv $(NETWORK_PEERS)
	$(NETWORK_PEERS)/bin/python -m pip install --quiet --requirement benches/networks/requirements.txt
	@touch $@

# PEERS_PYTHON is an interpreter with the packages in benches/trees/requirements.txt, of which all but NumPy may be missing.
TREE_PEERS = target/tree-peers
bench-trees: build $(if $(PEERS_PYTHON),,$(TREE_PEERS)/ready)
	@mkdir -p target
	$(or $(PEERS_PYTHON),$(TREE_PEERS)/bin/python) benches/trees/run.py --program $(PROGRAM) --results $(TABLES)/trees.csv \
		$(if $(KERNEL),--kernel $(KERNEL)) $(if $(QUICK),--rounds 2 --seconds 0.1) $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(FULL),--full) $(TREES)

$(TREE_PEERS)/ready: benches/trees/requirements.txt
	@python3 -c "import ensurepip" 2> /dev/null || ./.ci/packages python
	python3 -m venv $(TREE_PEERS)
	$(TREE_PEERS)/bin/python -m pip install --quiet --requirement benches/trees/requirements.txt
	@touch $@

bench-prices: build
	python3 benches/prices.py --program $(PROGRAM) --results $(TABLES)/prices.csv --workers "$(THREADS)" $(if $(QUICK),--quick)

bench-first: build $(if $(PEERS_PYTHON),,target/peers/ready)
	$(or $(PEERS_PYTHON),target/peers/bin/python) benches/first.py --program $(PROGRAM) --results $(TABLES)/first.csv \
		--workers "$(THREADS)" $(if $(QUICK),--quick)

volumes: $(if $(PEERS_PYTHON),,target/peers/ready)
	CARGO_TARGET_DIR=target/mpich cargo bench --bench volumes > target/volumes.csv
	mv target/volumes.csv benches/results/volumes.csv
	CARGO_TARGET_DIR=target/mpich cargo bench --bench volumes -- algorithms > target/volumes-algorithms.csv
	mv target/volumes-algorithms.csv benches/results/volumes-algorithms.csv
	$(or $(PEERS_PYTHON),target/peers/bin/python) benches/volumes/draw.py

SCALING = $(PROGRAM) --machine data/machines/cluster-512.toml --scaling 1..16384 "mk,kn->mn" --size
scaling: build
	$(SCALING) m=16384,n=16384,k=16384 --timeline docs/scaling-square.svg
	$(SCALING) m=17408,n=17408,k=3735552 --timeline docs/scaling-large-k.svg
	$(SCALING) m=3735552,n=17408,k=17408 --timeline docs/scaling-large-m.svg
	$(SCALING) m=131072,n=131072,k=512 --timeline docs/scaling-flat.svg
	$(PROGRAM) --machine data/machines/cluster-512.toml --scaling 1..4096 @docs/peps.einsum --size 4 --timeline docs/scaling-peps.svg

# If QUICK is set, only small sizes are measured. Their table and plot are not representative, so they are written to
# target/.
TABLES = $(if $(QUICK),target,benches/results)

thesis: packages $(if $(PEERS_PYTHON),,target/peers/ready)
	@mkdir -p target
	EINSUM_DIST_CACHE=$(CURDIR)/target/rates EINSUM_DIST_MPIRUN=$(MPIRUN) $(BUILD) bench --features $(FEATURES) --bench thesis -- $(if $(QUICK),quick) > target/thesis.part
	mv target/thesis.part $(TABLES)/thesis.csv
	$(or $(PEERS_PYTHON),target/peers/bin/python) benches/thesis/draw.py $(TABLES)/thesis.csv

mlp: packages $(if $(PEERS_PYTHON),,target/peers/ready)
	@mkdir -p target
	$(BUILD) bench --features $(FEATURES) --bench mlp -- $(if $(QUICK),quick) > target/mlp.part
	mv target/mlp.part $(TABLES)/mlp.csv
	$(or $(PEERS_PYTHON),target/peers/bin/python) benches/mlp/draw.py $(TABLES)/mlp.csv

# With Open MPI: make bench-network MPICC=mpicc.openmpi MPIRUN=mpirun.openmpi
bench-network:
	@test "$$(id -u)" = 0 || { echo "the hosts are network namespaces, which need root: sudo make bench-network"; exit 1; }
	@MPICC=$(MPICC) MPIRUN=$(MPIRUN) ./.ci/packages mpich network
	@mkdir -p target
	EINSUM_DIST_MPIRUN=$(MPIRUN) $(BUILD) bench --features $(FEATURES) --bench network -- $(if $(QUICK),quick) > target/network.part
	mv target/network.part $(TABLES)/network.csv
	python3 benches/network/table.py $(TABLES)/network.csv
	$(BUILD) build --release --features $(FEATURES)
	EINSUM_DIST_MPIRUN=$(MPIRUN) benches/network/hosts.sh 2 1gbit $(PROGRAM) --algorithm ring-mn --cut m --dtype f64 \
		--size $$(awk -F, '/^2,1,.*,ring-mn,/ { print "m=" $$5 ",n=" $$6 ",k=" $$7 }' $(TABLES)/network.csv) \
		--warmup 2 --timeline $(TABLES)/network.svg "mk,kn->mn"

bench-ranks: packages
	@mkdir -p target
	EINSUM_DIST_MPIRUN=$(MPIRUN) $(BUILD) bench --features $(FEATURES) --bench tasks > target/tasks.part
	mv target/tasks.part $(TABLES)/tasks.txt
	@program=$$($(BUILD) test -q --release --features $(FEATURES) --test mpi \
		--config "target.'cfg(all())'.runner = 'echo'" | grep "/mpi-" | tail -n 1); \
	for route in shared message rma; do \
		echo "$$route, $(MPIRUN) -n 2"; $(MPIRUN) -n 2 $$program transport bandwidth $$route || exit 1; \
	done > target/transports.part
	mv target/transports.part $(TABLES)/transports.txt

bench-steps: build
	python3 benches/steps.py $(PROGRAM) --mpirun $(MPIRUN) $(if $(QUICK),--quick) > target/steps.part
	mv target/steps.part $(TABLES)/steps.txt
