"""Which pods each budget selects, kept in step with both."""

from __future__ import annotations

from collections.abc import Iterable

from mco.api.meta.selectors import Selector
from mco.apiserver.disruption.status import Pod
from mco.apiserver.store.revision import Key


class Members:
    """Budgets and pods by their keys; both live in one namespace. Pods are kept as budgets see them, so that
    nothing has to be read again to count them."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[Key, Selector]] = {}
        self._pods: dict[Key, dict[Key, Pod]] = {}

    def watches(self, namespace: str) -> bool:
        """Whether any budget is there."""
        return namespace in self._selectors

    def selector(self, budget: Key) -> Selector | None:
        """The one that counts now; None for a budget that is not known yet."""
        return self._selectors.get(budget.namespace, {}).get(budget)

    def pods(self, budget: Key) -> list[Pod]:
        return list(self._pods.get(budget, {}).values())

    def budgets(self, pod: Key) -> list[Key]:
        around = self._selectors.get(pod.namespace, ())
        return sorted(budget for budget in around if pod in self._pods[budget])

    def note_budget(self, budget: Key, selector: Selector, pods: Iterable[tuple[Key, Pod]]) -> None:
        """A new budget, or a changed one; `pods` are those of its namespace."""
        self._selectors.setdefault(budget.namespace, {})[budget] = selector
        self._pods[budget] = {key: pod for key, pod in pods if selector.matches(pod.metadata.labels)}

    def forget_budget(self, budget: Key) -> None:
        around = self._selectors.get(budget.namespace, {})
        around.pop(budget, None)
        self._pods.pop(budget, None)
        if not around:
            self._selectors.pop(budget.namespace, None)

    def note_pod(self, key: Key, pod: Pod) -> list[Key]:
        """The budgets that it concerns, because they select the Pod or have done so."""
        before = self.budgets(key)
        for budget, selector in self._selectors.get(key.namespace, {}).items():
            if selector.matches(pod.metadata.labels):
                self._pods[budget][key] = pod
            else:
                self._pods[budget].pop(key, None)
        return sorted({*before, *self.budgets(key)})

    def forget_pod(self, key: Key) -> list[Key]:
        """The budgets that selected it."""
        found = self.budgets(key)
        for budget in found:
            del self._pods[budget][key]
        return found
