"""Row by row what samples, phase, experts, mix, bound and trackers do array by array: written to be compiled.

Plain functions over arrays and numbers, without calls to each other; the array forms are the reference.
"""
