"""Facts about Azure Batch as data, each table with its source and date, and the code that reads them."""
