import { type Html, html } from '../../text/html.ts'
import { oneLine } from './free-text.ts'

/** The content of a mail. */
export interface Letter {
  subject: string
  text: string
  html: string
}

type Paragraph = string | { link: string } | { code: string }

/** Writes a mail as text and as HTML. A link or a code stands on a line of its own in both. */
export function letter(subject: string, paragraphs: Paragraph[]): Letter {
  const text = paragraphs.map(textOf).join('\n\n')
  return { subject, text: `${text}\n`, html: page(subject, paragraphs.map(htmlOf)).source }
}

function textOf(paragraph: Paragraph): string {
  if (typeof paragraph === 'string') return oneLine(paragraph)
  return 'link' in paragraph ? paragraph.link : paragraph.code
}

function htmlOf(paragraph: Paragraph): Html {
  if (typeof paragraph === 'string') return html`<p>${oneLine(paragraph)}</p>\n`
  if ('code' in paragraph)
    return html`<p style="font-size:1.6em;letter-spacing:.2em">\n${paragraph.code}\n</p>\n`
  return html`<p>\n<a href="${paragraph.link}">${paragraph.link}</a>\n</p>\n`
}

const page = (subject: string, paragraphs: Html[]) => html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body style="font:16px/1.5 system-ui,sans-serif;color:#222;max-width:36em;margin:2em auto;padding:0 1em">
${paragraphs}</body>
</html>
`
