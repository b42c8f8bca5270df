// What the examples of the README use, and do not show.
import type { Guard, TokenPair } from '@bailiwick/client'
import type { SignIn } from '@bailiwick/client/sign-in'

declare global {
  const url: string
  const issuer: string
  const secret: string
  const id: string
  const pair: TokenPair
  const guard: Guard
  const signIn: SignIn
  function save(pair: TokenPair): Promise<void>
  function findNote(tenantId: string, id: string): Promise<{ id: string }>
  function changeNote(id: string, text: string): Promise<{ id: string; text: string }>
  function forget(tenantId: string, userId: string): Promise<void>
}
