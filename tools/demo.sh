#!/bin/bash
# The demo: a bucket made on the spot, served by bucketd, mounted as an image volume, looked at and checked.
# Usage: tools/demo.sh BIN_DIR; KEEP=1 leaves everything running and prints how to look round and how to stop.
set -euo pipefail
bin=$(cd "$1" && pwd)
keep=${KEEP:-}

[ "$(id -u)" = 0 ] || { echo "demo: mounting needs root; try: sudo make demo" >&2; exit 1; }
work=$(mktemp -d /tmp/bucketvol-demo.XXXXXX)
mountpoint=$work/mnt
options="url=URL,anonymous,state_dir=$work/state,run_dir=$work/run"
server=""

stop() {
  "$bin/bucketvol" umount "$mountpoint" 2>/dev/null || true
  [ -z "$server" ] || { kill "$server"; wait "$server"; } 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

step "A bucket: 300 images of 20 to 200 KB, a model file of 64 MB, a few odd names"
bucket=$work/root/demo
mkdir -p "$bucket"/train/{cat,dog,bird} "$bucket/models/v1" "$mountpoint"
for class in cat dog bird; do
  for i in $(seq -w 0 99); do
    head -c $((20480 + RANDOM * 180000 / 32768)) /dev/urandom > "$bucket/train/$class/$i.jpg"
  done
done
head -c 64000000 /dev/urandom > "$bucket/models/v1/weights.safetensors"
echo '{"classes": ["cat", "dog", "bird"]}' > "$bucket/train/labels.json"
: > "$bucket/train/empty"
echo odd > "$bucket/train/a name with spaces & ünicode.txt"
du -sh "$bucket" | cut -f1

step "bucketd serves it"
"$bin/bucketd" --listen 127.0.0.1:0 --root "$work/root" > "$work/bucketd.log" 2>&1 &
server=$!
for _ in $(seq 100); do grep -q 'listening on' "$work/bucketd.log" && break; sleep 0.05; done
url=$(sed -n 's/.*listening on //p' "$work/bucketd.log")
[ -n "$url" ] || { cat "$work/bucketd.log" >&2; exit 1; }
options=${options/URL/$url}
echo "$url"

step "bucketvol mount s3://demo $mountpoint -o $options"
"$bin/bucketvol" mount s3://demo "$mountpoint" -o "$options"

step "find: the kernel's own metadata, no requests"
find "$mountpoint" -type f | sort | sed -n 1,5p
echo "… $(find "$mountpoint" -type f | wc -l) files"
ls -l "$mountpoint/train" | sed -n 1,8p

step "df"
df -h "$mountpoint"

step "A checksum of every file against the source"
(cd "$bucket" && find . -type f -print0 | sort -z | xargs -0 sha256sum) > "$work/expected"
(cd "$mountpoint" && sha256sum --quiet -c "$work/expected")
echo "all $(wc -l < "$work/expected") files are equal to the source"

step "bucketvol status"
"$bin/bucketvol" status "$mountpoint"

if [ -n "$keep" ]; then
  trap - EXIT
  step "Left mounted"
  cat <<TEXT
look round:  ls -l $mountpoint
             $bin/bucketvol status $mountpoint --json
             curl -s $url/-/stats
stop:        $bin/bucketvol umount $mountpoint && kill $server && rm -r $work
TEXT
  exit 0
fi

step "bucketvol umount"
"$bin/bucketvol" umount "$mountpoint"
ls -A "$mountpoint" | wc -l | grep -qx 0
echo "unmounted; nothing is left behind"
