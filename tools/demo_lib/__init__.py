"""The parts of tools/demo: stages (where it runs), measure, tables (pure), story."""
