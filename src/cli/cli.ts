import { answer } from './answer.ts'

// Read by a pager or head that has seen enough.
process.stdout.on('error', () => process.exit(1))

const { code, out, err } = await answer(process.argv.slice(2), { say: (line) => console.error(line) })
if (err !== '') console.error(err)
// Once everything is written: who reads it may be slow.
process.stdout.write(out === '' ? '' : `${out}\n`, () => process.exit(code))
