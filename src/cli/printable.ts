// Tenants choose their names freely, and a terminal acts on some characters in them: control characters (C1 included),
// line separators, and characters that change the direction of text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** One line of text, with a space in place of each character that a terminal acts on. */
const printable = (text: string): string => text.replace(unsafe, ' ')

/** The same for several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** A value as JSON that is safe to show; it parses to the same value. */
export const printableJson = (value: object): string =>
  JSON.stringify(value).replace(
    unsafe,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Rows as text in columns below their headings, safe to show. */
export function inColumns(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell ?? ''))))
  const widths = headings.map((_heading, column) => Math.max(...cells.map((row) => row[column]!.length)))
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}
