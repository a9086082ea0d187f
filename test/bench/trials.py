"""What is measured, how often, and how it is told: trials, their median and spread, rows with a bar."""
import hashlib
import json
import statistics

GB = 1e9


def median_and_mad(values):
    """The median and the median distance from it."""
    median = statistics.median(values)
    return median, statistics.median(abs(value - median) for value in values)


def configuration_hash(configuration):
    """Two figures may be compared if this is equal: it names everything that was chosen, and nothing measured."""
    text = json.dumps(configuration, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def reaches(value, bar):
    """Whether a value reaches a bar such as ">= 0.95"; None without a bar."""
    if not bar:
        return None
    relation, limit = bar.split()
    return {">=": value >= float(limit), "<=": value <= float(limit), "=": value == float(limit)}[relation]


def shown(value):
    if isinstance(value, int):
        return str(value)
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def row(name, values, bar="", configuration=None, **facts):
    """One figure: the median of its trials beside its bar. `configuration` holds all that was chosen for it."""
    values = values if isinstance(values, list) else [values]
    median, mad = median_and_mad(values)
    return {"name": name, "value": shown(median), "bar": bar, "reached": reaches(median, bar), "median": median, "mad": mad,
            "trials": values, "hash": configuration_hash({"name": name, **(configuration or {})}),
            "configuration": configuration, **facts}


def remark(name, text):
    """Says why there is no figure."""
    return {"name": name, "value": text, "bar": "", "reached": None}


def summary(rows):
    """How many rows reach their bar, of those that have one."""
    judged = [each["reached"] for each in rows if each["reached"] is not None]
    return f"{sum(judged)} of {len(judged)} bars reached"


def ideal_files_per_second(readers, size, profile, total):
    """What `readers` files in flight can be at best: published for one client of these services as
    1 / (first byte + size / rate of a connection) each, up to the cap of all connections."""
    first_byte, per_connection = profile
    seconds = first_byte + (size / per_connection if per_connection else 0)
    rate = readers / seconds if seconds else float("inf")
    return min(rate, total / size) if total else rate


def seconds_to_reach(rate, timeline, tick_seconds, window_seconds=0.2):
    """When the bytes of a window of the timeline first came at `rate`: the end of that window; None if never."""
    ticks = max(1, round(window_seconds / tick_seconds))
    for begin in range(len(timeline) - ticks + 1):
        if sum(timeline[begin:begin + ticks]) >= rate * ticks * tick_seconds:
            return (begin + ticks) * tick_seconds
    return None
