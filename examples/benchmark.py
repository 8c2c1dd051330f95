"""Benchmark your own documents with three retrievers, and plot the result."""

import sys

import matplotlib as mpl

import abcdlink

mpl.use("Agg")  # draws into a file, without a screen

corpus = abcdlink.read_corpus(sys.argv[1])  # a folder that `abcdlink import` wrote
table = abcdlink.benchmark(corpus, ["bm25", "bm25-stemmed", "jaccard"], cutoffs=[1, 3, 5])
print(table[["approach", "precision", "recall", "f1", "all_sources_f1"]].round(3).to_string(index=False))

axes = table.pivot_table("f1", index="cutoff", columns="retriever").plot(marker="o", ylabel="F1", xlabel="k")
axes.figure.savefig("benchmark.png")
