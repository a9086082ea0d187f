"""The lines by which a guest tells how its cases went."""
PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"
END = "@ end"


def line(outcome, name, seconds, words=""):
    return f"@ {outcome} {name} {seconds:.1f} {words}".rstrip()


def parse(text):
    """(outcome, name, seconds, words) of a line, or None for one that is none."""
    parts = text.split(" ", 4)
    if len(parts) < 4 or parts[0] != "@" or parts[1] not in (PASSED, FAILED, SKIPPED):
        return None
    return parts[1], parts[2], float(parts[3]), parts[4] if len(parts) > 4 else ""
