# SPDX-License-Identifier: Apache-2.0
"""Judges what `brick explain --json` said of a faulty run whose truth is known. Arithmetic only: nothing is run here.

A fault is a dictionary of bench/causes/generate.py. A finding hits it if its rule names the fault, or if it has no other
name than an excess and says the fault's row; a finding that says its row has to say a right one.
"""
import statistics

NEAR = 0.3  # of the true cost
WORTH = 0.02  # of its phase: less is no finding
UNSURE = 0.15  # of the true cost, by which rounds lie around it: such a case says nothing
EXCESS = ("excess",)  # rules that say a row and no cause begin with this
ROW_WORDS = {"gap": ("between steps", "between two steps"), "wait": ("BarrierWait", "barrier", "wait"),
             "preempted": ("preempted",), "unattributed": ("unattributed", "in no brick")}


def row_of(finding, rows):
    """Does the finding say one of these rows? None: it says none at all."""
    if finding.get("row") is not None:
        return finding["row"] in rows
    text = finding["what"] + " " + finding["evidence"]
    return True if any(word in text for row in rows for word in ROW_WORDS.get(row, (row,))) else None


def is_excess(finding):
    return finding["rule"].startswith(EXCESS)


def names(finding, fault):
    return finding["rule"] in fault["rules"] and (row_of(finding, fault["rows"]) is not False or "place" not in fault)


def hits(finding, fault):
    if names(finding, fault):
        return row_of(finding, fault["rows"]) is True if "place" in fault else True
    return is_excess(finding) and row_of(finding, fault["rows"]) is True


def costing(findings):
    return [finding for finding in findings if finding["cost_ns"] > 0]


def claimed(findings, fault):
    """What the findings that hit the fault cost together: a token of its phase, or everything if that is "all"."""
    its = [f for f in costing(findings) if hits(f, fault) and fault["phase"] in ("all", f["phase"])]
    key = "cost_ns" if fault["phase"] == "all" else "cost_per_token_ns"
    apart = [f for f in its if f["overlaps"] is None] or its[:1]
    return sum(f[key] or 0 for f in apart) if its else None


def truths(rounds):
    """rounds: for each, what a token took without faults, with the first, with both. The cost of each fault: median over
    the rounds, and the share of itself by which the middle half of the rounds lies around it."""
    answer = []
    for i in range(1, len(rounds[0])):
        costs = sorted(one[i] - one[i - 1] for one in rounds)
        cost = statistics.median(costs)
        quarter = len(costs) // 4
        middle = costs[quarter:len(costs) - quarter]
        answer.append((cost, (middle[-1] - middle[0]) / 2 / abs(cost) if cost else float("inf")))
    return answer


def overdrawn(phases, findings):
    """Phases whose findings cost more together than the phase took; those that overlap others do not count."""
    return sorted(phase["phase"] for phase in phases if phase["elapsed_ns"] < max(phase["explained_ns"], sum(
        f["cost_ns"] for f in findings if f["phase"] == phase["phase"] and f["overlaps"] is None)))


def judge(faults, costs, explained, also=(), clean_ns=0):
    """costs: of truths(). also: rules that say something true of the run. clean_ns: what a token took without faults. A
    line of the result for each fault, and what is wrong beside them."""
    found = costing(explained["findings"])
    order = sorted(range(len(faults)), key=lambda i: -costs[i][0])
    lines = []
    for expected, i in enumerate(order):
        fault, (cost, spread) = faults[i], costs[i]
        places = [k + 1 for k, f in enumerate(found) if hits(f, fault)]
        said = claimed(found, fault)
        lines.append({"primitive": fault["primitive"], "cost_ns": cost, "spread": spread, "claimed_ns": said,
                      "place": places[0] if places else None, "unsure": cost <= 0 or spread > UNSURE,
                      "first": bool(places) and places[0] <= (1 if not expected else 3),
                      "near": said is not None and abs(said - cost) <= NEAR * abs(cost),
                      "named": any(names(f, fault) for f in found)})
    return {"faults": lines, "overdrawn": overdrawn(explained["phases"], explained["findings"]),
            "false": false_findings(found, faults, also, clean_ns)}


def false_findings(findings, faults=(), also=(), clean_ns=0):
    """Rules, with the row where one is said, of findings that are worth it and have no cause. Nobody saves more of a clean
    token than it takes."""
    true = set(also).union(*(fault["also"] for fault in faults))
    never = {rule for fault in faults for rule in fault.get("never", ())}

    def is_true(f):
        return f["rule"] in true and not (f["rule"] in never and f["cost_per_token_ns"] > clean_ns)
    return sorted({f["rule"] + (":" + f["row"] if f.get("row") else "") for f in costing(findings)
                   if f["share"] >= WORTH and not is_true(f)
                   and not any(hits(f, fault) or names(f, fault) for fault in faults)})


def totals(results):
    """Shares over all faults that can be judged."""
    sure = [r for r in results if not r["disturbed"]]
    lines = [line for r in sure for line in r["faults"] if not line["unsure"]]

    def share(key):
        return [sum(bool(line[key]) for line in lines), len(lines)]
    return {"first": share("first"), "near": share("near"), "named": share("named"),
            "both": [sum(line["first"] and line["near"] for line in lines), len(lines)],
            "false_planted": [sum(bool(r["false"]) for r in sure), len(sure)],
            "false_clean": [sum(bool(f) for r in sure for f in r["false_clean"]), sum(len(r["false_clean"]) for r in sure)],
            "overdrawn": [sum(bool(r["overdrawn"]) for r in sure), len(sure)],
            "unsure": sum(line["unsure"] for r in sure for line in r["faults"]), "disturbed": len(results) - len(sure)}
