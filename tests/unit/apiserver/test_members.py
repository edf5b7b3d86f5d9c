"""Which pods budgets select, after any order of changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mco.api.meta.objects import LabelSelector
from mco.api.meta.selectors import Selector, selector
from mco.apiserver.disruption.members import Members
from mco.apiserver.store.revision import Key

LABELS = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
BUDGETS = [Key("poddisruptionbudgets.policy", space, name) for space in "mn" for name in "pq"]
PODS = [Key("pods", space, name) for space in "mn" for name in "rst"]
CHANGES = st.one_of(
    st.tuples(st.sampled_from(BUDGETS), st.none() | LABELS),
    st.tuples(st.sampled_from(PODS), st.none() | LABELS),
)


@given(st.lists(CHANGES, max_size=30))
def test_members_are_those_whose_labels_match(changes: list[tuple[Key, dict[str, str] | None]]) -> None:
    """None stands for a deletion."""
    members = Members()
    pods: dict[Key, dict[str, str]] = {}
    budgets: dict[Key, Selector] = {}
    for key, labels in changes:
        if key in BUDGETS:
            budgets.pop(key, None)
            if labels is None:
                members.forget_budget(key)
            else:
                budgets[key] = selector(LabelSelector(match_labels=labels))
                around = [(pod, found) for pod, found in pods.items() if pod.namespace == key.namespace]
                members.note_budget(key, budgets[key], around)
            continue
        before = set(members.budgets(key))
        pods.pop(key, None)
        if labels is None:
            assert set(members.forget_pod(key)) == before
        else:
            pods[key] = labels
            assert set(members.note_pod(key, labels)) == before | set(members.budgets(key))
        assert members.watches(key.namespace) == any(b.namespace == key.namespace for b in budgets)
    for budget, wanted in budgets.items():
        chosen = sorted(
            p for p, found in pods.items() if p.namespace == budget.namespace and wanted.matches(found)
        )
        assert members.pods(budget) == chosen
        assert members.selector(budget) == wanted
        assert all(budget in members.budgets(pod) for pod in chosen)
