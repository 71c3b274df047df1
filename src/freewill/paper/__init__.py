"""The paper's figures and tables as data, one runner, one plotter, and the report."""
