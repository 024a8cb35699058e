"""Models as PyTorch users write them, who have not read LANGUAGE.md: no annotations for the compiler, PyTorch's own modules and
operators, dictionaries, strings, classes of their own. The suite in `test_zoo.py` says how many of them compile unchanged.

Each file holds the models of one family in the style of well-known repositories and papers, which are named in the docstring
of each model. A model is a module for one instance; beside it stands how instances of it are drawn.
"""
