"""What components say of rows: matches, codes, and the fitted model as a value."""
