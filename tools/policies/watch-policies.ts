import { watch } from 'node:fs'
import { policiesFolder } from '../../src/policy-engine/evaluate/bundle.ts'
import { type Print, projectRoot, run } from '../../src/policy-engine/opa/opa.ts'

// The build writes these itself.
const generated =
  /^(bundle\.tar\.gz|cases\/roles\.md|catalogue\/data\.json|attributes\/data\.json|capabilities\/)/
const quietMs = 100

/**
 * Builds the policies, and again after each change of them or of the catalogue and the sentences in the code. A build
 * that fails leaves the bundle as it is. Each build is a process of its own, because this one has loaded the code before
 * the change. Returns a function that ends it.
 */
export function watchPolicies(print: Print): () => void {
  let timer: NodeJS.Timeout | undefined
  let building = false
  let isStale = false
  const build = async () => {
    if (building) {
      isStale = true
      return
    }
    building = true
    const { code, stdout, stderr } = await run(process.execPath, [
      'src/start/entry.cjs',
      'cli',
      'policies:build',
    ])
    building = false
    print(`${stdout}${stderr}`.trim())
    if (code !== 0) print('The bundle stays as it was. Waiting for a change.')
    if (isStale) soon()
    isStale = false
  }
  const soon = () => {
    clearTimeout(timer)
    timer = setTimeout(build, quietMs)
  }
  const watchers = [
    watch(policiesFolder, { recursive: true }, (_event, name) => {
      if (!generated.test((name ?? '').replaceAll('\\', '/'))) soon()
    }),
    watch(`${projectRoot}src/policy-engine`, { recursive: true }, soon),
  ]
  void build()
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}
