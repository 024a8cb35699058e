"""The report: tables, figures and a page made from stored rows."""
