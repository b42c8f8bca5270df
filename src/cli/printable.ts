// Names are whatever tenants call themselves, and a terminal would obey what is in them: control characters, those of
// C1 included, line separators, and those that turn the direction of text.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const obeyed = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text of one line, in which a space stands for each character that a terminal would obey. */
export const printable = (text: string): string => text.replace(obeyed, ' ')

/** The same of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n')

/** A value as JSON that says the same and can be shown. */
export const printableJson = (value: object): string =>
  JSON.stringify(value).replace(
    obeyed,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
