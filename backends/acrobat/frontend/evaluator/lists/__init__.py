"""Lists of the program.

`lists.py` makes and slices them, `lengths.py` measures them, and `mapping.py` computes something of each item.
`broadcasting.py` makes lists of the parts of tensors equally long. `walking.py` says what a loop walks over. `growing.py` has
the types of lists that get one more element, `sizes.py` lists whose number of elements is known. `zipping.py` is `zip`,
`module_parts.py` is for parts of lists of modules.
`iterator_sources.py` says what the source tells of iterators, `kept_iterators.py` whose lists those go through that objects
keep, and `named_iterators.py` keeps one under a name as a list. `sequences_met.py` notes what is no list in Python,
`called_sequences.py` which calls give such. (Their methods are in `changes/` and `builtins/`.)
"""
