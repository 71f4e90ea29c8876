"""The model of a message: measurements, the terms fitted to them, profiles. `src/model/` evaluates it."""
