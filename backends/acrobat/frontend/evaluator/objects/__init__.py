"""Objects: those of the instance, those that the model makes, and those that are known when it is compiled.

What a class has: `classes.py`, `attributes.py`, `properties.py`. Objects with fields: `fields.py`, `field_values.py` and
`constant_fields.py`. Making them: `construction.py`, `initialisation.py`,
`instantiation.py` and, of dates, `made_dates.py`. Those that are changed while
several names refer to them: `referenced.py`. Known at compile time: `constants.py` for dictionaries, lists and strings,
`constant_objects.py`, `constant_graphs.py` and `enumerations.py`.
"""
