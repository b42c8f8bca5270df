import {
  type Action,
  actionNames,
  actions,
  applicationAction,
  isPermission,
  serviceResources,
  type TokenKind,
  wildcardOf,
} from './actions.ts'

const setOf = <T extends string>(names: readonly T[]) => Object.fromEntries(names.map((name) => [name, true]))

/**
 * The action table as the policies read it (`data.catalogue`). Names are keys, because in the compiled module a key
 * lookup costs a third of a list search.
 */
export function catalogue() {
  return {
    actions: Object.fromEntries(actionNames.map((name) => [name, service(name)])),
    application: { ...entry(applicationAction), permission: true },
    resources: setOf([...serviceResources]),
  }
}

const service = (name: (typeof actionNames)[number]) => ({
  ...entry(actions[name]),
  permission: isPermission(name),
  wildcard: wildcardOf(name),
})

const entry = (action: Action) => ({
  roles: setOf(action.roles),
  own: setOf(action.own),
  self: action.self,
  open: action.open,
  unscoped: action.unscoped,
  gate: action.gate,
  widen: action.widen,
  exempt: action.exempt,
  needs_tenant: action.needsTenant,
  when_inactive: action.whenInactive,
  tokens: setOf<TokenKind>(
    action.tokens.includes('key') ? [...action.tokens, 'impersonation', 'oauth'] : action.tokens,
  ),
})

/** The text of `policies/catalogue/data.json`. */
export function catalogueText(): string {
  return `${JSON.stringify(catalogue(), null, 2)}\n`
}
