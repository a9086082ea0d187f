#!/bin/sh
# Installs the Debian packages that building and testing need. Does nothing when all are there.
# With --all: what `make check` needs as well; with --qemu: what `make qemu` needs.
# With --check: only tells whether something is missing (exit 1).
set -eu

packages="
  build-essential cmake ninja-build ccache pkg-config git ca-certificates
  libabsl-dev libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc
  libcurl4-openssl-dev libssl-dev libexpat1-dev libfuse3-dev libyaml-cpp-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev
  erofs-utils openssl python3 procps util-linux strace"
# For `make check` only.
check_packages="clang clang-tidy clang-format lld libclang-rt-14-dev"
# For `make qemu` only.
qemu_packages="qemu-system-x86 busybox-static kmod e2fsprogs"

missing=""
wanted="$packages"
[ "${1:-}" = "--all" ] && wanted="$packages $check_packages"
[ "${1:-}" = "--qemu" ] && wanted="$packages $qemu_packages"
for package in $wanted; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
[ "${1:-}" = "--check" ] && { echo "missing packages:$missing"; exit 1; }

echo "installing:$missing"
[ "$(id -u)" = 0 ] || { echo "run as root, or install these packages: $missing" >&2; exit 1; }
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
