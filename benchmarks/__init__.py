"""Commands that measure speed and accuracy and print or write a table."""
