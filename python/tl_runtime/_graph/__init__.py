"""Graphs and plans: the planner, what it has planned, and compiled code that runs on arrays."""
