import { setTimeout as sleep } from 'node:timers/promises'
import { memoryOf } from './cpu.ts'
import { freshTokens, generate, openStage, type Stage } from './stage.ts'
import { suites } from './suites.ts'

const mix = ['me', 'members', 'refresh', 'switch', 'login']
const turnSeconds = 30

/**
 * The memory (MB) of the API over `minutes` of mixed load: 16 clients that read, rotate tokens, switch and log in, in turns of
 * 30 s with new tokens. The first figure is before the load.
 */
export async function measureMemory(minutes: number): Promise<number[]> {
  const stage = await openStage(16)
  try {
    const { pid, url } = stage.servers.api
    const seen = [Math.round(memoryOf(pid))]
    for (let turn = 0; turn < (minutes * 60) / turnSeconds; turn++) {
      const fresh = await freshTokens(stage)
      await Promise.all(mix.map((name, index) => oneTurn(fresh, name, index, url)))
      await sleep(100)
      seen.push(Math.round(memoryOf(pid)))
    }
    return seen
  } finally {
    await stage.close()
  }
}

async function oneTurn(stage: Stage, name: string, index: number, url: string): Promise<void> {
  const suite = suites.find((suite) => suite.name === name)!
  const accounts = stage.accounts.slice(index * 3, index * 3 + 3)
  const loaded = await generate({ ...suite.load(accounts), url, seconds: turnSeconds })
  if (loaded.failed > 0) throw new Error(`${name}: ${loaded.failed} requests failed`)
}
