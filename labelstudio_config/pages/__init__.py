"""Work for people: one module beside one XML for each kind."""
