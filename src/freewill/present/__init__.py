"""Words, tables, pictures and JSON: how results show themselves."""
