import { json } from '@codemirror/lang-json'
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { tags } from '@lezer/highlight'

const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.propertyName, tags.keyword], color: 'var(--accent-ink)' },
    { tag: tags.string, color: 'var(--good-ink)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--note-ink)' },
    { tag: [tags.separator, tags.squareBracket, tags.brace, tags.comment], color: 'var(--muted)' },
  ]),
)

const regoKeywords = /^(package|import|as|default|if|else|contains|some|every|in|not|with|true|false|null)\b/

/** The comments, texts, numbers and keywords of Rego. A raw text can have many lines. */
const rego = StreamLanguage.define<{ isRaw: boolean }>({
  startState: () => ({ isRaw: false }),
  token(stream, state) {
    if (state.isRaw || stream.eat('`')) {
      state.isRaw = !stream.skipTo('`')
      if (state.isRaw) stream.skipToEnd()
      else stream.next()
      return 'string'
    }
    if (stream.match(/^#.*/)) return 'comment'
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return 'string'
    if (stream.match(/^\d[\d.]*/)) return 'number'
    if (stream.match(regoKeywords)) return 'keyword'
    if (!stream.match(/^[\w]+/)) stream.next()
    return null
  },
})

export const languages = { json: [json(), colours], rego: [rego, colours] }
