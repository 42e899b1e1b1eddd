"""Checkmate's integer program (Jain et al., "Checkmate: breaking the memory wall with optimal tensor rematerialization",
MLSys 2020), written anew and solved by HiGHS.

Reads a problem as JSON from the standard input: cost, bytes and work of each layer, the layers that it needs, a list of
shares of the peak that there is when no layer runs twice, and seconds for each. Writes a list of schedules, each a list of layers in which some stand several times.
Layers run in stages: stage t computes layer t for the first time. R[t, i]: stage t computes layer i. S[t, i]: the result
of layer i is there when stage t begins. F[t, i, k]: after stage t has run layer k the result of layer i is given up.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array


class Program:
    """The variables and rows of one problem."""

    def __init__(self, problem: dict) -> None:
        self.cost, self.bytes, self.work, self.needs = (problem[k] for k in ("cost", "bytes", "work", "needs"))
        self.n = len(self.cost)
        self.takers: list[list[int]] = [[] for _ in range(self.n)]
        for k, needs in enumerate(self.needs):
            for i in needs:
                self.takers[i].append(k)
        self.number: dict[tuple, int] = {}
        self.rows: list[tuple[dict, float]] = []  # sum <= bound
        self.memory: list[dict] = []  # sum <= capacity
        for t in range(self.n):
            self.stage(t)

    def var(self, *key: object) -> int:
        return self.number.setdefault(key, len(self.number))

    def at_most(self, terms: list[tuple[int, float]], bound: float) -> None:
        row: dict[int, float] = {}
        for variable, factor in terms:
            row[variable] = row.get(variable, 0.0) + factor
        self.rows.append((row, bound))

    def stage(self, t: int) -> None:
        for i in range(t):  # what is there was there, or was computed
            self.at_most([(self.var("S", t, i), 1.0), (self.var("R", t - 1, i), -1.0)] +
                         ([(self.var("S", t - 1, i), -1.0)] if i < t - 1 else []), 0.0)  # fmt: skip
        for k in range(t + 1):
            for i in self.needs[k]:
                self.at_most([(self.var("R", t, k), 1.0), (self.var("R", t, i), -1.0), (self.var("S", t, i), -1.0)], 0.0)
        alive: dict[int, float] = {}
        for i in range(t):
            alive[self.var("S", t, i)] = float(self.bytes[i])
        for k in range(t + 1):
            run = self.var("R", t, k)
            now = dict(alive)
            now[run] = now.get(run, 0.0) + self.bytes[k] + self.work[k]
            self.memory.append(now)
            alive[run] = alive.get(run, 0.0) + self.bytes[k]
            for i in [*self.needs[k], k]:
                if self.bytes[i]:
                    alive[self.free(t, i, k)] = -float(self.bytes[i])

    def free(self, t: int, i: int, k: int) -> int:
        f = self.var("F", t, i, k)
        self.at_most([(f, 1.0), (self.var("R", t, k), -1.0)], 0.0)
        if t + 1 < self.n:
            self.at_most([(f, 1.0), (self.var("S", t + 1, i), 1.0)], 1.0)
        for j in self.takers[i]:
            if k < j <= t:
                self.at_most([(f, 1.0), (self.var("R", t, j), 1.0)], 1.0)
        return f

    def peak(self) -> float:
        """The most bytes that are alive when every layer runs once."""
        alive, most = 0.0, 0.0
        for k in range(self.n):
            alive += self.bytes[k]
            most = max(most, alive + self.work[k])
            alive -= sum(self.bytes[i] for i in {*self.needs[k], k} if max(self.takers[i], default=i) <= k)
        return most

    def solve(self, capacity: float, seconds: float, whole: bool) -> tuple[np.ndarray | None, bool]:
        """An answer, and whether there may be one."""
        count = len(self.number)
        largest = max(self.bytes)
        rows = self.rows + [({v: f / largest for v, f in row.items()}, capacity / largest) for row in self.memory]
        where, which, factors = [], [], []
        for r, (row, _) in enumerate(rows):
            for variable, factor in row.items():
                where.append(r)
                which.append(variable)
                factors.append(factor)
        matrix = coo_array((factors, (where, which)), shape=(len(rows), count)).tocsr()
        objective, low, integral = np.zeros(count), np.zeros(count), np.zeros(count)
        scale = sum(self.cost)
        for key, variable in self.number.items():
            if key[0] == "R":
                objective[variable] = self.cost[key[2]] / scale
                low[variable] = float(key[1] == key[2])
            integral[variable] = float(whole and key[0] != "F")
        bound = LinearConstraint(matrix, -np.inf, np.array([b for _, b in rows]))
        result = milp(objective, integrality=integral, bounds=Bounds(low, np.ones(count)), constraints=[bound],
                      options={"time_limit": seconds, "mip_rel_gap": 1e-3})  # fmt: skip
        told = result.message.split(".")[0] if result.x is None or not whole else f"gap {100 * result.mip_gap:.1f} %"
        print(f"{self.n} layers, {count} variables, {'whole' if whole else 'relaxed'}, capacity {capacity:.0f}: {told}", file=sys.stderr)
        return result.x, result.status != 2

    def schedule(self, x: np.ndarray) -> list[int]:
        """What an answer runs; where S was rounded, everything that it takes to have what is needed."""
        kept = {key[1:] for key, variable in self.number.items() if key[0] == "S" and x[variable] > 0.5}
        out: list[int] = []
        for t in range(self.n):
            run = {t} | {i for (at, i) in kept if at == t + 1 and (t, i) not in kept and i <= t}
            for k in range(t, -1, -1):
                if k in run:
                    run |= {i for i in self.needs[k] if (t, i) not in kept}
            out += sorted(run)
        return out


def main() -> None:
    problem = json.load(sys.stdin)
    program = Program(problem)
    answers = []
    for share in problem["shares"]:
        capacity = share * program.peak()
        x, possible = program.solve(capacity, problem["seconds"], True)
        if not possible:
            break
        found = [x] if x is not None else [program.solve(t * capacity, problem["seconds"], False)[0] for t in (1.0, 0.85)]
        answers += [program.schedule(x) for x in found if x is not None]
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
