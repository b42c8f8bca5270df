import { misspelt } from '../../text/nearest-name.ts'
import {
  actionNames,
  isPermission,
  isServiceAction,
  serviceResources,
  wildcardOf,
} from '../catalogue/actions.ts'
import type { Warning } from './policy-document.ts'

// A comparison takes some µs, and `named` can be a thousand names.
const maxCompared = 10

/**
 * Warnings about the actions of an application that `named` does not contain: actions, and resource types with a colon.
 * `list` is the pointer of the list of actions. The first 10 say which action of the service or of `named` was meant.
 */
export function unknownActions(
  actions: readonly string[],
  named: ReadonlySet<string>,
  list: string,
): Warning[] {
  const types = new Set([...named].map((name) => name.slice(0, Math.max(0, name.indexOf(':')))))
  const isKnown = (name: string) => {
    const [type = '', verb] = name.split(':')
    if (name === '*' || isServiceAction(name) || serviceResources.has(type)) return true
    return verb === '*' ? types.has(type) : named.has(name) || named.has(wildcardOf(name))
  }
  const known = [...actionNames.filter(isPermission), ...named].filter((name) => !/[:*]$/.test(name))
  return actions
    .map((name, index) => ({ name, pointer: `${list}/${index}` }))
    .filter(({ name }) => !isKnown(name))
    .map(({ name, pointer }, index) => {
      const meant = index < maxCompared ? misspelt(name, known) : null
      const hint = meant === null ? ': check the spelling.' : `. Did you mean ${meant}?`
      const detail = `No other role, manifest or policy names ${name}${hint} It applies if your application asks for it.`
      return { pointer, code: 'unknown_action', detail, meant }
    })
}
