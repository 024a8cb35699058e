"""The schedule of a program: its host code with every decision about depths, phases, segments and waits written out.

It comes between the passes and code generation: `lower` makes it from the finished program and the facts of the analyses,
`verifier` checks it, `printer` shows it, and `codegen` prints it as C++ or as bytecode without deciding anything itself.
"""
