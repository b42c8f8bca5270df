import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './service.ts'

export type Asked = Awaited<ReturnType<Client['post']>>

/** Asks again while a module of Rego is late, as it can be when a busy machine interrupts it; ten times at most. */
export async function inTime(ask: () => Promise<Asked>, isLate = saysLate, tries = 10): Promise<Asked> {
  const answer = await ask()
  if (tries === 1 || !isLate(answer)) return answer
  await sleep(200)
  return inTime(ask, isLate, tries - 1)
}

const saysLate = ({ body }: Asked) => JSON.stringify(body).includes('policy_timeout')
