# A thin front for Meson; `make help` lists the words.
.PHONY: build run test test-verbs check format lint gcc clang tidy cppcheck sanitize threads endless coverage fuzz bench install uninstall clean help

SOURCES = $(shell git ls-files -co --exclude-standard 'src/*.[ch]' 'include/*.h' 'tests/*.[ch]' 'bench/*.[ch]' 'examples/*.c')

build: build/build.ninja ## the programs, in build/
	@ninja -C build

build/build.ninja:
	@meson setup build

run: ## what ./run does
	@./run

test: ## what ./test does
	@./test

test-verbs: ## over the verbs provider, on software RDMA in a virtual machine
	@./test --suite verbs --verbose

check: ## everything a change must pass; its phases by name: lint gcc clang tidy cppcheck sanitize threads endless coverage
	@tools/check

lint gcc clang tidy cppcheck sanitize threads endless:
	@tools/check $@

format: ## let clang-format decide
	@clang-format -i $(SOURCES)

coverage: ## lines of the layers below the command line that the tests reach
	@tools/check coverage

fuzz: ## every fuzz target for FUZZ_SECONDS (20) each; all of them, also after a find
	@tools/fuzz $(FUZZ_SECONDS)

bench: ## the benchmarks, with their peers
	@tools/setup bench
	@meson setup --reconfigure build >/dev/null 2>&1 || meson setup build
	@ninja -C build
	@for program in $$(find build/bench -maxdepth 1 -type f -perm -u+x); do $$program; done

install: build ## into the system, as root; DESTDIR and Meson's options (-Dprefix=...) say where
	@/usr/bin/python3 tools/install.py install build

uninstall: ## remove what `make install` has installed
	@/usr/bin/python3 tools/install.py uninstall build

clean: ## remove everything that was built
	@rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 14
