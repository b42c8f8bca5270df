import { ownKeys } from '../keys/key-calls.ts'
import { KeyList } from '../keys/key-list.tsx'
import { texts } from '../keys/texts.ts'
import { Page } from '../parts/page.tsx'

/** The keys of the person for the present organisation. */
export function KeysPage() {
  return (
    <Page {...texts.page}>
      <KeyList calls={ownKeys} {...texts.own} />
    </Page>
  )
}
