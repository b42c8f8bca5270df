import type { Setting } from '../../settings/forms.ts'
import { settings as table } from '../../settings/settings.ts'
import { defineCommand } from '../command.ts'

export const settings = defineCommand({
  name: 'settings',
  about: 'Print the table of all settings: name, default, meaning',
  options: {},
  example: '',
  run: async () => ({ data: { settings: settingRows() }, text: settingsTable() }),
})

/** Every setting: name, default and meaning. */
const settingRows = (): { name: string; default: string; about: string }[] =>
  (Object.entries(table) as [string, Setting<unknown>][]).map(([name, { fallback, about, shown }]) => ({
    name,
    default: shown ?? printed(fallback),
    about,
  }))

/** The settings as a Markdown table, for docs/reference/settings.md. */
export function settingsTable(): string {
  const rows = settingRows().map((row) => `| \`${row.name}\` | ${row.default} | ${row.about} |`)
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
}

const printed = (value: unknown) => (value === undefined ? 'unset' : `\`${value}\``)
