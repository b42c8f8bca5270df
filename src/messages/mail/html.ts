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

function escaped(value: string | Html | Html[]): string {
  if (value instanceof Html) return value.source
  if (Array.isArray(value)) return value.map((part) => part.source).join('')
  return value.replace(/[&<>"']/g, (character) => entities[character]!)
}

/** A template tag that escapes every value, except values that it made itself. */
export const html = (parts: TemplateStringsArray, ...values: (string | Html | Html[])[]): Html =>
  new Html(String.raw({ raw: parts }, ...values.map(escaped)))
