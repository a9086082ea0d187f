"""The server of all this: fast enough never to be what is measured, and as slow as it is told to be."""
import rig
import trials
from bench_context import GIB, MB, SMALL, big_spec, raw_read

PIECE = 8 * MB


def speed(bench):
    with rig.Bucketd(bench.bin_dir, "--synthetic", big_spec(False), "--synthetic", SMALL) as server:
        big, small = target(bench, big_spec(False)), target(bench, SMALL)
        # Few connections that stay, as a client has them; many keep the server's caches cold.
        for name, path, count, connections in (("ranges of 1 GiB", big, 4, 1), ("objects of 100 KB, 16 connections", small, 30_000, 16),
                                               ("objects of 100 KB, 128 connections", small, 30_000, 128)):
            runs = [raw_read(bench.bin_dir, server, path, count, connections) for _ in range(bench.trials)]
            rates = [run["bytes"] / run["server_cpu"] / trials.GB for run in runs]
            yield trials.row(f"bucketd: {name}: GB per core-second", rates, ">= 4", {"bytes": GIB, "connections": connections})


def target(bench, spec):
    return f"/{spec.split(':')[0]}/{bench.keys(spec)[0]}"


def pacing(bench):
    """Caps of one connection and of all, with few and many connections."""
    piece = f"piece:keys=1,per-dir=1,size={PIECE},name-bytes=20"
    with rig.Bucketd(bench.bin_dir, "--synthetic", piece, "--synthetic", SMALL) as server:
        path = target(bench, piece)
        for connections in (8, 128, 1000):
            server.config(profile="zero", total="400MB/s")
            run = raw_read(bench.bin_dir, server, path, max(100, connections), connections)
            yield from within(f"bucketd: {connections} connections share 400 MB/s: sum / cap", run["bytes_per_second"] / (400 * MB),
                              cpu_per_gb=run["server_cpu"] / run["bytes"] * 1e9, answers=run["answer_bytes_per_second"])
        server.config(profile="zero", per_connection="50MB/s", total="0")
        run = raw_read(bench.bin_dir, server, path, 24, 6)
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
