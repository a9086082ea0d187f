"""The cases of the suite: what is asked, through which clients, and what must come back."""

import dataclasses
import importlib
import pkgutil
import traceback

import cases as case_modules
import compare


@dataclasses.dataclass
class Case:
    """One behaviour.

    ask       function of a Client, returns one Answer or a list of them
    expect    fields that every server must answer
    oss       what the OSS dialect answers otherwise, or besides
    differs   field (or "*") -> reason: independent servers are not the reference for it, `expect` is
    needs     abilities a server may lack (servers.py says which and why)
    via       kinds of client that ask: "sdk" (all of them), "raw", "rclone", or the beginning of a client's name
    on        dialects
    bucket    a shared, read-only Fixture, or None for a fresh bucket
    servers   the sort of server that runs it: "plain", "tls" or "token"
    """
    name: str
    ask: object
    expect: object
    oss: object = None
    differs: dict = dataclasses.field(default_factory=dict)
    needs: tuple = ()
    via: tuple = ("sdk",)
    on: tuple = ("s3", "oss")
    bucket: object = None
    servers: str = "plain"

    def applies_to(self, client):
        return client.dialect in self.on and any(
            client.kind == word or (client.name.startswith(word)) for word in self.via)

    def expected(self, dialect):
        expected = compare.flatten(self.expect)
        if dialect == "oss" and self.oss is not None:
            expected.update(compare.flatten(self.oss))
        return expected


@dataclasses.dataclass(frozen=True)
class Fixture:
    """Objects of a bucket that several cases read and none changes; `needs` maps a key to an ability."""
    name: str
    objects: tuple

    def of(self, server):
        return [(key, body) for key, body, need in self.objects if need is None or need not in server.lacks]


_CASES = []


def case(expect, **options):
    """Registers the decorated function as a case of its own name."""
    def register(ask):
        name = ask.__name__.replace("_", "-")
        add(name, ask, expect, **options)
        return ask
    return register


def add(name, ask, expect, **options):
    """Registers one row of a table of cases."""
    for option in ("needs", "via", "on"):
        if isinstance(options.get(option), str):
            options[option] = (options[option],)
    _CASES.append(Case(name, ask, expect, **options))


def load():
    """All cases, in the order of their modules."""
    if not _CASES:
        for module in pkgutil.iter_modules(case_modules.__path__):
            importlib.import_module(f"cases.{module.name}")
    names = [case.name for case in _CASES]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two cases of one name: {sorted(twice)}")
    return _CASES


def ask(case, client):
    """Runs one case through one client; an exception becomes a field, so that it can never pass as an answer."""
    try:
        return compare.flatten(case.ask(client))
    except Exception as error:  # Whatever an SDK raises about an answer is a finding, not a crash of the suite.
        place = traceback.extract_tb(error.__traceback__)[-1]
        return {"exception": f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})"}
