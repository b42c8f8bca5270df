import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'

const root = join(import.meta.dirname, '..', '..')
const entry = join(root, 'src', 'start', 'entry.cjs')

const run = (...args: string[]) =>
  new Promise<{ code: unknown; out: string; said: string }>((done) => {
    execFile(process.execPath, [entry, ...args], { env: bareEnv, cwd: root }, (error, out, said) =>
      done({ code: error?.code ?? 0, out, said }),
    )
  })

const wrong: [args: string[], why: string][] = [
  [['start', '--no-dmo'], 'Unknown option --no-dmo. Did you mean --no-demo?'],
  [['api', '--port', '3000'], 'Unknown option --port.'],
  [['worker', 'emial'], 'Did you mean email?'],
  [['tour', '--ulr=x'], 'Unknown option --ulr. Did you mean --url?'],
  [['policies', '--wach'], 'Unknown option --wach. Did you mean --watch?'],
  [['policies', 'nwe', 'rule'], 'Give --watch, or new and one name.'],
  [['build', '--wach'], 'Unknown option --wach.'],
  [['console', '--chek'], 'Unknown option --chek. Did you mean --check?'],
  [['bench', '--onyl', 'start'], 'Unknown option --onyl. Did you mean --only?'],
  [['bench', '--only', 'request'], 'Did you mean requests?'],
  [['bench', '--rounds', 'many'], '--rounds must be a whole number from 1 to 10000.'],
  [['chaos', '--minutes', '1h'], '--minutes must be a whole number'],
  [['chaos', '--only', 'everything'], 'No fault is called everything.'],
  [['test', '--job', '2'], 'Unknown option --job. Did you mean --jobs?'],
  [['adversary', '--quik'], 'Unknown option --quik. Did you mean --quick?'],
  [['adversary', '--only', 'race'], 'Did you mean races?'],
  [['client', '--out', 'x'], 'Unknown option --out.'],
  [['dependencies:check', '--fix'], 'Unknown option --fix.'],
  [['sbom', '--uot', 'x'], 'Unknown option --uot. Did you mean --out?'],
  [['release', '--check', 'x'], 'Unknown option --check. Did you mean --checked?'],
]

t.test(
  'each npm script refuses arguments that it does not take, names the nearest, and exits 2',
  async (t) => {
    for (const [args, why] of wrong) {
      const { code, out, said } = await run(...args)
      t.equal(code, 2, `${args.join(' ')}: ${said}`)
      t.equal(out, '', args.join(' '))
      t.match(said, why, args.join(' '))
      t.match(said, `\n  npm run ${args[0]} -- --help\n`, args.join(' '))
    }
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const names = Object.values<string>(scripts).flatMap(
      (line) => /src\/start\/entry\.cjs (\S+)/.exec(line)?.[1] ?? [],
    )
    t.same([...new Set([...wrong.map(([[name]]) => name), 'cli'])].toSorted(), [...new Set(names)].toSorted())
  },
)
