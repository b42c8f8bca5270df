import { execFile } from 'node:child_process'

/** The problems are those of severity high or critical; `unavailable` says why there is no answer. */
export type Advisories = { problems: string[]; others: number } | { unavailable: string }

interface Vulnerability {
  name: string
  severity: string
  via: (string | { title: string; url: string })[]
}

interface Versions {
  current: string
  /** the newest in the range of package.json */
  wanted: string
  latest: string
}

interface Failure {
  statusCode?: number
  error?: { code?: string }
}

/** What the registry's advisories say about the packages of package-lock.json in the current folder, by `npm audit`. */
export async function readAdvisories(): Promise<Advisories> {
  const answer = await npmJson<Failure & { vulnerabilities?: Record<string, Vulnerability> }>('audit')
  if (!answer.vulnerabilities)
    return { unavailable: `${answer.statusCode ?? answer.error?.code ?? 'no answer'}` }
  const found = Object.values(answer.vulnerabilities)
  const severe = found.filter(({ severity }) => severity === 'high' || severity === 'critical')
  return { problems: severe.map(describe), others: found.length - severe.length }
}

function describe({ name, severity, via }: Vulnerability): string {
  const causes = via.map((cause) =>
    typeof cause === 'string' ? `by ${cause}` : `${cause.title} ${cause.url}`,
  )
  return `${name}, ${severity}: ${causes.join('; ')}`
}

/** Direct dependencies below their newest version, a line each, by `npm outdated`; undefined without an answer. */
export async function readOutdated(): Promise<string[] | undefined> {
  const answer = await npmJson<Failure | Record<string, Versions>>('outdated')
  if (isFailure(answer)) return undefined
  return Object.entries(answer).map(([name, { current, wanted, latest }]) => {
    const inRange = wanted === current ? '' : `, in its range ${wanted}`
    return `${name} ${current}${inRange}, latest ${latest}`
  })
}

const isFailure = (answer: object): answer is Failure => 'error' in answer

// npm exits with 1 both when it found something and when it failed: what it prints tells them apart.
function npmJson<Answer>(command: string): Promise<Answer> {
  const options = { maxBuffer: 64 * 1024 * 1024, shell: process.platform === 'win32' }
  return new Promise((resolve) => {
    execFile('npm', [command, '--json'], options, (error, stdout) => {
      try {
        resolve(JSON.parse(stdout || '{}'))
      } catch {
        resolve({ error: { code: error?.message ?? 'no JSON' } } as Answer)
      }
    })
  })
}
