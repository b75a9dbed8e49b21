"""What GitHub's lists do not show. `suspects`: what does not add up; `again`: how it is read again; `gone`: who is
missing, gone or back; `marks`: what is noted of it.
"""
