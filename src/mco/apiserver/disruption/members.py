"""Which pods each budget selects, kept in step with both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mco.api.meta.selectors import Selector
from mco.apiserver.store.revision import Key

Labels = Mapping[str, str] | None


class Members:
    """Budgets and pods by their keys; both live in one namespace."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[Key, Selector]] = {}
        self._pods: dict[Key, set[Key]] = {}

    def watches(self, namespace: str) -> bool:
        """Whether any budget is there."""
        return namespace in self._selectors

    def selector(self, budget: Key) -> Selector | None:
        """The one that counts now; None for a budget that is not known yet."""
        return self._selectors.get(budget.namespace, {}).get(budget)

    def pods(self, budget: Key) -> list[Key]:
        return sorted(self._pods.get(budget, ()))

    def budgets(self, pod: Key) -> list[Key]:
        around = self._selectors.get(pod.namespace, ())
        return sorted(budget for budget in around if pod in self._pods[budget])

    def note_budget(self, budget: Key, selector: Selector, pods: Iterable[tuple[Key, Labels]]) -> None:
        """A new budget, or a changed one; `pods` are those of its namespace, with their labels."""
        self._selectors.setdefault(budget.namespace, {})[budget] = selector
        self._pods[budget] = {pod for pod, labels in pods if selector.matches(labels)}

    def forget_budget(self, budget: Key) -> None:
        around = self._selectors.get(budget.namespace, {})
        around.pop(budget, None)
        self._pods.pop(budget, None)
        if not around:
            self._selectors.pop(budget.namespace, None)

    def note_pod(self, pod: Key, labels: Labels) -> list[Key]:
        """The budgets that it concerns, because they select the Pod or have done so."""
        before = self.budgets(pod)
        for budget, selector in self._selectors.get(pod.namespace, {}).items():
            if selector.matches(labels):
                self._pods[budget].add(pod)
            else:
                self._pods[budget].discard(pod)
        return sorted({*before, *self.budgets(pod)})

    def forget_pod(self, pod: Key) -> list[Key]:
        """The budgets that selected it."""
        found = self.budgets(pod)
        for budget in found:
            self._pods[budget].discard(pod)
        return found
