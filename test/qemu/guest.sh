# The first process of a guest once it has its file systems: runs the cases, collects orphans, ends the machine.
export HOME=/run TMPDIR=/mnt PYTHONDONTWRITEBYTECODE=1
exec </dev/null >/dev/ttyS0 2>&1
"$PYTHON" "$HERE/runner.py" $CASES >/dev/ttyS1 &
wait $!
echo b >/proc/sysrq-trigger
