type Kind = 'name' | 'string' | 'number' | 'word' | 'mark'

export interface Token {
  kind: Kind
  from: number
  to: number
  /** Of the value; for a name, of the member that it names. */
  pointer: string
}

/** An object or list that is open at the end of the text. */
export interface Frame {
  kind: '{' | '['
  from: number
  pointer: string
  expects: 'name' | 'colon' | 'value' | 'comma'
  /** The present member. */
  name: string
  index: number
}

interface Range {
  from: number
  to: number
}

export interface JsonText {
  tokens: Token[]
  /** Where each value stands, by its JSON Pointer (RFC 6901). */
  places: ReadonlyMap<string, Range>
  /** The first part that is not JSON. */
  fault: Range | null
  open: Frame[]
}

const form = /\s+|"(?:[^"\\\n]|\\[^\n])*"?|-?\d[\w.+-]*|\w+|[\s\S]/gy
const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** Reads a text of JSON that may be unfinished or faulty, as one in an editor is. */
export function readJson(text: string): JsonText {
  const reader = new Reader(text)
  for (const { 0: part, index } of text.matchAll(form)) if (part.trim() !== '') reader.take(part, index)
  return reader.finish()
}

class Reader {
  tokens: Token[] = []
  places = new Map<string, Range>()
  fault: Range | null = null
  open: Frame[] = []
  isDone = false
  text: string

  constructor(text: string) {
    this.text = text
  }

  take(part: string, from: number): void {
    const range = { from, to: from + part.length }
    const [first = ''] = part
    if ('{['.includes(first)) this.begin(first as '{', range)
    else if ('}]'.includes(first)) this.end(first, range)
    else if (first === ',' || first === ':') this.separate(first, range)
    else if (first === '"') this.string(part, range)
    else this.scalar(part, range)
  }

  finish(): JsonText {
    const { tokens, places, open, text } = this
    const end = { from: Math.max(text.trimEnd().length - 1, 0), to: text.trimEnd().length }
    return { tokens, places, open, fault: this.fault ?? (this.isDone ? null : end) }
  }

  private top = () => this.open.at(-1)
  private expectsValue = () => (this.top() ? this.top()!.expects === 'value' : !this.isDone)
  private refuse(range: Range): void {
    this.fault ??= range
  }

  private pointer(): string {
    const top = this.top()
    return top ? `${top.pointer}/${top.kind === '[' ? top.index : escaped(top.name)}` : ''
  }

  private token(kind: Kind, range: Range): void {
    this.tokens.push({ kind, ...range, pointer: this.pointer() })
  }

  /** After a value. */
  private leave(): void {
    const top = this.top()
    if (top) top.expects = 'comma'
    else this.isDone = true
  }

  private begin(kind: '{' | '[', range: Range): void {
    if (!this.expectsValue()) this.refuse(range)
    this.token('mark', range)
    const expects = kind === '{' ? 'name' : 'value'
    this.open.push({ kind, from: range.from, pointer: this.pointer(), expects, name: '', index: 0 })
  }

  private end(mark: string, range: Range): void {
    const top = this.top()
    const isEmpty = top && this.tokens.at(-1)?.from === top.from
    if (top?.kind !== (mark === '}' ? '{' : '[') || !(top.expects === 'comma' || isEmpty)) this.refuse(range)
    if (top) this.open.pop()
    if (top) this.places.set(top.pointer, { from: top.from, to: range.to })
    this.token('mark', range)
    this.leave()
  }

  private separate(mark: ',' | ':', range: Range): void {
    const top = this.top()
    if (top?.expects !== (mark === ',' ? 'comma' : 'colon')) this.refuse(range)
    this.token('mark', range)
    if (!top) return
    if (mark === ',') top.index++
    top.expects = mark === ',' && top.kind === '{' ? 'name' : 'value'
  }

  private string(part: string, range: Range): void {
    const top = this.top()
    const isClosed = part.length > 1 && part.endsWith('"')
    if (!isClosed) this.refuse(range)
    if (top?.expects !== 'name') {
      this.value('string', range)
      return
    }
    top.name = isClosed ? parsed(part) : part.slice(1)
    top.expects = 'colon'
    this.token('name', range)
  }

  private scalar(part: string, range: Range): void {
    const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(part)
    if (!isNumber && !['true', 'false', 'null'].includes(part)) this.refuse(range)
    this.value(isNumber ? 'number' : 'word', range)
  }

  private value(kind: Kind, range: Range): void {
    if (!this.expectsValue()) this.refuse(range)
    this.token(kind, range)
    this.places.set(this.pointer(), range)
    this.leave()
  }
}

function parsed(part: string): string {
  try {
    return JSON.parse(part)
  } catch {
    return part.slice(1, -1)
  }
}

/** Where the value of a pointer stands, or the nearest value around it. */
export function placeOf({ places }: JsonText, pointer: string): Range {
  for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
    const place = places.get(at)
    if (place) return place
    if (at === '') return { from: 0, to: 0 }
  }
}
