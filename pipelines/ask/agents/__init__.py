"""For agents: the reader's questions as tools of the Model Context Protocol. `command` starts it, `server` speaks the
protocol, `questions` are the tools, `tools` what one is, `answers` what an agent is told.
"""
