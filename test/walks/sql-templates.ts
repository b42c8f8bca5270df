/** A statement as the code writes it: fragments of the same file in their places, and `§` for every value. */
export interface WrittenStatement {
  /** The function, or the constant, that contains it. */
  name: string
  text: string
}

interface Template {
  tag: string
  start: number
  end: number
  /** The texts between the holes, and the code of each hole. */
  texts: string[]
  holes: string[]
}

const opening = /\bsql\.(type\([^`]*?\)|unsafe|fragment)`/g
const maxDepth = 6

/**
 * The statements of a file of ours (`sql.type(…)` and `sql.unsafe`), or with `isWanted` its other templates. A hole that names a fragment, or a function that
 * gives one, shows its text; a choice between fragments shows all of them.
 */
export function statementsOf(code: string, isWanted = isStatement): WrittenStatement[] {
  return templatesOf(code)
    .filter(({ tag }) => isWanted(tag))
    .map((template) => ({
      name: nameBefore(code, template.start),
      text: written(template, code, 0).replace(/\s+/g, ' ').trim(),
    }))
}

const isStatement = (tag: string) => tag !== 'fragment'
/** Parts of statements, such as the conditions of a list. */
export const isFragment = (tag: string): boolean => !isStatement(tag)

const declaration = /^(?:export )?(?:async )?(?:const|function) (\w+)/gm

const nameBefore = (code: string, end: number) =>
  [...code.slice(0, end).matchAll(declaration)].at(-1)?.[1] ?? ''

function templatesOf(code: string): Template[] {
  const templates: Template[] = []
  for (const match of code.matchAll(opening)) {
    if (templates.some(({ end }) => match.index < end)) continue // inside a hole of another one
    templates.push(templateAt(code, match))
  }
  return templates
}

function templateAt(code: string, { index, 0: head, 1: tag = '' }: RegExpMatchArray): Template {
  const texts: string[] = []
  const holes: string[] = []
  let at = index! + head.length
  let from = at
  while (code[at] !== '`') {
    if (code.startsWith('${', at)) {
      texts.push(code.slice(from, at))
      const end = endOfHole(code, at + 2)
      holes.push(code.slice(at + 2, end))
      at = from = end + 1
    } else at += code[at] === '\\' ? 2 : 1
  }
  texts.push(code.slice(from, at))
  return { tag, start: index!, end: at + 1, texts, holes }
}

/** The place of the brace that ends a hole, past nested templates and braces. */
function endOfHole(code: string, start: number): number {
  let depth = 0
  for (let at = start; at < code.length; at++) {
    if (code[at] === '`') at = endOfTemplate(code, at + 1)
    else if (code[at] === "'") at = code.indexOf("'", at + 1)
    else if (code[at] === '{') depth++
    else if (code[at] === '}' && depth-- === 0) return at
  }
  throw new Error('A hole of a template has no end')
}

function endOfTemplate(code: string, start: number): number {
  let at = start
  while (code[at] !== '`') {
    if (code.startsWith('${', at)) at = endOfHole(code, at + 2)
    at += code[at] === '\\' ? 2 : 1
  }
  return at
}

const written = ({ texts, holes }: Template, code: string, depth: number): string =>
  texts
    .map((text, index) => text + (index < holes.length ? hole(holes[index]!, code, depth + 1) : ''))
    .join('')

function hole(expression: string, code: string, depth: number): string {
  if (depth > maxDepth) return '§'
  const own = templatesOf(expression)
  if (own.length > 0) return own.map((template) => written(template, code, depth)).join(' ')
  if (/^sql\.unnest/.test(expression)) return 'unnest§'
  const name = /^(\w+)(\(|$)/.exec(expression)?.[1]
  return (name && declared(name, code, depth)) || '§'
}

/** The fragments in the declaration of a name: up to the next line that begins at its indentation. */
function declared(name: string, code: string, depth: number): string {
  const found = new RegExp(`^( *)(?:export )?(?:async )?(?:const|function) ${name}\\b`, 'm').exec(code)
  if (!found) return ''
  const body = code.slice(found.index + found[0].length)
  const end = new RegExp(`\\n {0,${found[1]!.length}}[^\\s)}\\]]`).exec(body)?.index ?? body.length
  return templatesOf(body.slice(0, end))
    .filter(({ tag }) => tag === 'fragment')
    .map((template) => written(template, code, depth))
    .join(' ')
}
