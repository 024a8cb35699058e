"""Functions of the model: each is compiled once for each set of argument types.

`table` has the functions that are compiled so far, `call` compiles a call of one, `body` the function itself. A call binds its
arguments (`binding`), gives its caller back what it changes of them (`changes`), and may give tensors up (`given_up`).
`signatures` says which arguments share a function, `carried` what functions take and give beside their parameters, `newness`
whether what a function gives is new, `shown_elements` whether it may be an element of a tensor, `limited` has functions with
`yield` that have no end, and `results` what the model itself gives. Exceptions that the model catches: `exceptions` rewrites
functions that raise or catch them, with `raising_calls` for calls inside of expressions and `managers` for `with`, and
`outcomes` has the calls of such functions.
"""
