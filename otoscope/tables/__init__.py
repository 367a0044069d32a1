"""Tables that people bring: files of rows, and the columns in them that are well known."""
