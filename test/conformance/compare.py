"""Decides whether the answers of a case are right.

The rule. Every answer must hold what the case expects. Beyond that, wherever the independent servers agree on a
field, our server must agree too; where they disagree, the case must say what is right and why (`differs`). Fields
in which they never agree are listed in differences.py.
"""

from differences import standing

ABSENT = "(absent)"


class Is:
    """An expectation that is a predicate, with the words for a failure line."""

    def __init__(self, words, holds):
        self._words, self._holds = words, holds

    def __eq__(self, other):
        return other is not ABSENT and bool(self._holds(other))

    def __repr__(self):
        return self._words


PRESENT = Is("(present)", lambda value: True)


def flatten(result):
    """A case returns one answer or several; fields of several carry their position: `1.status`."""
    if isinstance(result, dict):
        return dict(result)
    return {f"{position}.{field}": value for position, answer in enumerate(result) for field, value in answer.items()}


def against_expectation(fields, expected, waived=()):
    """Lists the fields that are not as the case expects; `waived` fields are not looked at."""
    return [f"{name} is {show(fields.get(name, ABSENT))}, expected {show(value)}"
            for name, value in expected.items()
            if not _named(name, waived) and not _equal(value, fields.get(name, ABSENT))]


def against_references(fields, references, differs):
    """Lists the fields in which our answer departs from what all independent servers answer.

    `references`: server name -> fields.
    """
    failures = []
    for name, theirs in _compared(references, differs, fields):
        if all(value == theirs[0] for value in theirs) and fields.get(name, ABSENT) != theirs[0]:
            failures.append(f"{name} is {show(fields.get(name, ABSENT))}, "
                            f"{' and '.join(references)} answer {show(theirs[0])}")
    return failures


def undecided(references, expected, differs):
    """Lists the fields in which the independent servers disagree although the case does not say what is right."""
    return [f"{name}: " + ", ".join(f"{server} answers {show(value)}" for server, value in zip(references, theirs))
            for name, theirs in _compared(references, differs)
            if name not in expected and any(value != theirs[0] for value in theirs)]


def _compared(references, differs, *ours):
    """Pairs of a field and what each independent server answers in it, without the fields in `differs`."""
    names = set().union(*references.values(), *ours)
    return [(name, [reference.get(name, ABSENT) for reference in references.values()])
            for name in sorted(names) if not _named(name, differs) and not standing(name)]


def _named(field, differs):
    """`differs` names fields; "*" stands for all of them."""
    return field in differs or "*" in differs


def show(value):
    text = repr(value)
    return text if len(text) <= 300 else text[:297] + "..."


def _equal(expected, actual):
    return expected == actual
