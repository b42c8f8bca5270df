import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Config } from '../config.ts'
import { removeEmbeddedPostgres } from './embedded-postgres.ts'
import { acquireInstanceLock } from './instance-lock.ts'

/** Removes what development keeps in DATA_DIR, once asked; never while a service runs on it. Gives the exit code. */
export async function reset({
  config,
  yes,
  print,
}: {
  config: Config
  yes: boolean
  print: (line: string) => void
}): Promise<number> {
  if (config.production) throw new Error('reset is for development')
  const dataDir = resolve(config.DATA_DIR)
  if (!yes && !(await confirmed(`Drop everything in ${config.DATA_DIR}/? Type yes: `))) {
    print('Nothing was changed.')
    return 1
  }
  const lock = await acquireInstanceLock(dataDir)
  try {
    await removeEmbeddedPostgres({ dataDir })
    await rm(join(dataDir, 'development-secrets.json'), { force: true })
  } finally {
    await lock.release()
  }
  print(`${config.DATA_DIR}/ is empty. npm start begins anew.`)
  return 0
}

async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new Error('Nobody can be asked here: add --yes.')
  const reader = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await reader.question(question)).trim() === 'yes'
  } finally {
    reader.close()
  }
}
