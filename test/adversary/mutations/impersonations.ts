import type { Mutation } from '../mutation.ts'

/** Mistakes in the code of acting as another member. */
export const impersonationsMutations: readonly Mutation[] = [
  {
    what: 'acting as a member asks for no fresh factor',
    attacks: ['impersonation'],
    file: 'src/identity/impersonation/impersonate.ts',
    find: `  assertPossibleSecondFactor(caller, at)
`,
    replace: '',
  },
  {
    what: 'owners can be acted as',
    attacks: ['impersonation'],
    file: 'src/identity/impersonation/check-impersonation.ts',
    find: `  if (isOwner(member)) throw impersonationRefused('You cannot act as an owner.')
  const excess = excessOf(actor, member)`,
    replace: '  const excess = isOwner(member) ? null : excessOf(actor, member)',
  },
  {
    what: 'stronger members can be acted as',
    attacks: ['impersonation'],
    file: 'src/identity/impersonation/check-impersonation.ts',
    find: '  const excess = excessOf(actor, member)',
    replace: '  const excess = null',
  },
  {
    what: 'an impersonation outlives the permission',
    attacks: ['impersonation'],
    file: 'src/identity/impersonation/load-impersonation.ts',
    find: `  assertCanImpersonate(holderOf(actor), holderOf(member))
`,
    replace: '',
  },
  {
    what: 'an impersonation outlives the session of the actor',
    attacks: ['impersonation'],
    file: 'src/identity/impersonation/load-impersonation.ts',
    find: '|| actor.over || isOverHere(actor)',
    replace: '|| isOverHere(actor)',
  },
  {
    what: 'an impersonation does what takes a session',
    attacks: ['impersonation'],
    file: 'src/request/authenticate.ts',
    find: 'if (bound) assertOpenTo',
    replace: "if (bound === 'key_not_allowed') assertOpenTo",
  },
  {
    what: 'nothing is decided about the actor',
    attacks: ['impersonation'],
    file: 'src/policy-engine/evaluate/decide-with-actor.ts',
    find: '  const own = decide(aboutActor(query))\n',
    replace: '  const own = decision\n',
  },
]
