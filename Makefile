# A thin front end for Meson; `make help` lists the targets.
.PHONY: build run test test-verbs check format lint gcc clang tidy cppcheck sanitize threads endless coverage fuzz seeds bench install uninstall clean help

SOURCES = $(shell git ls-files -co --exclude-standard 'src/*.[ch]' 'include/*.h' 'tests/*.[ch]' 'bench/*.[ch]' 'examples/*.c')

build: build/build.ninja ## compile the programs into build/
	@ninja -C build

build/build.ninja:
	@meson setup build

run: ## the same as ./run
	@./run

test: ## the same as ./test
	@./test

test-verbs: ## run the tests of the verbs provider, on software RDMA in a virtual machine
	@./test --suite verbs --verbose

check: ## all checks that a change must pass; one phase: lint gcc clang tidy cppcheck sanitize threads endless coverage
	@tools/check

lint gcc clang tidy cppcheck sanitize threads endless:
	@tools/check $@

format: ## format all sources with clang-format
	@clang-format -i $(SOURCES)

coverage: ## measure which lines of the layers below the command line the tests execute
	@tools/check coverage

fuzz: ## run every fuzz target for FUZZ_SECONDS (20); all of them, even if one finds a bug
	@tools/fuzz $(FUZZ_SECONDS)

seeds: build ## run SEEDS (10000) seeds of chaos on three topologies, half of them with a service on disks
	@tools/seeds $(SEEDS)

bench: ## run the benchmarks, compared with other libraries
	@tools/setup bench
	@meson setup --reconfigure build >/dev/null 2>&1 || meson setup build
	@ninja -C build
	@for program in $$(find build/bench -maxdepth 1 -type f -perm -u+x); do $$program; done

install: build ## install into the system, as root; DESTDIR and Meson's options (-Dprefix=...) choose the folder
	@/usr/bin/python3 tools/install.py install build

uninstall: ## remove all files that `make install` has installed
	@/usr/bin/python3 tools/install.py uninstall build

clean: ## remove everything that was built
	@rm -rf build build-*

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 14
