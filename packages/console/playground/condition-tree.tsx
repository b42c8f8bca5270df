import { Icon, type IconName } from '../parts/icon.tsx'
import { operatorTexts } from '../policies/operator-texts.ts'
import { texts as policyTexts } from '../policies/texts.ts'
import { texts } from './texts.ts'

const { tree: words } = texts
type Outcome = keyof typeof words.outcomes

/** A part of a condition with its result, as the service answers it. */
export type TraceNode = { path: string; outcome: Outcome } & (
  | { group: 'all' | 'any' | 'none'; of: TraceNode[] }
  | {
      attribute: string
      operator: string
      value?: unknown
      value_from?: string
      actual: unknown
      withheld?: true
    }
)

const icons: Record<Outcome, IconName> = { true: 'check', false: 'close', unknown: 'question' }

/** A condition with the values that it was compared with. Each part shows its result by sign, word and colour. */
export function ConditionTree({ node }: { node: TraceNode }) {
  return (
    <ul className="trace">
      <Node node={node} />
    </ul>
  )
}

function Node({ node }: { node: TraceNode }) {
  const { outcome } = node
  return (
    <li data-outcome={outcome}>
      <div className="trace-line">
        <span className="trace-mark" title={words.outcomes[outcome]}>
          <Icon name={icons[outcome]} size={12} />
        </span>
        <span className="hidden-text">{words.outcomes[outcome]}: </span>
        {'group' in node ? <strong>{policyTexts.form.groups[node.group]}</strong> : <Leaf node={node} />}
      </div>
      {'group' in node && (
        <ul>
          {node.of.map((one) => (
            <Node key={one.path} node={one} />
          ))}
        </ul>
      )}
    </li>
  )
}

function Leaf({ node }: { node: Extract<TraceNode, { attribute: string }> }) {
  const { attribute, operator, value, value_from: from, actual, withheld } = node
  return (
    <span className="trace-leaf">
      <span>
        <code>{attribute}</code> {operatorTexts[operator] ?? operator}{' '}
        {from ? (
          <code>{from}</code>
        ) : (
          value !== undefined && <bdi className="value">{JSON.stringify(value)}</bdi>
        )}
      </span>
      <span className="actual">
        {withheld ? (
          words.withheld
        ) : actual === null || actual === undefined ? (
          words.missing
        ) : (
          <>
            {words.actual} <bdi className="value">{JSON.stringify(actual)}</bdi>
          </>
        )}
      </span>
    </span>
  )
}
