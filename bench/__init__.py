"""What a run costs, measured from outside: whole processes against a demo service on a real socket."""
