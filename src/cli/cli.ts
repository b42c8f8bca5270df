import { answer } from './answer.ts'

// A pager or `head` can close stdout early.
process.stdout.on('error', () => process.exit(1))

const { code, out, err } = await answer(process.argv.slice(2), { say: (line) => console.error(line) })
if (err !== '') console.error(err)
// Exit only when everything is written: a pipe can be slow.
process.stdout.write(out === '' ? '' : `${out}\n`, () => process.exit(code))
