"""What keeps books: directories, uploads, steering, title."""
