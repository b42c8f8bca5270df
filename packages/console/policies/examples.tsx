import type { Document } from './document.ts'
import { texts } from './texts.ts'

const { examples: words } = texts

/** Policies to begin with, by what they are for. */
const documents: Record<keyof typeof words.names, Document> = {
  hours: {
    name: 'No invitations at night',
    effect: 'deny',
    actions: ['invitation:create'],
    conditions: {
      any: [
        { attribute: 'environment.hour', operator: 'lt', value: 8 },
        { attribute: 'environment.hour', operator: 'gte', value: 18 },
      ],
    },
  },
  fourEyes: {
    name: 'Four eyes on members',
    effect: 'require_approval',
    actions: ['member:delete', 'role:delete'],
    approval: { quorum: 1, approver: { roles: ['owner', 'admin'] } },
  },
  own: {
    name: 'Own documents',
    effect: 'allow',
    actions: ['document:read'],
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  },
  mask: {
    name: 'Members do not see addresses',
    effect: 'allow',
    actions: ['user:list', 'user:read'],
    subjects: { roles: ['member'] },
    obligations: [{ type: 'mask_fields', properties: { fields: ['email'] } }],
  },
  rego: {
    name: 'At most 3 roles for a member',
    kind: 'rego',
    effect: 'deny',
    actions: ['member:create', 'member:update'],
    module: `package policy

deny contains "A member has at most 3 roles." if {
\tcount(input.resource.roles) > 3
}
`,
  },
}

/** Where a new policy can begin. */
export function Examples({ onChoose }: { onChoose: (document: Document) => void }) {
  return (
    <div className="examples">
      <span className="muted small">{words.title}</span>
      {(Object.keys(documents) as (keyof typeof documents)[]).map((one) => (
        <button type="button" key={one} className="chip" onClick={() => onChoose(documents[one])}>
          {words.names[one]}
        </button>
      ))}
    </div>
  )
}
