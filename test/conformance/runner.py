"""Runs the suite: starts the servers, asks every case through every client, prints failures and the sum."""

import contextlib
import os
import shutil
import tempfile

import compare
import resolver
import servers
import suite
import tools
import volume
from clients import fleet


class Report:
    """Counts and prints; one line per failure."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, where, failures):
        if failures:
            self.failed += 1
            print(f"FAIL {where}: " + "; ".join(failures).replace("\n", "\\n"), flush=True)
        else:
            self.passed += 1

    def summary(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.failed == 0 and self.passed > 0 else 1


def run(arguments, directory, missing):
    """Runs what the arguments ask for; returns the exit code."""
    resolver.install()
    report = Report()
    work = tempfile.mkdtemp(prefix="conformance-")
    with contextlib.ExitStack() as stack:
        if arguments.keep:
            print(f"conformance: data and logs stay in {work}")
        else:
            stack.callback(shutil.rmtree, work, ignore_errors=True)
        wanted = _Wanted(arguments, missing)
        running = _start(arguments, directory, work, wanted, stack)
        print("conformance: " + ", ".join(f"{name} {version}" for name, version in tools.installed_clients().items())
              + "; servers " + ", ".join(server.name for server in running), flush=True)
        Session(running, wanted, report, arguments.show).run()
        volume.run(os.path.abspath(arguments.bin), running, wanted, report)
    return report.summary()


class _Wanted:
    """Which cases, clients and servers the command line asks for."""

    def __init__(self, arguments, missing):
        self._text = arguments.only
        self._servers = set(filter(None, arguments.servers.split(",")))
        self._missing = missing

    def server(self, name):
        plain = name.split("-")[0]
        return plain not in self._missing and (not self._servers or plain in self._servers)

    def text(self, name):
        return self._text in name

    def pair(self, case, client_name):
        return self.text(f"{case.name}@{client_name}")


def _start(arguments, directory, work, wanted, stack):
    tls = servers.make_tls(work)
    binaries = os.path.abspath(arguments.bin)
    starts = {
        "bucketd": lambda: servers.bucketd(binaries, work),
        "bucketd-tls": lambda: servers.bucketd(binaries, work, name="bucketd-tls", tls=tls),
        "bucketd-token": lambda: servers.bucketd(binaries, work, name="bucketd-token", token="session/token+=="),
        "versitygw": lambda: servers.versitygw(os.path.join(directory, "versitygw"), work),
        "versitygw-tls": lambda: servers.versitygw(os.path.join(directory, "versitygw"), work, tls),
        "minio": lambda: servers.minio(os.path.join(directory, "minio"), work),
        "minio-tls": lambda: servers.minio(os.path.join(directory, "minio"), work, tls),
    }
    running = []
    for name, start in starts.items():
        if wanted.server(name):
            running.append(start())
            stack.callback(running[-1].stop)
    running += [servers.minio_token(server) for server in running if server.name == "minio"]
    return running


class Session:
    """All servers running, all clients made once; fresh buckets for each case."""

    def __init__(self, running, wanted, report, show):
        self._servers, self._wanted, self._report, self._show = running, wanted, report, show
        self._clients = {server.name: fleet.clients(server) for server in running}
        self._admins = {server.name: fleet.admin(server) for server in running}
        self._filled = set()
        self._used_differences = set()

    def run(self):
        cases = suite.load()
        for number, case in enumerate(cases):
            for name in fleet.names():
                if self._wanted.pair(case, name):
                    self._run_pair(number, case, name)
        self._report_stale_differences(cases)

    def _run_pair(self, number, case, client_name):
        answers, dialect = {}, None
        for server in self._servers:
            client = self._clients[server.name].get(client_name)
            if client is None or not case.applies_to(client) or not self._runs_on(case, server):
                continue
            dialect = client.dialect
            answers[server.name] = self._ask(number, case, client, server)
            if self._show:
                print(f"{case.name} [{client_name} @ {server.name}]: {answers[server.name]}")
        if answers:
            self._judge(case, client_name, case.expected(dialect), answers)

    def _ask(self, number, case, client, server):
        try:
            client.bucket = self._bucket(number, case, client, server)
        except (AssertionError, OSError) as error:
            return {"exception": f"the bucket could not be prepared: {error}"}
        return suite.ask(case, client)

    @staticmethod
    def _runs_on(case, server):
        return server.sort == case.servers and not any(need in server.lacks for need in case.needs)

    def _judge(self, case, client_name, expected, answers):
        references = {name: fields for name, fields in answers.items() if not name.startswith("bucketd")}
        for name, fields in answers.items():
            where = f"{case.name} [{client_name} @ {name}]"
            waived = case.differs if name in references else ()
            failures = compare.against_expectation(fields, expected, waived)
            if references and name not in references:
                failures += compare.against_references(fields, references, case.differs)
            if "exception" in fields:
                failures = [fields["exception"]]
            self._report.check(where, failures)
        if len(references) > 1:
            undecided = compare.undecided(references, expected, case.differs)
            self._report.check(f"{case.name} [{client_name}] is undecided", undecided)
            self._note_differences(case, expected, references)

    def _note_differences(self, case, expected, references):
        names = set(expected).union(*references.values()) if "*" in case.differs else case.differs
        for field in names:
            values = [fields.get(field, compare.ABSENT) for fields in references.values()]
            if any(value != expected.get(field, values[0]) or value != values[0] for value in values):
                self._used_differences.add((case.name, "*" if "*" in case.differs else field))

    def _report_stale_differences(self, cases):
        """A difference that no independent server shows any more must go from its case."""
        both = {"versitygw", "minio"} <= {server.name for server in self._servers}
        for case in cases:
            for field in case.differs:
                judged = both and "s3" in case.on and case.servers != "token" and self._wanted.pair(case, "")
                if judged and (case.name, field) not in self._used_differences:
                    self._report.check(f"{case.name} differs", [f"{field}: the servers agree; drop the difference"])

    def _bucket(self, number, case, client, server):
        if case.bucket is not None:
            return self._shared(case.bucket, server)
        admin = self._admins[server.name]
        admin.bucket = f"c{number:03d}-{client.name}-{server.sort}"[:63].lower()
        admin.must(admin.create_bucket())
        return admin.bucket

    def _shared(self, fixture, server):
        admin = self._admins[server.name]
        admin.bucket = f"fixture-{fixture.name}"
        if (server.name, fixture.name) not in self._filled:
            self._filled.add((server.name, fixture.name))
            admin.must(admin.create_bucket())
            for key, body in fixture.of(server):
                admin.must(admin.put(key, body))
        return admin.bucket
