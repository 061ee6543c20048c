"""The other ways to run something later on AWS, each small and honest, and duebell beside them."""
