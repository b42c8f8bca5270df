import { Fragment, type ReactNode } from 'react'

/** What is known of one object: a term and its value each. A value that is null, false or empty leaves out the row. */
export const Facts = ({ of: rows }: { of: readonly (readonly [term: string, value: ReactNode])[] }) => (
  <dl className="facts">
    {rows.map(
      ([term, value]) =>
        value && (
          <Fragment key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
)
