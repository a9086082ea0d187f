"""The server of all this: fast enough never to be what is measured, and as slow as it is told to be."""
import rig
import trials
from bench_context import GIB, MB, SMALL, big_spec, raw_read

PIECE = "piece:keys=1,per-dir=1,size=8MB,name-bytes=20"
SMALL_PIECE = "small-piece:keys=1,per-dir=1,size=2MB,name-bytes=20"


def speed(bench):
    with rig.Bucketd(bench.bin_dir, "--synthetic", big_spec(GIB), "--synthetic", SMALL) as server:
        big, small = target(bench, big_spec(GIB)), target(bench, SMALL)
        # Few connections that stay, as a client has them; many keep the server's caches cold.
        for name, path, count, connections in (("ranges of 1 GiB", big, 4, 1), ("objects of 100 KB, 16 connections", small, 30_000, 16),
                                               ("objects of 100 KB, 128 connections", small, 30_000, 128)):
            runs = [raw_read(bench.bin_dir, server, path, count, connections) for _ in range(bench.trials_of_moments)]
            rates = [run["bytes"] / run["server_cpu"] / trials.GB for run in runs]
            yield trials.row(f"bucketd: {name}: GB per core-second", rates, ">= 4", {"bytes": GIB, "connections": connections})


def target(bench, spec):
    return f"/{spec.split(':')[0]}/{bench.keys(spec)[0]}"


def pacing(bench):
    """Caps of one connection and of all, with few and many connections."""
    with rig.Bucketd(bench.bin_dir, *(word for spec in (PIECE, SMALL_PIECE, SMALL) for word in ("--synthetic", spec))) as server:
        for connections, spec in ((8, PIECE), (128, PIECE), (1000, SMALL_PIECE)):
            server.config(profile="zero", total="400MB/s")
            run = raw_read(bench.bin_dir, server, target(bench, spec), max(100, connections), connections)
            yield from within(f"bucketd: {connections} connections share 400 MB/s: sum / cap", run["bytes_per_second"] / (400 * MB),
                              cpu_per_gb=run["server_cpu"] / run["bytes"] * 1e9, answers=run["answer_bytes_per_second"])
        server.config(profile="zero", per_connection="50MB/s", total="0")
        run = raw_read(bench.bin_dir, server, target(bench, PIECE), 24, 6)
        yield from within("bucketd: 50 MB/s for each of 6 connections: rate / cap", run["answer_bytes_per_second"]["median"] / (50 * MB),
                          answers=run["answer_bytes_per_second"])
        server.config(profile="oss", total="0")
        run = raw_read(bench.bin_dir, server, target(bench, SMALL), 200, 4)
        yield from within("bucketd: profile oss, 100 KB: time / 37 ms", run["answer_ms"] / 37)


def within(name, ratio, **facts):
    """A ratio that must be 1, give or take 3 %."""
    yield trials.row(name + ": off by", abs(ratio - 1), "<= 0.03", {"name": name}, ratio=ratio, **facts)


def server(bench):
    yield from speed(bench)
    yield from pacing(bench)


WORKLOADS = {"bucketd": server}
