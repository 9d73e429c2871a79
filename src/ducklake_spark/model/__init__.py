"""What a lake is: frozen values without any I/O."""
