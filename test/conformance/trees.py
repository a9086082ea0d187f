"""A tree of files for volumes, and its comparison with what is mounted."""

import hashlib
import os


def make():
    """Name -> bytes: sizes round block borders, odd names, and more than one page of a listing."""
    files = {f"sizes/{size}": size for size in (0, 1, 511, 4095, 4096, 4097, 65536, 1 << 20, (5 << 20) + 3)}
    files.update({f"many/{number:04d}": number % 7 for number in range(1100)})
    files.update({name: 10 for name in ("deep/a/b/c/d/e/f", "odd/with space", "odd/plus+percent%25", "odd/amp&<>\"'",
                                        "odd/\u00e9\u4e2d\u6587", "z")})
    return {name: _body(name, size) for name, size in files.items()}


def compare(point, tree):
    """Lists what differs between the files below `point` and the tree."""
    seen = {}
    for directory, _, names in os.walk(point):
        for name in names:
            path = os.path.join(directory, name)
            seen[os.path.relpath(path, point)] = path
    failures = []
    if set(seen) != set(tree):
        failures.append(f"missing {sorted(set(tree) - set(seen))[:5]}, unexpected {sorted(set(seen) - set(tree))[:5]}")
    wrong = [name for name in sorted(set(seen) & set(tree)) if _read(seen[name]) != tree[name]]
    if wrong:
        failures.append(f"other bytes in {wrong[:5]} ({len(wrong)} files)")
    return failures


def _body(key, size):
    seed = hashlib.sha256(key.encode()).digest()
    return (seed * (size // len(seed) + 1))[:size]


def _read(path):
    with open(path, "rb") as file:
        return file.read()
