"""A graph: a file of nodes and a file of edges."""

from seqloom.data.graph.graph import Graph, Part
from seqloom.data.graph.looks import looks_like_graph
from seqloom.data.graph.reading import read_graph

__all__ = ["Graph", "Part", "looks_like_graph", "read_graph"]
