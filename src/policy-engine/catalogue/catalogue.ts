import {
  type Action,
  actionNames,
  actions,
  applicationAction,
  isPermission,
  serviceResources,
  type TokenKind,
} from './actions.ts'

const setOf = <T extends string>(names: readonly T[]) => Object.fromEntries(names.map((name) => [name, true]))

/**
 * The action table as the policies read it (`data.catalogue`). Names become keys, because a key lookup in the
 * compiled module costs a third of a search in a list.
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
  wildcard: `${name.slice(0, name.indexOf(':'))}:*`,
})

const entry = (action: Action) => ({
  roles: setOf(action.roles),
  own: setOf(action.own),
  self: action.self,
  open: action.open,
  gate: action.gate,
  widen: action.widen,
  shield: action.shield,
  needs_tenant: action.needsTenant,
  when_inactive: action.whenInactive,
  tokens: setOf<TokenKind>(action.tokens),
})

/** The text of `policies/catalogue/data.json`. */
export function catalogueText(): string {
  return `${JSON.stringify(catalogue(), null, 2)}\n`
}
