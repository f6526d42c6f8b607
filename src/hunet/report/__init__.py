"""Results as people read them."""

from hunet.report.tables import print_comparison, print_parameters, print_summary

__all__ = ["print_comparison", "print_parameters", "print_summary"]
