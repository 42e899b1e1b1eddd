"""What a row of the report says and how it is bounded."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ratio:
    """ours <= factor x peer; `was` is the target as it was set, where the peer is a floor that shows it out of reach"""

    factor: float
    peer: str
    was: str = ""


@dataclass(frozen=True)
class Scaled:
    """ours <= limit ns on a machine where the peer took `there` ns"""

    limit: float
    peer: str
    there: float


@dataclass(frozen=True)
class Plain:
    """ours <= limit ns on any machine"""

    limit: float


@dataclass(frozen=True)
class Beside:
    """shown beside a peer, without a bound"""

    peer: str


@dataclass(frozen=True)
class Row:
    what: str
    ours: str
    target: Ratio | Scaled | Plain | Beside | None = None


@dataclass(frozen=True)
class Table:
    title: str
    note: str
    rows: list[Row]
    peers: list[tuple[str, str]] = field(default_factory=list)  # what, benchmark
    needs: str = "Google Benchmark"
