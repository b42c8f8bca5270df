import type { Setting } from '../../settings/forms.ts'
import { settingGroups } from '../../settings/settings.ts'
import { defineCommand } from '../command.ts'

export const settings = defineCommand({
  name: 'settings',
  about: 'Print all settings in groups: name, default, meaning',
  options: {},
  example: '',
  run: async () => ({ data: { settings: settingRows() }, text: settingsTable() }),
})

/** Every setting: name, group, default and meaning. */
const settingRows = () =>
  Object.entries(settingGroups as Record<string, Record<string, Setting<unknown>>>).flatMap(
    ([group, members]) =>
      Object.entries(members).map(([name, { fallback, about, shown }]) => ({
        name,
        group,
        default: shown ?? printed(fallback),
        about,
      })),
  )

/** The settings as a Markdown table for each group, for docs/reference/settings.md. */
export function settingsTable(): string {
  const tables = Map.groupBy(settingRows(), ({ group }) => group)
  return [...tables]
    .map(([group, rows]) =>
      [
        `## ${group}\n`,
        '| Setting | Default | Meaning |',
        '|---|---|---|',
        ...rows.map((row) => `| \`${row.name}\` | ${row.default} | ${row.about} |`),
      ].join('\n'),
    )
    .join('\n\n')
}

const printed = (value: unknown) => (value === undefined ? 'unset' : `\`${value}\``)
