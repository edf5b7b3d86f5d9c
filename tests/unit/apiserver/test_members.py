"""Which pods budgets select, after any order of changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mco.api.meta.objects import LabelSelector, ObjectMeta
from mco.api.meta.selectors import Selector, selector
from mco.apiserver.disruption.members import Members
from mco.apiserver.disruption.status import Pod
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
    pods: dict[Key, Pod] = {}
    budgets: dict[Key, Selector] = {}
    for key, labels in changes:
        if key in BUDGETS:
            budgets.pop(key, None)
            if labels is None:
                members.forget_budget(key)
            else:
                budgets[key] = selector(LabelSelector(match_labels=labels))
                around = [pair for pair in pods.items() if pair[0].namespace == key.namespace]
                members.note_budget(key, budgets[key], around)
            continue
        before = set(members.budgets(key))
        pods.pop(key, None)
        if labels is None:
            assert set(members.forget_pod(key)) == before
        else:
            pods[key] = Pod(ObjectMeta(name=key.name, namespace=key.namespace, labels=labels))
            assert set(members.note_pod(key, pods[key])) == before | set(members.budgets(key))
        assert members.watches(key.namespace) == any(b.namespace == key.namespace for b in budgets)
    for budget, wanted in budgets.items():
        around = [pair for pair in pods.items() if pair[0].namespace == budget.namespace]
        chosen = {key: pod for key, pod in around if wanted.matches(pod.metadata.labels)}
        assert sorted(pod.metadata.name for pod in members.pods(budget)) == sorted(key.name for key in chosen)
        assert members.selector(budget) == wanted
        assert all(budget in members.budgets(key) for key in chosen)
