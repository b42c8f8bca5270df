import type { Load } from '../stage.ts'

/** One way to keep the service busy, as a stranger or a customer could. */
export interface Abuse {
  name: string
  /** One sentence for the report. */
  about: string
  /** Settings of the service. */
  settings?(): Promise<Record<string, string>>
  /** Registers people and makes what the load needs. Gives the loads that run at the same time. */
  setUp(url: string): Promise<Omit<Load, 'url' | 'seconds'>[]>
}
