"""Finds anomalies in histories: the dependencies between transactions follow from what lists and groups held.

The lists make the order of versions known: who reads (1, 2) has read the version that 2 made, and who
appended 3 has overwritten it. Edges are then ww (overwrites), wr (reads what another wrote) and rw
(overwrites what another read). Each kind of circle is an anomaly with a name (Adya 1999; Kingsbury and
Alvaro 2020).
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Iterable, Sequence

from .history import Add, Append, Outcome, Read, ReadGroup, Replace, Transaction


class Anomaly(enum.Enum):
    """What can go wrong."""

    INTERNAL = "a transaction does not see its own writes"
    LOST_WRITE = "a committed write is in no later version"
    INCOMPATIBLE = "two reads of a list contradict each other"
    G1A = "G1a: aborted read"
    G1B = "G1b: intermediate read"
    G0 = "G0: write cycle"
    G1C = "G1c: circular information flow"
    LOST_UPDATE = "lost update"
    G_SINGLE = "G-single: read skew"
    G_SI = "G-SI: a circle without two anti-dependencies in a row"
    G_SINGLE_PREDICATE = "G-single by a predicate: rows of two moments"
    G2_ITEM = "G2-item: write skew"
    G2 = "G2: phantom"


_ALWAYS = {Anomaly.INTERNAL, Anomaly.LOST_WRITE, Anomaly.INCOMPATIBLE}
_READ_COMMITTED = _ALWAYS | {Anomaly.G0, Anomaly.G1A, Anomaly.G1B, Anomaly.G1C}
_REPEATABLE_READ = _READ_COMMITTED | {Anomaly.LOST_UPDATE, Anomaly.G_SINGLE, Anomaly.G_SI, Anomaly.G2_ITEM}
_SNAPSHOT = _REPEATABLE_READ - {Anomaly.G2_ITEM} | {Anomaly.G_SINGLE_PREDICATE}

# What each level excludes. READ UNCOMMITTED reads committed rows here.
EXCLUDED: dict[str, frozenset[Anomaly]] = {
    "READ UNCOMMITTED": frozenset(_READ_COMMITTED),
    "READ COMMITTED": frozenset(_READ_COMMITTED),
    "REPEATABLE READ": frozenset(_REPEATABLE_READ),
    "SNAPSHOT": frozenset(_SNAPSHOT),
    "SERIALIZABLE": frozenset(Anomaly),
}


@dataclasses.dataclass(frozen=True)
class Found:
    """An anomaly, and the transactions that show it."""

    anomaly: Anomaly
    why: str
    transactions: tuple[Transaction, ...]

    def __str__(self) -> str:
        lines = [f"{self.anomaly.value}: {self.why}", *map(str, self.transactions)]
        return "\n  ".join(lines)


class _Graph:
    """Edges of the kinds ww, wr, rw, and rwp: what a predicate did not find."""

    def __init__(self) -> None:
        self.edges: dict[int, dict[int, dict[str, str]]] = collections.defaultdict(dict)

    def add(self, kind: str, source: int, target: int, why: str) -> None:
        if source != target:
            self.edges[source].setdefault(target, {}).setdefault(kind, why)

    def successors(self, node: int, kinds: frozenset[str]) -> list[int]:
        return [target for target, own in self.edges.get(node, {}).items() if kinds & own.keys()]

    def components(self, kinds: frozenset[str]) -> list[set[int]]:
        """Strongly connected parts of more than one transaction (Tarjan, without recursion)."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        found = []
        for root in list(self.edges):
            if root in index:
                continue
            work = [(root, iter(self.successors(root, kinds)))]
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            while work:
                node, rest = work[-1]
                for target in rest:
                    if target not in index:
                        index[target] = low[target] = len(index)
                        stack.append(target)
                        on_stack.add(target)
                        work.append((target, iter(self.successors(target, kinds))))
                        break
                    if target in on_stack:
                        low[node] = min(low[node], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        part = set()
                        while True:
                            member = stack.pop()
                            on_stack.discard(member)
                            part.add(member)
                            if member == node:
                                break
                        if len(part) > 1:
                            found.append(part)
        return found

    def path(
        self,
        start: int,
        end: int,
        kinds: frozenset[str],
        within: set[int],
        apart: frozenset[str] = frozenset(),
    ) -> list[int] | None:
        """The shortest way. Edges of the kinds `apart` come neither first nor last nor one after another."""
        first = (start, True)
        before: dict[tuple[int, bool], tuple[int, bool] | None] = {first: None}
        queue = collections.deque([first])
        while queue:
            state = queue.popleft()
            node, after_apart = state
            for target, own in self.edges.get(node, {}).items():
                if target not in within:
                    continue
                steps = []
                if kinds & own.keys():
                    steps.append(False)
                if apart & own.keys() and not after_apart:
                    steps.append(True)
                for step in steps:
                    if target == end and not step:
                        nodes = [end]
                        at: tuple[int, bool] | None = state
                        while at is not None:
                            nodes.append(at[0])
                            at = before[at]
                        return nodes[::-1]
                    following = (target, step)
                    if following not in before:
                        before[following] = state
                        queue.append(following)
        return None

    def told(self, nodes: Sequence[int]) -> str:
        steps = []
        for source, target in zip(nodes, nodes[1:], strict=False):
            own = self.edges[source][target]
            steps.append(f"T{source} -{'/'.join(sorted(own))}-> T{target} ({'; '.join(own.values())})")
        return ", ".join(steps)


_WW = frozenset({"ww"})
_W = frozenset({"ww", "wr"})
_ITEM = frozenset({"ww", "wr", "rw"})
_ALL = frozenset({"ww", "wr", "rw", "rwp"})


def check(history: Iterable[Transaction]) -> list[Found]:
    """All kinds of anomalies that the history shows, with one example of each kind and place at least."""
    return _Check(list(history)).run()


def excluded(level: str, found: Iterable[Found]) -> list[Found]:
    """Those that the level excludes."""
    return [one for one in found if one.anomaly in EXCLUDED[level]]


class _Check:
    def __init__(self, history: list[Transaction]) -> None:
        self.history = {transaction.number: transaction for transaction in history}
        assert len(self.history) == len(history), "numbers of transactions are not unique"
        self.found: list[Found] = []
        self.graph = _Graph()
        # Who wrote a value, and whether that was his last one of the list.
        self.writers: dict[tuple[int, int], tuple[Transaction, bool]] = {}
        self.adders: dict[tuple[int, int], Transaction] = {}
        for transaction in history:
            last: dict[int, int] = {}
            for operation in transaction.operations:
                if isinstance(operation, Append | Replace):
                    last[operation.key] = operation.value
            for operation in transaction.operations:
                if isinstance(operation, Append | Replace):
                    place = (operation.key, operation.value)
                    assert place not in self.writers, f"value {place} is written twice"
                    self.writers[place] = (transaction, last[operation.key] == operation.value)
                elif isinstance(operation, Add):
                    self.adders[operation.key, operation.value] = transaction

    def run(self) -> list[Found]:
        ended = [t for t in self.history.values() if t.outcome is Outcome.COMMITTED]
        for transaction in self.history.values():
            self.own_writes(transaction)
        self.seen = {t.number for t in ended}
        for transaction in ended:
            self.note_seen(transaction)
        orders = self.orders(ended)
        for key, order in orders.items():
            for before, after in zip(order, order[1:], strict=False):
                self.edge(
                    "ww", self.writer(key, before), self.writer(key, after), f"{key}: {before}, {after}"
                )
        self.replaced(ended)
        for transaction in ended:
            self.reads(transaction, orders)
        self.groups(ended)
        self.lost(ended, orders)
        self.circles()
        return self.found

    def tell(self, anomaly: Anomaly, why: str, *transactions: Transaction | None) -> None:
        self.found.append(Found(anomaly, why, tuple(t for t in transactions if t is not None)))

    def writer(self, key: int, value: int) -> Transaction | None:
        found = self.writers.get((key, value))
        return found[0] if found else None

    def edge(self, kind: str, source: Transaction | None, target: Transaction | None, why: str) -> None:
        if source is not None and target is not None:
            self.graph.add(kind, source.number, target.number, why)

    def own_writes(self, transaction: Transaction) -> None:
        """What a transaction has written it reads, whatever becomes of it."""
        own: dict[int, list[int]] = {}
        groups: dict[int, set[int]] = {}
        for operation in transaction.operations:
            match operation:
                case Append(key, value) | Replace(key, _, value):
                    own.setdefault(key, []).append(value)
                case Add(key, value):
                    groups.setdefault(key, set()).add(value)
                case Read(key, values) if key in own:
                    if list(values[-len(own[key]) :]) != own[key]:
                        self.tell(Anomaly.INTERNAL, f"list {key}", transaction)
                case ReadGroup(key, values) if not groups.get(key, set()) <= values:
                    self.tell(Anomaly.INTERNAL, f"group {key}", transaction)

    def note_seen(self, transaction: Transaction) -> None:
        """Values that were read: their writers have committed, known to them or not."""
        for operation in transaction.operations:
            if isinstance(operation, Read | ReadGroup):
                in_group = isinstance(operation, ReadGroup)
                for value in operation.values:
                    place = (operation.key, value)
                    writer = self.adders.get(place) if in_group else self.writer(*place)
                    if writer is None:
                        self.tell(Anomaly.INCOMPATIBLE, f"{operation.key}: nobody wrote {value}", transaction)
                    elif writer.outcome is Outcome.ABORTED:
                        self.tell(Anomaly.G1A, f"{operation.key}: {value}", transaction, writer)
                    else:
                        self.seen.add(writer.number)

    def orders(self, ended: list[Transaction]) -> dict[int, tuple[int, ...]]:
        """The longest version of each list. All others must be beginnings of it."""
        longest: dict[int, tuple[int, ...]] = {}
        for transaction in ended:
            for operation in transaction.operations:
                if isinstance(operation, Read) and len(operation.values) > len(
                    longest.get(operation.key, ())
                ):
                    longest[operation.key] = operation.values
        for transaction in ended:
            for operation in transaction.operations:
                if isinstance(operation, Read):
                    order = longest.get(operation.key, ())
                    if order[: len(operation.values)] != operation.values:
                        self.tell(
                            Anomaly.INCOMPATIBLE, f"{operation.key}: {operation.values}, {order}", transaction
                        )
        for key, order in longest.items():
            if len(set(order)) != len(order):
                self.tell(Anomaly.INCOMPATIBLE, f"{key} has a value twice: {order}")
        return longest

    def replaced(self, ended: list[Transaction]) -> None:
        """Two that have written on the same version: what one of them wrote is lost."""
        bases: dict[tuple[int, tuple[int, ...]], list[Transaction]] = collections.defaultdict(list)
        for transaction in ended:
            own: set[int] = set()
            for operation in transaction.operations:
                if isinstance(operation, Replace):
                    if operation.key not in own:
                        bases[operation.key, operation.before].append(transaction)
                    own.add(operation.key)
        for (key, before), writers in bases.items():
            if len(writers) > 1:
                self.tell(Anomaly.LOST_UPDATE, f"{key} after {before}", *writers)

    def reads(self, transaction: Transaction, orders: dict[int, tuple[int, ...]]) -> None:
        own: set[int] = set()
        for operation in transaction.operations:
            if isinstance(operation, Append | Replace):
                own.add(operation.key)
            if not isinstance(operation, Read):
                continue
            key, values = operation.key, operation.values
            order = orders.get(key, ())
            if order[: len(values)] != values:
                continue
            # Its own values are no dependency; what they follow is.
            foreign = len(values)
            while foreign and self.writer(key, values[foreign - 1]) is transaction:
                foreign -= 1
            if foreign:
                value = values[foreign - 1]
                writer, is_last = self.writers.get((key, value), (None, True))
                self.edge("wr", writer, transaction, f"{key}: {value}")
                if not is_last and foreign == len(values):
                    self.tell(Anomaly.G1B, f"{key}: {value}", transaction, writer)
            following = len(values)
            while following < len(order) and self.writer(key, order[following]) is transaction:
                following += 1
            if following < len(order) and following == len(values):
                writer = self.writer(key, order[following])
                self.edge("rw", transaction, writer, f"{key}: {values[-1:]}, {order[following]}")

    def groups(self, ended: list[Transaction]) -> None:
        added: dict[int, dict[int, Transaction]] = collections.defaultdict(dict)
        for (key, value), transaction in self.adders.items():
            if transaction.number in self.seen:
                added[key][value] = transaction
        for transaction in ended:
            for operation in transaction.operations:
                if isinstance(operation, ReadGroup):
                    for value, writer in added[operation.key].items():
                        if value in operation.values:
                            self.edge("wr", writer, transaction, f"group {operation.key} has {value}")
                        else:
                            self.edge("rwp", transaction, writer, f"group {operation.key} lacks {value}")

    def lost(self, ended: list[Transaction], orders: dict[int, tuple[int, ...]]) -> None:
        """Committed values that are in no list: the last read of each list is the history's end."""
        final = {key: set(order) for key, order in orders.items()}
        for transaction in ended:
            for operation in transaction.operations:
                if isinstance(operation, Append) and operation.value not in final.get(operation.key, set()):
                    self.tell(Anomaly.LOST_WRITE, f"{operation.key}: {operation.value}", transaction)

    def circles(self) -> None:
        self.circles_of(_WW, Anomaly.G0, lambda _: True)
        self.circles_of(_W, Anomaly.G1C, lambda kinds: "wr" in kinds)
        for part in self.graph.components(_ITEM):
            self.anti_dependencies(part)
        for part in self.graph.components(_ALL):
            self.phantoms(part)

    def circles_of(self, kinds: frozenset[str], anomaly: Anomaly, wanted) -> None:
        for part in self.graph.components(kinds):
            nodes = self.circle(part, kinds)
            if nodes and (kinds == _WW or not self.is_all(nodes, _WW)):
                self.tell_circle(anomaly, nodes)

    def circle(self, part: set[int], kinds: frozenset[str]) -> list[int] | None:
        for node in sorted(part):
            for target in self.graph.successors(node, kinds):
                if target in part:
                    back = self.graph.path(target, node, kinds, part)
                    if back:
                        return [node, *back]
        return None

    def is_all(self, nodes: list[int], kinds: frozenset[str]) -> bool:
        steps = zip(nodes, nodes[1:], strict=False)
        return all(kinds & self.graph.edges[source][target].keys() for source, target in steps)

    def anti_dependencies(self, part: set[int]) -> None:
        """Circles with one rw, with several that are apart, and with any."""
        told = set()
        for source in sorted(part):
            for target, own in self.graph.edges.get(source, {}).items():
                if target not in part or "rw" not in own:
                    continue
                if Anomaly.G_SINGLE not in told:
                    back = self.graph.path(target, source, _W, part)
                    if back:
                        told.add(Anomaly.G_SINGLE)
                        self.tell_circle(Anomaly.G_SINGLE, [source, *back])
                if not told & {Anomaly.G_SINGLE, Anomaly.G_SI}:
                    back = self.graph.path(target, source, _W, part, frozenset({"rw"}))
                    if back:
                        told.add(Anomaly.G_SI)
                        self.tell_circle(Anomaly.G_SI, [source, *back])
                if not told:
                    back = self.graph.path(target, source, _ITEM, part)
                    if back:
                        told.add(Anomaly.G2_ITEM)
                        self.tell_circle(Anomaly.G2_ITEM, [source, *back])

    def phantoms(self, part: set[int]) -> None:
        told = set()
        for source in sorted(part):
            for target, own in self.graph.edges.get(source, {}).items():
                if target not in part or "rwp" not in own:
                    continue
                for anomaly, kinds in ((Anomaly.G_SINGLE_PREDICATE, _W), (Anomaly.G2, _ALL)):
                    back = None if anomaly in told else self.graph.path(target, source, kinds, part)
                    if back:
                        told |= {anomaly, Anomaly.G2}
                        self.tell_circle(anomaly, [source, *back])

    def tell_circle(self, anomaly: Anomaly, nodes: list[int]) -> None:
        self.tell(anomaly, self.graph.told(nodes), *(self.history[number] for number in nodes[:-1]))
