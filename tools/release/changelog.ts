/** A section of CHANGELOG.md (https://keepachangelog.com). */
export interface Section {
  /** `Unreleased` for the first one */
  version: string
  date: string | undefined
  /** in full; written when the next change is, because a commit cannot name itself */
  commit: string | undefined
  text: string
}

/** The sections of a changelog, the newest first. Their headings are `## [1.2.3] - 2026-12-01, commit <40 digits>`. */
export function sectionsOf(changelog: string): Section[] {
  const parts = changelog.split(/^## /m).slice(1)
  return parts.map((part) => {
    const [heading = '', ...lines] = part.split('\n')
    const [, version = heading, date, commit] =
      /^\[([^\]]+)\](?: - (\d{4}-\d\d-\d\d)(?:, commit ([0-9a-f]{40}))?)?$/.exec(heading) ?? []
    return { version, date, commit, text: lines.join('\n').trim() }
  })
}

/** What a release brings. What to do before an upgrade comes first. */
export function notesOf({ text }: Section): string {
  const parts = text.split(/^(?=### )/m).map((part) => part.trim())
  const isFirst = (part: string) => part.startsWith('### Before you upgrade')
  return [...parts.filter(isFirst), ...parts.filter((part) => !isFirst(part))].join('\n\n')
}
