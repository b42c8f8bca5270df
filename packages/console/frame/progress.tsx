import { useSyncExternalStore } from 'react'
import { changesUnderWay, onChangesUnderWay } from '../api/client.ts'
import { texts } from './texts.ts'

/** A line at the top while a change is under way, from 0.3 seconds on (its style delays it). */
export function Progress() {
  const count = useSyncExternalStore(onChangesUnderWay, changesUnderWay)
  return count > 0 && <div className="progress" role="progressbar" aria-label={texts.working} />
}
