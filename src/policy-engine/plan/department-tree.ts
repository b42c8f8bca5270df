import { type Departments, maxLevels } from '../compile/departments.ts'

/** A tenant's departments in an order in which each is followed by those below it. */
export interface DepartmentTree {
  order: readonly string[]
  /** The places in `order` of these departments and all below them, or of all others. Unknown ids have none. */
  ranges(ids: readonly string[], areWithin: boolean): [from: number, to: number][]
}

const trees = new WeakMap<Departments, DepartmentTree>()

/** The tree of departments, made once for each. It leaves out what is below more levels than a path can have. */
export function departmentTree(departments: Departments): DepartmentTree {
  const tree = trees.get(departments) ?? treeOf(departments)
  trees.set(departments, tree)
  return tree
}

function treeOf(departments: Departments): DepartmentTree {
  const children = Map.groupBy(departments.keys(), (id) => departments.get(id) ?? null)
  const order: string[] = []
  const places = new Map<string, [number, number]>()
  const add = (parent: string | null, level: number) => {
    if (level > maxLevels) return
    for (const id of children.get(parent) ?? []) {
      const from = order.push(id) - 1
      add(id, level + 1)
      places.set(id, [from, order.length])
    }
  }
  add(null, 1)

  // Two subtrees are apart, or one contains the other.
  const within = (ids: readonly string[]) => {
    const found: [number, number][] = []
    const all = ids.map((id) => places.get(id)).filter((place) => place !== undefined)
    for (const place of all.sort(([one], [other]) => one - other))
      if (place[1] > (found.at(-1)?.[1] ?? 0)) found.push(place)
    return found
  }
  return {
    order,
    ranges(ids, areWithin) {
      const found = within(ids)
      if (areWithin) return found
      const ends = [0, ...found.map(([, to]) => to)]
      const starts = [...found.map(([from]) => from), order.length]
      return ends.map((end, index): [number, number] => [end, starts[index]!])
    },
  }
}
