"""Bodies of requests that may be wrong in any way."""

import json

HOSTILE = [
    None, True, False, 0, -1, 99, 100, 2**31, 2**63, -(2**63) - 1, 10**40, 0.5, 7.0, 1e999, "",
    "0", "00", "007", "99", "100", "5.0", "-0", "+1", "1e1", "٣", "value:", "value:7", "value:100",
    "value:1e1", "yes", "no", "won't say", "value:yes", "f" * 26, "0" * 26, "0" * 24 + "0f",
    "0" * 24 + "1f", "0" * 32, "\u0000", "\ud800", "😀", "x" * 300, [], [7], {}, {"a": 7},
]  # fmt: skip


def mutated(draw, valid):
    """Return the bytes of a body that may be wrong, in any way."""
    content = json.loads(json.dumps(valid))
    batch = content if isinstance(content, list) else [content]
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        one = draw.choice(batch)
        what = draw.randrange(5)
        if not isinstance(one, dict) or not one:
            continue
        if what == 0:
            names = ["mechanism", "report", "value", "report_id", "x"]
            one[draw.choice(names)] = draw.choice(HOSTILE)
        elif what == 4 and "report" in one:
            # As a device's row; a label or digits are a value here, an index may be another one.
            one["value"] = draw.choice([str(one.pop("report")), *HOSTILE])
        elif what == 1:
            one["report"] = draw.choice(HOSTILE)
        elif what == 2:
            one.pop(draw.choice(list(one)))
        else:
            batch.append(draw.choice([one, draw.choice(HOSTILE)]))
    kind = draw.choice(["application/json", "application/x-ndjson"])
    if kind == "application/json":
        body = json.dumps(content, ensure_ascii=draw.random() < 0.5)
    else:
        body = "\n".join(json.dumps(one, ensure_ascii=True) for one in batch)
    return damaged(draw, bytearray(body.encode("utf-8", "surrogatepass"))), kind


def damaged(draw, raw):
    """Change, take out, put in or cut off a few bytes."""
    for _ in range(draw.choice([0, 0, 0, 1, 1, 3])):
        at, what = draw.randrange(len(raw) + 1), draw.randrange(4)
        if what == 0:
            raw[at : at + 1] = bytes([draw.randrange(256)])
        elif what == 1:
            del raw[at : at + draw.randrange(20)]
        elif what == 2:
            raw[at:at] = draw.choice([b'"', b"{", b"}", b",", b"\n", b" ", b"0", b"\\u0000", b"[]"])
        else:
            del raw[at:]
    return bytes(raw)
