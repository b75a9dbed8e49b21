-- Words pinned to a place in a diff, on either forge: one row per comment, where it was said and where that stands now.
-- key: event_key
-- not null: path
-- kept by, where shared: parent_key

WITH pinned AS (
    SELECT
        *, CAST(NULL AS DOUBLE) AS image_x, CAST(NULL AS DOUBLE) AS image_y, CAST(NULL AS DOUBLE) AS image_width,
        CAST(NULL AS DOUBLE) AS image_height
    FROM staging.github_diff_notes
    UNION ALL SELECT * FROM staging.gitlab_diff_notes
)

SELECT
    said.event_key,
    said.thread_id,                                       -- replies share their opener's thread
    said.source,
    said.scope_name,
    said.parent_key,
    said.parent_number,
    said.author,
    said.body,
    pinned.path,                                          -- the file that was commented on
    pinned.old_path,                                      -- its name before, where the service tells
    pinned.old_path IS NOT NULL AND pinned.old_path <> pinned.path AS is_renamed, -- the file has another name now
    pinned.new_line,                                      -- null on a removed line
    pinned.old_line,                                      -- null on an added line
    pinned.line,                                          -- as the reviewer saw it; null on a whole-file or image note
    pinned.start_line,                                    -- of a range; else the same line
    pinned.current_line,                                  -- after later pushes; null when outdated
    pinned.current_start_line,                            -- of a range, after later pushes
    pinned.side,                                          -- LEFT: what was there before; RIGHT: what is there now
    pinned.position_type,                                 -- line, file, text, image
    pinned.image_x,                                       -- the point on a picture, in its pixels from the left; else null
    pinned.image_y,                                       -- from its top
    pinned.image_width,                                   -- of the picture, as the reviewer saw it
    pinned.image_height,                                  -- likewise
    pinned.base_sha,                                      -- where the branch left; null where the service does not tell
    pinned.start_sha,                                     -- the version compared with; null where the service does not tell
    pinned.head_sha,                                      -- the commit the reviewer was reading
    pinned.current_sha,                                   -- the newest commit that it was placed in
    pinned.is_outdated,                                   -- pushed to since, so that its line is another or gone
    resolution.is_resolved,
    resolution.resolved_by,                               -- who resolved its thread
    coalesce(                                             -- a longer fence is for words with fences in them
        nullif(regexp_extract(chr(10) || said.body, '\n[ \t]*?````+suggestion[^\n]*?\n((?:[^\n]*\n)*?)[ \t]*````', 1), ''),
        nullif(regexp_extract(chr(10) || said.body, '\n[ \t]*?```suggestion[^\n]*?\n((?:[^\n]*\n)*?)[ \t]*```', 1), '')
    ) AS suggestion,                                      -- the first; what is quoted is another's
    pinned.diff_hunk,                                     -- the diff around it, as far as it is known
    said.url,
    said.created_at
FROM feedback.comments AS said
INNER JOIN pinned ON pinned.event_key = said.event_key
LEFT JOIN staging.resolutions AS resolution ON resolution.thread_id = said.thread_id
