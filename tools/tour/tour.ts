import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { optional } from '../../src/cli/options.ts'
import { scriptOptions } from '../../src/cli/script-options.ts'
import { readConfig } from '../../src/settings/config.ts'
import { findRunningUrl } from '../../src/start/development/instance-lock.ts'
import { reportAndExit } from '../../src/start/stop-signal.ts'
import { needsMailbox } from './people.ts'
import { steps } from './steps.ts'
import { createWalk, UnexpectedAnswer } from './walk.ts'

/** Takes a newcomer through the running service: one HTTP call after another, each printed as a line to copy. */
async function main() {
  const given = scriptOptions('tour', {
    url: optional('<url>', 'The service; the one of npm start without it'),
  })
  const url = given.url ?? (await urlOfService())
  await assertAnswers(url)
  const walk = createWalk(url.replace(/\/+$/, ''), console.log)
  console.log(`A tour of ${url} in ${steps.length} steps. Lines after $ can be pasted into a shell.\n`)
  console.log(`$ URL=${walk.url}`)
  for (const [index, step] of steps.entries()) {
    console.log(`\n${styleText('bold', `${index + 1}. ${step.title}`)}\n   ${step.why}`)
    await step.take(walk)
  }
  console.log(
    `\nThe tour is complete: ${steps.length} steps, every answer as expected. More: ${walk.url}/docs`,
  )
}

async function urlOfService(): Promise<string> {
  const { DATA_DIR } = readConfig()
  const url = await findRunningUrl(resolve(DATA_DIR))
  if (url) return url
  throw new Error(
    `No service runs on ${DATA_DIR}. Run npm start in another terminal, or name a service: npm run tour -- --url <url>`,
  )
}

/** Runs before anything is created, so that a tour leaves no people in a production service, which has no mailbox. */
async function assertAnswers(url: string): Promise<void> {
  const ready = await fetch(new URL('/readyz', url)).catch(() => undefined)
  await ready?.body?.cancel()
  if (ready?.status !== 200) throw new Error(`${url} is not ready: ${ready?.status ?? 'no answer'}`)
  const mailbox = await fetch(new URL('/dev/mailbox', url), { headers: { accept: 'application/json' } })
  await mailbox.body?.cancel() // a long body that nothing reads keeps the process alive
  if (mailbox.status !== 200) throw new Error(`${url} has no mailbox. ${needsMailbox}`)
}

// A pager or `head` can close stdout early.
process.stdout.on('error', () => process.exit(1))

main().catch((error) => {
  if (!(error instanceof UnexpectedAnswer)) reportAndExit(error)
  console.error(`\n${error.message}`)
  process.exit(1)
})
