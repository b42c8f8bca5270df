import type { Texts } from '../../languages/en.ts'
import type { MailText, Reader } from '../../languages/mail-text.ts'
import type { Brand } from './brand.ts'
import { oneLine } from './free-text.ts'
import { page } from './letter-page.ts'

/** The content of a mail. */
export interface Letter {
  subject: string
  text: string
  html: string
}

/** For whom a mail is written, and in whose name. */
export interface Stationery extends Reader {
  texts: Texts
  brand: Brand
}

export interface Content extends MailText {
  /** Whom the mail greets; empty greets without a name. */
  firstName?: string | undefined
  /** What the button opens. */
  link?: string | undefined
  code?: string | undefined
  /** What the button opens that undoes what happened. */
  undoLink?: string | undefined
}

/** A part of a mail, in the order of its reader. */
export type Part =
  | { kind: 'paragraph' | 'code'; words: string }
  | { kind: 'quote'; of: string; words: string }
  | { kind: 'facts'; facts: readonly (readonly [string, string])[] }
  | { kind: 'button' | 'undo'; words: string; link: string }

/** Writes a mail as text and as HTML. A link or a code stands on a line of its own in both. */
export function letter(stationery: Stationery, content: Content): Letter {
  const { hello, signed } = stationery.texts.mails.frame
  const { subject, says, firstName = '' } = content
  const parts = [...paragraphs([hello(firstName), ...says]), ...middle(content), ...paragraphs(content.next)]
  const aside = [...paragraphs(content.otherwise), ...button('undo', content.undo, content.undoLink)]
  const links = stationery.brand.links.map(({ to, url }) => `${stationery.texts.pages.brand[to]}: ${url}`)
  const foot = [signed(stationery.service), ...links]
  const text = [...[...parts, ...aside].map(textOf), `-- \n${foot.join('\n')}`].join('\n\n')
  const preview = oneLine(says[0] ?? '')
  return { subject, text: `${text}\n`, html: page(stationery, { subject, preview, parts, aside }).source }
}

const paragraphs = (texts: readonly string[] = []): Part[] =>
  texts.map((words) => ({ kind: 'paragraph', words: oneLine(words) }))

const button = (kind: 'button' | 'undo', words?: string, link?: string): Part[] =>
  words && link ? [{ kind, words, link }] : []

const middle = ({ quote, facts, code, ...content }: Content): Part[] => [
  ...(quote ? [{ kind: 'quote' as const, of: quote.of, words: oneLine(quote.words) }] : []),
  ...(facts
    ? [{ kind: 'facts' as const, facts: facts.map(([name, value]) => [name, oneLine(value)] as const) }]
    : []),
  ...(code ? [{ kind: 'code' as const, words: code }] : []),
  ...button('button', content.button, content.link),
]

function textOf(part: Part): string {
  switch (part.kind) {
    case 'quote':
      return `${part.of}: ${part.words}`
    case 'facts':
      return part.facts.map(([name, value]) => `${name}: ${value}`).join('\n')
    case 'button':
    case 'undo':
      return `${part.words}:\n${part.link}`
    default:
      return part.words
  }
}
