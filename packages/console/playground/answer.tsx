import type { PolicyTestAnswer } from '@bailiwick/client'
import { EffectBadge } from '../policies/badges.tsx'
import { ConditionTree, type TraceNode } from './condition-tree.tsx'
import { texts } from './texts.ts'

/** The decision, why, and the condition with the values that it was compared with. */
export function Answer({ answer }: { answer: PolicyTestAnswer }) {
  const {
    effect,
    applies,
    reasons = [],
    missing_attributes: missing = [],
    ill_typed_attributes: illTyped = [],
    obligations = [],
    messages = [],
  } = answer
  const trace = answer.trace as TraceNode | null
  return (
    <div className="answer stack" aria-live="polite">
      <div className="verdict" data-effect={effect}>
        {effect && <EffectBadge effect={effect} words={texts.outcomes} />}
        <span>{applies ? texts.applies : texts.appliesNot}</span>
        <span className="muted small took">{texts.took(answer.duration_us)}</span>
      </div>
      {reasons.length > 0 && (
        <section>
          <h3>{texts.reasons}</h3>
          <ul className="plain-list">
            {reasons.map(({ code, message, policy_id }) => (
              <li key={`${code} ${policy_id}`}>{message}</li>
            ))}
          </ul>
        </section>
      )}
      {messages.length > 0 ? (
        <section>
          <h3>{texts.messages}</h3>
          <ul className="plain-list">
            {messages.map((message) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        </section>
      ) : (
        (trace || applies) && (
          <section>
            <h3>{texts.condition}</h3>
            {trace ? <ConditionTree node={trace} /> : <p className="muted">{texts.noCondition}</p>}
          </section>
        )
      )}
      {missing.length > 0 && (
        <p className="muted">
          {texts.missing}{' '}
          {missing.map((name) => (
            <code key={name}>{name} </code>
          ))}
        </p>
      )}
      {illTyped.length > 0 && (
        <p className="muted">
          {texts.illTyped}{' '}
          {illTyped.map(({ name, expected, got }) => (
            <span key={name}>
              <code>{name}</code> {texts.expectedGot(expected, got)}{' '}
            </span>
          ))}
        </p>
      )}
      {obligations.length > 0 && (
        <section>
          <h3>{texts.obligations}</h3>
          <pre className="json">{JSON.stringify(obligations, null, 2)}</pre>
        </section>
      )}
    </div>
  )
}
