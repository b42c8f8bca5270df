import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
/** The folders that write for people only what the catalogue says. */
const folders = ['src/messages/mail', 'src/pages/sign-in', 'src/pages/links']

/** The end of the template literal or `${}` that begins at `from`, and what it says itself, without its values. */
function read(source: string, from: number, closing: '`' | '}'): { end: number; own: string } {
  let own = ''
  for (let at = from; at < source.length; at++) {
    if (source[at] === closing) return { end: at, own }
    if (source[at] === '\\') at++
    else if (closing === '`' && source.startsWith('${', at)) at = read(source, at + 2, '}').end
    else if (closing === '}' && source[at] === '`') at = read(source, at + 1, '`').end
    else if (closing === '}' && source[at] === '{') at = read(source, at + 1, '}').end
    else own += source[at]
  }
  return { end: source.length, own }
}

/** A template of attributes alone, such as ` id="x" autofocus`. */
const isAttributes = /^\s*[\w-]+="[^"]*"(\s+[\w-]+(="[^"]*")?)*\s*$/

/** The words that a reader sees of the HTML templates of a source: between tags, and in attributes with words. */
function wordsIn(source: string): string[] {
  const templates = [...source.matchAll(/\bhtml`/g)].map(({ index }) => read(source, index + 5, '`').own)
  return templates
    .filter((own) => !isAttributes.test(own))
    .map((own) => own.replace(/<(style|script)\b.*?<\/\1>/gs, ''))
    .flatMap((own) => [
      ...own.replace(/<[^>]*>|&\w+;/g, '\n').split('\n'),
      ...[...own.matchAll(/\b(?:alt|title|placeholder|label|aria-(?:label|description))="([^"]*)"/g)].map(
        ([, words = '']) => words,
      ),
    ])
    .filter((words) => /\p{L}/u.test(words))
}

t.test('templates of mails and sign-in pages contain no words: all are in src/languages', async (t) => {
  const files = folders
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((path) => path.endsWith('.ts'))
  t.ok(files.length > 10)
  const found = files.flatMap((path) => wordsIn(readFileSync(path, 'utf8')))
  t.same(found, [])
})

t.test('the look finds words between tags, in attributes and inside values', async (t) => {
  const source = [
    'html`<p class="x">$',
    '{a ? html`<b title="Tip">$',
    '{b({ c: `no` })}</b>` : say.yes} Hello</p>`',
  ].join('')
  t.same(
    wordsIn(source).map((words) => words.trim()),
    ['Hello', 'Tip'],
  )
})
