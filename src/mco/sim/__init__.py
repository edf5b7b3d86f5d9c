"""Simulated nodes: the decisions and words of the daemon on machines that are only numbers, thousands in a
process, against a server in real time or against the planner in virtual time."""
