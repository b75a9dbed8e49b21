-- What is written for programs between people's words: one row per slash command, and per marker of our own answers.
-- The SELECT finds the texts that may hold one; `pipelines/models/slash_commands.py` reads them as Markdown.
-- key: event_key, kind, position
-- kept by: parent_key
-- parsed by: marks

SELECT
    said.event_key,
    said.parent_key,
    said.body,
    (SELECT s.command_prefix FROM ops.settings AS s) AS command_prefix
FROM staging.said AS said
WHERE
    NOT said.is_system
    AND (
        strpos(said.body, '<!-- earshot:') > 0
        OR strpos(lower(said.body), lower((SELECT s.command_prefix FROM ops.settings AS s))) > 0
    )
