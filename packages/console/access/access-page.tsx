import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { asProblem } from '../api/problem.ts'
import { ObjectName } from '../approvals/object-name.tsx'
import { PersonField } from '../members/person-field.tsx'
import { Badge, Button } from '../parts/button.tsx'
import { TextField } from '../parts/field.tsx'
import { useFilters } from '../parts/filters.ts'
import { Icon } from '../parts/icon.tsx'
import { Empty, Fault, Ghosts } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { useVocabulary, type Vocabulary } from '../policies/vocabulary.ts'
import { useProfile } from '../session/session.ts'
import { ObjectField } from './object-field.tsx'
import { type Asked, type Found, type Kind, search } from './search.ts'
import { texts } from './texts.ts'

const kinds = Object.keys(texts.tabs) as Kind[]

/** Searches over everything that the policies in force permit. The question is in the address. */
export function AccessPage() {
  const [{ ask = 'actions' }, change] = useFilters()
  const kind = kinds.find((one) => one === ask) ?? 'actions'
  return (
    <Page title={texts.title} about={texts.about}>
      <Tabs label={texts.title} tabs={texts.tabs} shown={kind} onChange={(ask) => change({ ask })} />
      <Search key={kind} kind={kind} />
    </Page>
  )
}

function Search({ kind }: { kind: Kind }) {
  const { id: me } = useProfile()
  const known = useVocabulary()
  const [filters, change] = useFilters()
  const { person = '', action = '', type = '', id = '' } = filters
  const [asked, setAsked] = useState<Asked | null>(null)
  const run = useMutation({
    mutationFn: ({ question, before }: { question: Asked; before: Found | null }) => search(question, before),
  })
  const begin = (event: FormEvent) => {
    event.preventDefault()
    const question = {
      kind,
      person: person.trim() || me,
      action: action.trim(),
      type: type.trim() || (action.split(':')[0] ?? ''),
      id: id.trim(),
    }
    setAsked(question)
    run.mutate({ question, before: null })
  }
  const { data, error, isPending, variables } = run
  const found = data ?? (isPending ? variables?.before : null)
  return (
    <>
      <Card>
        <form className="card-body" onSubmit={begin}>
          <div className="columns">
            {kind !== 'subjects' && (
              <PersonField
                label={texts.person}
                hint={texts.personHint}
                value={person}
                onText={(text) => change({ person: text })}
              />
            )}
            {kind !== 'actions' && (
              <TextField
                label={texts.action}
                hint={texts.actionHint}
                className="mono"
                list="searched-actions"
                maxLength={254}
                required
                value={action}
                onChange={(event) => change({ action: event.target.value })}
              />
            )}
            <TextField
              label={texts.type}
              className="mono"
              list="searched-types"
              maxLength={128}
              required={kind === 'actions'}
              placeholder={action.split(':')[0]}
              value={type}
              onChange={(event) => change({ type: event.target.value })}
            />
            {kind !== 'resources' && (
              <ObjectField
                type={type.trim() || (action.split(':')[0] ?? '')}
                label={texts.id}
                hint={texts.idHint}
                className="mono"
                maxLength={254}
                value={id}
                onText={(text) => change({ id: text })}
              />
            )}
          </div>
          <div className="line">
            <Button type="submit" kind="primary" icon="search" busy={isPending}>
              {texts.search}
            </Button>
          </div>
          <Words known={known} />
        </form>
      </Card>
      <Fault problem={error ? asProblem(error) : null} />
      {isPending && !found ? (
        <Card>
          <Ghosts rows={3} />
        </Card>
      ) : (
        found &&
        asked && (
          <Results
            asked={asked}
            found={found}
            known={known}
            busy={isPending}
            onMore={() => run.mutate({ question: asked, before: found })}
          />
        )
      )}
      {!found && !error && !isPending && (
        <Card>
          <Empty icon="lock" title={texts.start}>
            {texts.startAbout}
          </Empty>
        </Card>
      )}
    </>
  )
}

const Words = ({ known }: { known: Vocabulary }) => (
  <>
    <datalist id="searched-actions">
      {known.actions
        .filter((one) => !one.endsWith('*'))
        .map((one) => (
          <option key={one} value={one} />
        ))}
    </datalist>
    <datalist id="searched-types">
      {known.resourceTypes.map((one) => (
        <option key={one} value={one} />
      ))}
    </datalist>
  </>
)

function Results({
  asked,
  found,
  known,
  busy,
  onMore,
}: {
  asked: Asked
  found: Found
  known: Vocabulary
  busy: boolean
  onMore: () => void
}) {
  const { kind, type, id } = asked
  const { ids, token } = found
  const isOpen = !id && kind !== 'resources'
  const refused = kind === 'actions' && id ? known.actions.filter((one) => isRefused(one, type, ids)) : []
  const summary = texts.found[kind](ids.length) + (token ? texts.andMore : '')
  return (
    <Card
      foot={
        <>
          <span role="status">{summary}</span>
          {token && (
            <Button busy={busy} onClick={onMore}>
              {texts.more}
            </Button>
          )}
        </>
      }
    >
      {ids.length + refused.length === 0 ? (
        <Empty icon="lock" title={isOpen ? texts.whichObject : texts.none[kind]}>
          {isOpen ? texts.noneWithoutId : texts.noneAbout}
        </Empty>
      ) : (
        <ul className="rows">
          {!id && kind === 'actions' && <li className="muted small">{texts.withoutId}</li>}
          {ids.map((one) => (
            <li key={one}>
              <span className="what">
                {kind === 'actions' ? (
                  <code>{`${type}:${one}`}</code>
                ) : (
                  <ObjectName type={kind === 'subjects' ? 'user' : type} id={one} />
                )}
              </span>
              {kind === 'actions' && (
                <Badge tone="good">
                  <Icon name="check" size={12} />
                  {texts.allowed}
                </Badge>
              )}
            </li>
          ))}
          {refused.map((one) => (
            <li key={one}>
              <code className="what muted">{one}</code>
              <Badge>
                <Icon name="close" size={12} />
                {texts.notAllowed}
              </Badge>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const isRefused = (action: string, type: string, allowed: readonly string[]) =>
  action.startsWith(`${type}:`) && !action.endsWith(':*') && !allowed.includes(action.slice(type.length + 1))
