"""A general sentence encoder that matches texts it has never seen: texts, teachers, training, figures."""
