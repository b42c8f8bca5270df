import { createInterface } from 'node:readline/promises'
import { Refused } from './command.ts'
import { Misuse } from './options.ts'

/** Asks at the terminal. Throws {@link Refused} unless the answer is yes, and {@link Misuse} without a terminal. */
export async function assertConfirmed(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Misuse('There is no terminal to ask for confirmation: add --yes.')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await reader.question(`${question} Type yes: `)
    if (answer.trim() !== 'yes') throw new Refused('declined', 'Nothing was changed.')
  } finally {
    reader.close()
  }
}
