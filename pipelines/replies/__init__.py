"""Answers: kept, sent, heard."""
