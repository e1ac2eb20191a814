# A thin front to Meson: every real rule is in meson.build, every check in tool/ and test/.
# Works from a fresh clone; tool/setup installs what is missing (Debian).
#
#   make           build/ratel and build/libratel.{a,so}
#   make demo      generate a history, check it, see a planted anomaly named
#   make test      everything that must hold; ends with "N passed, N failed"
#   make quick     the smoke suites on the gcc build only, below a minute, while you work
#   make test-long what does not fit make test: the whole grid of plants, a soak, fuzzing; hours
#   make bench     speed and memory against the promised ratios
#   make soak      every database, level and workload for SECONDS (1800), recorded in doc/soak.md;
#                  with STATE=FILE in turns, each of which goes on where the last one ended
#   make campaign  random histories against the oracle for SECONDS (1800), from SEED (1)
#   make mutants   plants COUNT (320) faults in the product, from SEED (1): do short suites notice?
#   make fuzz      every reader for FUZZ_SECONDS (60) or MINUTES each
#   make lint      layers, banned calls, format, cppcheck
#   make format    rewrite C files with clang-format
#   make install   PREFIX (/usr/local), DESTDIR
#   make clang, make asan      the other two builds
#
# Several people in one tree: give each a directory of their own, `make BUILD=/tmp/mine`.

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SECONDS ?= 1800
SEED ?= 1
COUNT ?= 320
ifdef MINUTES
FUZZ_SECONDS = $(shell expr 60 \* $(MINUTES))
endif
MESON_FLAGS ?=
ifeq ($(origin CC),default)
CC := gcc
endif

all: build

# tool/setup is silent and quick when nothing is missing.
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# What `make test` needs besides: the test programs of the gcc build.
tests: $(BUILD)/build.ninja
	@ninja -C $(BUILD) all tests

$(BUILD)/build.ninja:
	@tool/setup build libs
	CC="$(CC)" meson setup $(BUILD) $(MESON_FLAGS)

clang: $(BUILD)-clang/build.ninja
	@ninja -C $(BUILD)-clang all tests

$(BUILD)-clang/build.ninja:
	@tool/setup build libs clang
	CC=clang meson setup $(BUILD)-clang -Doptimization=0 $(MESON_FLAGS)

# clang here as well, so the suites run on code of both compilers; assertions are on.
asan: $(BUILD)-asan/build.ninja
	@ninja -C $(BUILD)-asan all tests

$(BUILD)-asan/build.ninja:
	@tool/setup build libs clang
	CC=clang meson setup $(BUILD)-asan -Dbuildtype=debugoptimized -Doptimization=1 \
	  -Dc_args=-gline-tables-only -Db_sanitize=address,undefined -Db_lundef=false $(MESON_FLAGS)

fuzz-build: $(BUILD)-fuzz/build.ninja
	@ninja -C $(BUILD)-fuzz $$(awk '!/^#/ && NF { print "test/fuzz/fuzz-" $$1 }' test/fuzz/targets.txt)

$(BUILD)-fuzz/build.ninja:
	@tool/setup build libs clang
	CC=clang meson setup $(BUILD)-fuzz -Dfuzz=true -Dbuildtype=debugoptimized \
	  -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false $(MESON_FLAGS)

demo: build
	@RATEL=$(abspath $(BUILD))/ratel tool/demo

test:
	@tool/setup
	@BUILD=$(BUILD) test/run

quick:
	@BUILD=$(BUILD) test/run --smoke src gcc

test-long:
	@tool/setup
	@BUILD=$(BUILD) test/run --long gcc clang asan

bench: build
	@tool/setup bench
	@RATEL=$(abspath $(BUILD))/ratel bench/run

soak: build
	@tool/setup test
	@RATEL=$(abspath $(BUILD))/ratel tool/soak $(if $(STATE),--state $(STATE)) $(SECONDS)

# What went wrong is saved below the build directory; the summary says where.
campaign: $(BUILD)/build.ninja
	@ninja -C $(BUILD) test/campaign/campaign
	@echo "# commit $$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
	@$(BUILD)/test/campaign/campaign --seconds $(SECONDS) --seed $(SEED) \
	  --folder $(BUILD)/campaign-failures-$(SEED)

# It has builds of its own, $(BUILD)-mutants and -mutants-asan; the tree is not changed.
mutants:
	@tool/setup build libs
	@test/mutants/run --count $(COUNT) --seed $(SEED) --build $(BUILD)-mutants

fuzz: fuzz-build
	@test/fuzz/run $(BUILD)-fuzz $(FUZZ_SECONDS)

lint:
	@tool/lint

format:
	@tool/check-format --fix

install: build
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-clang $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-mutants $(BUILD)-mutants-asan

.PHONY: all build tests clang asan fuzz-build demo test quick test-long bench soak campaign mutants fuzz lint format install clean
