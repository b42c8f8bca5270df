/** HTML source that needs no escaping. */
export class Html {
  readonly source: string

  constructor(source: string) {
    this.source = source
  }
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** What a template takes: text to escape, source that a template made, or nothing. */
export type HtmlValue = string | Html | readonly Html[] | null

function escaped(value: HtmlValue): string {
  if (value === null) return ''
  if (value instanceof Html) return value.source
  if (typeof value !== 'string') return value.map((part) => part.source).join('')
  return value.replace(/[&<>"']/g, (character) => entities[character]!)
}

/** A template tag that escapes every value, except values that it made itself. */
export const html = (parts: TemplateStringsArray, ...values: HtmlValue[]): Html =>
  new Html(String.raw({ raw: parts }, ...values.map(escaped)))
