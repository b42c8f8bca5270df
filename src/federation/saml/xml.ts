import { DOMParser } from '@xmldom/xmldom'
import { quoted, refuse } from './refusal.ts'

/** The part of the DOM that is read here. */
export interface XmlElement {
  readonly nodeType: number
  readonly localName: string
  readonly namespaceURI: string | null
  readonly parentNode: XmlElement | null
  readonly childNodes: ArrayLike<XmlElement>
  readonly attributes: ArrayLike<{ localName: string; name: string; value: string }>
  readonly textContent: string
  hasAttribute(name: string): boolean
  /** '' without it. */
  getAttribute(name: string): string
}

export interface XmlDocument {
  root: XmlElement
  /** All of them, those nearer to the root first. */
  elements: XmlElement[]
}

export const namespace = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  exclusive: 'http://www.w3.org/2001/10/xml-exc-c14n#',
} as const

const maxTags = 4_000
const maxAttributes = 8_000
const maxDepth = 24
const maxTagLength = 8_192

/**
 * Parses a document of a stranger. Markup in which parsers differ is refused before one sees it: document types with their
 * entities, comments (which split a text in two), CDATA sections and processing instructions; metadata may have comments,
 * because no signature of it counts. Throws `RefusedError`.
 */
export function readXml(text: string, { comments = false } = {}): XmlDocument {
  const body = text.replace(/^\s*<\?xml\s[^<>]*\?>/, '')
  checkMarkup(body, comments)
  checkCharacters(body)
  checkTags(comments ? withoutComments(body) : body)
  const root = parse(body)
  return { root, elements: elementsOf(root) }
}

function checkMarkup(body: string, comments: boolean): void {
  if (!comments && body.includes('<!--'))
    refuse('xml_comment', 'The document contains a comment. Identity providers send none.')
  if (body.includes('<![')) refuse('xml_cdata', 'The document contains a CDATA section.')
  if (/<!(?!--)/.test(body))
    refuse('xml_document_type', 'The document contains a document type (DTD), which could define entities.')
  if (body.includes('<?'))
    refuse('xml_processing_instruction', 'The document contains a processing instruction.')
}

/** https://www.w3.org/TR/xml/#charsets: parsers differ in what they make of other characters, and Postgres stores no NUL. */
function checkCharacters(body: string): void {
  const isCharacter = (code: number) =>
    [0x9, 0xa, 0xd].includes(code) ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    (code >= 0x10000 && code <= 0x10ffff)
  const references = body.matchAll(/&#(?:x([\da-f]+)|(\d+))/gi)
  const codes = [...references].map(([, hex, decimal]) => (hex ? Number.parseInt(hex, 16) : Number(decimal)))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  if (/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(body) || !codes.every(isCharacter))
    refuse('xml_character', 'The document contains a character that XML does not allow.')
}

function withoutComments(body: string): string {
  const [before = '', ...rest] = body.split('<!--')
  const after = rest.map((part) => (part.includes('-->') ? part.slice(part.indexOf('-->') + 3) : '<'))
  return before + after.join('')
}

/** Bounds the work of the parser and of canonicalization, which grows faster than the document. */
function checkTags(body: string): void {
  const tag = /[^<]*<(\/?)[^\s"'<>/][^"'<>]*(?:(?:"[^"<]*"|'[^'<]*')[^"'<>]*)*>/y
  let [depth, tags, end] = [0, 0, 0]
  for (let match = tag.exec(body); match && depth >= 0; match = tag.exec(body)) {
    end = tag.lastIndex
    if (++tags > maxTags) refuse('xml_too_many_tags', `The document has more than ${maxTags} tags.`)
    const [text, slash] = match
    if (text.length - text.indexOf('<') > maxTagLength)
      refuse('xml_malformed', `A tag is longer than ${maxTagLength} characters.`)
    if (slash) depth--
    else if (!text.endsWith('/>')) depth++
    if (depth > maxDepth) refuse('xml_too_deep', `Elements are nested more than ${maxDepth} levels deep.`)
  }
  if ((body.match(/=\s*["']/g)?.length ?? 0) > maxAttributes)
    refuse('xml_too_many_tags', `The document has more than ${maxAttributes} attributes.`)
  if (depth !== 0 || body.slice(end).trim() !== '')
    refuse('xml_malformed', 'The document is not well-formed XML: its tags do not match.')
}

function parse(body: string): XmlElement {
  const refuseMalformed = (message: string) =>
    refuse('xml_malformed', `The document is not well-formed XML: ${quoted(message)}.`)
  const parser = new DOMParser({
    errorHandler: { warning: refuseMalformed, error: refuseMalformed, fatalError: refuseMalformed },
  })
  return (
    parser.parseFromString(body, 'text/xml').documentElement ??
    refuse('xml_malformed', 'The document has no element.')
  )
}

function elementsOf(root: XmlElement): XmlElement[] {
  const found = [root]
  // The loop goes on over what it adds.
  for (const element of found) found.push(...childrenOf(element))
  return found
}

export const childrenOf = ({ childNodes }: XmlElement): XmlElement[] =>
  Array.from(childNodes).filter(({ nodeType }) => nodeType === 1)

export const is = (element: XmlElement, uri: string, name: string): boolean =>
  element.namespaceURI === uri && element.localName === name

export const childrenNamed = (element: XmlElement, uri: string, name: string): XmlElement[] =>
  childrenOf(element).filter((child) => is(child, uri, name))

/** For messages: `Issuer`, or `Include (http://www.w3.org/2001/XInclude)`. */
export const nameOf = ({ localName, namespaceURI }: XmlElement): string =>
  Object.values<string | null>(namespace).includes(namespaceURI)
    ? localName
    : `${localName} (${namespaceURI ?? 'no namespace'})`
