#!/bin/bash
# The checks of `make check`, in order of cost. `tools/check.sh NAME` runs one of them.
set -euo pipefail
cd "$(dirname "$0")/.."

sources() { git ls-files '*.cc' '*.h'; }

check_format() { sources | xargs clang-format --dry-run -Werror; }

check_edges() { python3 test/layering/include_edges.py; }

# Clang knows the thread-safety annotations that g++ ignores.
check_clang() {
  cmake --preset clang >/dev/null
  ninja -C build-clang
}

# The build notes which headers each file needs: only what changed is looked at again.
check_tidy() {
  check_clang
  tools/tidy.py build-clang 'mounter/*.cc' 'test/bucketd/*.cc'
}

# Generated files are checked by tests: they compare the checked-in file with what the program writes.
check_generated() { make all >/dev/null && ctest --test-dir build --output-on-failure -R generated; }

# Builds the tests with a sanitizer and runs those whose labels do not match.
sanitized() {
  cmake --preset "$1" >/dev/null
  ninja -C "build-$1"
  ctest --test-dir "build-$1" --output-on-failure -j "$(nproc)" -LE "$2"
}
check_asan() { sanitized asan 'soak|kernel'; }
# Without mounts: only tests are linked with what ThreadSanitizer needs to see abseil's locks.
check_tsan() { TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp" sanitized tsan 'soak|kernel|mount'; }

# Each fuzz target runs for a few seconds from its seeds; a crash leaves its input behind and fails.
check_fuzz() {
  cmake --preset fuzz >/dev/null
  ninja -C build-fuzz fuzz_targets
  for target in build-fuzz/fuzz/*_fuzz; do
    echo "fuzzing $(basename "$target")"
    seeds="test/fuzz/seeds/$(basename "$target")"
    work=$(mktemp -d)
    "$target" -max_total_time="${FUZZ_SECONDS:-10}" -print_final_stats=0 -verbosity=0 -artifact_prefix="$work/" \
      "$work" $([ -d "$seeds" ] && echo "$seeds")
    rm -rf "$work"
  done
}

checks="format edges clang tidy generated asan tsan fuzz"
times=""
for name in ${1:-$checks}; do
  echo "== $name"
  begun=$SECONDS
  "check_$name"
  times+=$(printf '%8d s  %s' $((SECONDS - begun)) "$name")$'\n'
done
printf '%s%s\n' "$times" "all checks passed"
