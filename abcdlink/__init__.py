"""From nothing to a human-labelled data set of sentence-level links between documents.

The library knows neither Prefect nor Label Studio: documents come in, links go out.
Importing it loads no heavy dependency; these are imported where they are used.
"""

__version__ = "0.1.0"
