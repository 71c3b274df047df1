"""Reports: files and tables of reports into evidence, evidence into files."""
