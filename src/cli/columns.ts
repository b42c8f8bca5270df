import { printable } from './printable.ts'

/** Rows as text in columns below their headings; what a terminal would obey is taken out. */
export function inColumns(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell ?? ''))))
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
