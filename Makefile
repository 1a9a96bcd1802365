# Short names for Meson, Ninja and the scripts. Nothing is configured here.
#
#	make            build/heaplapse and build/libheaplapse.so
#	make unit       the unit tests, at most 20 seconds
#	make check      the fast part of the tests, at most 3 minutes
#	make test       everything that CI runs
#	make test-asan  unit tests, commands and collector under ASan and UBSan
#	make test-tsan  the collector under TSan, with 16 producers at full rate
#	make fuzz       each fuzz target for FUZZ=10 seconds
#	make soak       third-party programs and their own tests, bare and recorded, and our own
#			tests a thousand times over: 40 minutes
#	make debug      build-debug/: assertions, no optimisation
#	make format     lay out the C sources
#	make lint       look for mistakes without running anything
#	make bench      compare costs (installs other tools), BENCH=--quick to try
#	make page       web/dist from the sources in web/ (needs node and npm)
#	make install    PREFIX=/usr/local, DESTDIR= for packages
#	make clean      remove the build directories

PREFIX ?= /usr/local
SOURCES = $(shell find src include tests examples bench -name '*.[ch]' -o -name '*.cpp' 2>/dev/null)
SHELLS = web/build scripts/demo scripts/test scripts/soak scripts/install-deps .ci/run tools/try-minimal tools/sanitize tools/viewer-pictures

all: build/build.ninja
	@ninja -C build

build/build.ninja:
	meson setup build

unit:
	@scripts/test unit

check:
	@scripts/test fast

test:
	@scripts/test

test-asan test-tsan:
	@scripts/install-deps test
	@tools/sanitize $(@:test-%=%)

FUZZ ?= 10
fuzz:
	@scripts/install-deps test
	@tools/sanitize fuzz $(FUZZ)

soak:
	@scripts/soak

debug:
	@[ -e build-debug/build.ninja ] || meson setup build-debug --buildtype=debug -Db_ndebug=false -Ddebug_checks=true
	@ninja -C build-debug

format:
	clang-format -i $(SOURCES)

lint:
	@tools/lint $(SHELLS) -- $(SOURCES)

page:
	@web/build

install: build/build.ninja
	meson configure build --prefix=$(abspath $(PREFIX))
	ninja -C build
	meson install -C build --no-rebuild

bench:
	@scripts/install-deps build
	@bench/run $(BENCH)

clean:
	rm -rf build build-test build-debug build-asan build-tsan build-fuzz

.PHONY: all unit check test test-asan test-tsan fuzz soak debug format lint install bench page clean
