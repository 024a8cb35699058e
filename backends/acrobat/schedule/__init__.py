"""The schedule of a program: its host code with every decision about depths, phases, segments and waits written out.

It stands between the passes and code generation: `lower` makes it from the finished program and what the analyses found of it,
`verifier` checks it, `printer` shows it, and `codegen` prints it as C++ or as bytecode without deciding anything itself.
"""
