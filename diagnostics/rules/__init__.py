"""Symptom rules: what a line of a log means, found in one pass.

`rule` is what a rule says, `anchors` finds the lines, `line` cleans one, `fold` keeps
repeats as one hit with its count, `reading` does all of it over a whole log, `seen` is judged.
"""
