"""What every room needs: types, files, texts, limits, progress."""
