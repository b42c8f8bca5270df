import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../../tools/console/build.ts', import.meta.url))

/**
 * Builds the pages of the console if their sources changed, in a process of its own, so that esbuild takes no memory of the
 * service. Gives a note when that is impossible: the service starts nevertheless.
 */
export function buildConsole(): Promise<string[]> {
  const build = spawn(process.execPath, [script], { stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve) => {
    const end = (built: boolean) =>
      resolve(built ? [] : ['The pages of the console could not be built: see above, and npm run build'])
    build.once('error', () => end(false)).once('exit', (code) => end(code === 0))
  })
}
