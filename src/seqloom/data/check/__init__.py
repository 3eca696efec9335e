"""What is wrong with a corpus, found before an hour is spent on it."""

from seqloom.data.check.check import check
from seqloom.data.check.render import render
from seqloom.data.check.report import Finding, Lengths, Place, Report, Statistics

__all__ = ["Finding", "Lengths", "Place", "Report", "Statistics", "check", "render"]
