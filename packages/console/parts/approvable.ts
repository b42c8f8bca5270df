import { asProblem } from '../api/problem.ts'
import { queryClient } from '../api/query-client.ts'
import { confirmed } from './confirmation.tsx'
import { texts } from './texts.ts'
import { say } from './toasts.tsx'

/**
 * Makes a change, and says that it was done. If a policy wants an approval first, the service has asked for it: says so
 * instead, and gives false.
 */
export async function approvable(run: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await run()
    say(done)
    return true
  } catch (error) {
    if (asProblem(error).code !== 'approval_required') throw error
    say(texts.approvalAsked, texts.approvalAskedAbout)
    void queryClient.invalidateQueries({ queryKey: ['approvals'] })
    return false
  }
}

/**
 * Makes a change as {@link approvable} does, after its person has confirmed who they are if the service asks for that, and
 * reads again what is shown of `name`, the first part of the keys of its queries: after a refusal, too, because another person can have
 * changed it.
 */
export async function changed(name: string, run: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    return await approvable(() => confirmed(run), done)
  } finally {
    await queryClient.invalidateQueries({ queryKey: [name] })
  }
}
