// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal would obey them
const control = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Rows as text in columns below their headings; what a terminal would obey is taken out. */
export function inColumns(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => String(cell ?? '').replace(control, ' ')))
  const widths = headings.map((_heading, column) => Math.max(...cells.map((row) => row[column]!.length)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
