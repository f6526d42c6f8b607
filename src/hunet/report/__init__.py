"""Results as people read them."""

from hunet.report.tables import Comparison, print_comparison, print_parameters, print_summary

__all__ = ["Comparison", "print_comparison", "print_parameters", "print_summary"]
