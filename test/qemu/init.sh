#!/bin/busybox sh
# The first process of a guest: makes its file systems, then goes on with guest.sh in them.
. /settings
mount -t proc none /proc
mount -t devtmpfs none /dev
for module in /modules/*.ko; do insmod "$module" || echo "cannot load $module"; done
ifconfig lo 127.0.0.1 up

mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=512000 root /root || exit 1
mount -t proc none /root/proc
mount -t sysfs none /root/sys
mount -t devtmpfs none /root/dev
mkdir /dev/shm
mount -t tmpfs none /root/dev/shm
mount -t tmpfs none /root/run
mount -t ext4 /dev/vda /root/mnt
case $CGROUPS in
v2)
  mount -t cgroup2 none /root/sys/fs/cgroup
  ;;
v1)
  mount -t tmpfs none /root/sys/fs/cgroup
  for controller in cpu memory; do
    mkdir /root/sys/fs/cgroup/$controller
    mount -t cgroup -o $controller none /root/sys/fs/cgroup/$controller
  done
  ;;
esac
export HERE PYTHON BUCKETVOL_BIN PATH CASES
exec switch_root /root /bin/sh "$HERE/guest.sh"
