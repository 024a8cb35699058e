"""A partial evaluator of Python's syntax tree: it computes what is known at compile time and stages the rest as core IR.

The evaluator knows no library. The tables in `tables.py` say what each node of the syntax tree, each operation on a kind of
value and each function means; the files of this folder and of `tensors/` enter their handlers there.

The files by subject, in an order in which they can be read. (`pyproject.toml` has the order in which they import each other.)

The function that is compiled. `tables.py` and `services.py`; `frame_state.py`, `covering.py`, `coercion.py`, `components.py`
    and `frame.py`, one class on top of the other; `joined_tuples.py`; `arguments.py` of calls; `syntax.py`, `uses.py` and
    `order.py` about the syntax tree alone; `given.py`, a node for what is compiled already.
What is rewritten before. `desugar.py`, with `aliases.py`, `chosen_walks.py`, `counting.py`, `dict_calls.py`, `indexed.py`,
    `iterators_or_none.py`, `limits.py` and `properties.py`.
Statements. `statements.py`, `assignments.py` and `scope.py`; branches: `conditions.py`, `truths.py`, `narrowing.py`,
    `choice.py`, `arms.py`; `match`: `patterns.py`, `pattern_rows.py`; errors: `failures.py`, `catching.py`,
    `caught_lookups.py`.
Loops. `loops.py`, `loop_variables.py`, `left_loops.py`, `unrolling.py`, `comprehensions.py` and `any_order.py`.
Expressions. `expressions.py`, `operators.py`, `comparisons.py`, `membership.py`, `indexing.py`, `attributes.py`,
    `constants.py`.
Calls. `calls.py`, `callees.py`, `spreading.py`, `keywords.py`; functions that are values: `nested.py`, `function_tables.py`,
    `named.py`, `meanings.py`, `picking.py`, `effects.py`; Python's own: `builtins.py`, `as_written.py`, `copying.py`,
    `markers.py`.
Numbers and strings. `numbers.py`, `mathematics.py`, `sums.py`, `ordering.py`; `strings.py`, `formatting.py`, `regex.py`.
Lists. `lists.py`, `iterables.py`, `list_methods.py`, `list_changes.py`, `growing.py`, `sizes.py`, `sorted_lists.py`,
    `queues.py`.
Iterators. `iterators.py`, `named_iterators.py`, `zipping.py`, `short_zips.py`, `endless.py`, `laziness.py`.
Sets and dictionaries. `containers.py`, `container_methods.py`, `container_classes.py`, `counters.py`, `set_operators.py`,
    `missing_keys.py`; with names as keys: `records.py`, `named_entries.py`.
Objects. `classes.py`, `known_classes.py`, `fields.py`, `construction.py`, `initialisation.py`, `field_values.py`,
    `special_methods.py`, `object_operators.py`, `enumerations.py`; known at compile time: `constant_objects.py`,
    `constant_fields.py`, `constant_graphs.py`; of the instance, written to: `kept.py`; of the model itself: `state.py`.
Values of several types, or of none. `mixed.py`, `mixed_order.py`, `each_type.py`, `nones.py`, `never.py`.
Changes in place. `ownership.py` has the rule; `mutation.py`, `lending.py`, `sharing.py`, `outputs.py`, `referenced.py`,
    `watched.py`, `rearranging.py`, `taken_out.py`; lists that several names refer to: `origins.py`, `shared_lists.py`.
"""
